"""`search` and `tune` as a user meets them: results, refusals, signals, kills, full disks."""

import json
import os
import re
import signal
from pathlib import Path
from typing import IO, Any

import pytest

from interstellar.architecture.literature import TRANSE
from interstellar.cli.search_commands import describe_gain
from interstellar.errors import SettingsError
from interstellar.runs.search_plan import TUNED
from interstellar.searching.finalists import Gain
from interstellar.searching.trial import Trial, TrialResult
from interstellar.searching.workers import Workers
from tests.cli.run_command import make_run, run_command
from tests.cli.started_programs import start, start_slow
from tests.runs.small_runs import copy_run
from tests.searching.fake_workbench import events_of, lasting

SMALL = ("--epochs", 2, "--dim", 8, "--seed", 1)
SEARCH = ("search", "geography-S3", *SMALL)
FOUR = (*SEARCH, "--epochs", 6, "--trials", 4)
"""Trials are compared after two epochs; the best of the first three is trained to its end."""
QUICK = ("search", "synthetic:entities=40", "--dim", 8, "--seed", 1)
TUNE = ("tune", "geography-S3", "--architecture", "TransE", "--trials", 2, *SMALL)

HYBRID = ("--strategy", "hybrid")

KILLING_PROGRAM = """
import json, os, random, signal, sys, time
import torch
from interstellar.cli.app import run
import interstellar.searching.search_run, interstellar.training.presets

folder, n_kills, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
nowhere = os.open(os.devnull, os.O_WRONLY)

def begin(name):
    child = os.fork()
    if child == 0:
        os.dup2(nowhere, 1)
        os._exit(run([*arguments, "--out", os.path.join(folder, name), "--resume"]))
    return child

started = time.perf_counter()
os.waitpid(begin("whole"), 0)
seconds = time.perf_counter() - started
rng, n_killed, searches = random.Random(7), 0, 0
while n_killed < n_kills or not is_done:
    child = begin(f"killed-{searches}")
    if n_killed < n_kills:
        time.sleep(rng.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    is_done = not os.WIFSIGNALED(status)
    assert not is_done or os.WEXITSTATUS(status) == 0, status
    n_killed += not is_done
    searches += is_done
print(json.dumps({"kills": n_killed, "searches": searches}))
"""

WORKERS_PROGRAM = """
import logging, os, sys
from interstellar.cli.app import main

os.cpu_count = lambda: 2
logger = logging.getLogger("interstellar.engine.local_processes")
logger.setLevel(logging.INFO)
logger.addHandler(logging.StreamHandler(sys.stdout))
main(sys.argv[1:])
"""

FULL_DISK_PROGRAM = """
import resource, signal, sys
from interstellar.records.journal import Journal
from interstellar.cli.app import main

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
append = Journal.append

def append_with_little_room(journal, event, **payload):
    if payload.get("number") == 3:
        size = journal.path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
    return append(journal, event, **payload)

Journal.append = append_with_little_room
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search that nobody disturbed."""
    return make_run(tmp_path_factory.mktemp("finished") / "run", *FOUR)


def result_of(out: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    return {key: value for key, value in result.items() if key != "seconds"}


def journal_of(out: Path) -> list[dict[str, object]]:
    return lasting(out / "journal.jsonl")


def by_number(out: Path) -> list[dict[str, object]]:
    return sorted(journal_of(out), key=lambda event: str(event["number"]))


def test_with_json_standard_output_is_one_object_with_all_there_is_to_know(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *FOUR, "--out", tmp_path / "run", "--json")

    found = outcome.json
    assert set(found) >= {"best", "gain", "baselines", "trials", "reused", "seconds"}
    assert set(found["best"]) >= {"code", "formula", "canonical", "valid"}
    assert found["best"]["score"] == found["best"]["valid"]["auc_pr"]
    assert found["best"]["code"] in [baseline["code"] for baseline in found["baselines"]]
    assert found["trials"] == outcome.err.count("(epoch 2)") == 4
    n_whole = found["trials"] - found["stopped_early"]
    assert 1 <= n_whole < 4
    assert outcome.err.count(" auc_pr ") == 4 + n_whole


def test_without_json_a_person_reads_trials_and_the_winner(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *SEARCH, "--trials", 1, "--out", tmp_path / "run")

    assert outcome.code == 0
    assert outcome.err.count(" auc_pr ") == 1
    winner, score, said = (
        re.search(rf"^{word} +(.*)$", outcome.out, re.MULTILINE)
        for word in ("winner", "score", "time")
    )
    assert winner is not None
    assert winner[1] in outcome.err
    assert score is not None
    assert re.fullmatch(r"0\.\d{3}", score[1])
    assert f"auc_pr {score[1]}" in outcome.err
    assert said is not None
    assert re.fullmatch(r"\d+\.\d s", said[1])
    assert "nothing better than ComplEx was found" in outcome.out
    use = f"--architecture {tmp_path / 'run'} --settings {tmp_path / 'run'}"
    assert f"`interstellar train DATA {use}` trains the winner." in outcome.err


@pytest.mark.parametrize(
    "strategy", ["surrogate", "hybrid", "random", "reinforce", "bayes", "darts", "one-shot"]
)
def test_every_strategy_ends_within_budget_with_a_trained_best(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, strategy: str
) -> None:
    flags: list[object] = ["--strategy", strategy, "--from-scratch", "--trials", 3]
    if strategy in ("darts", "one-shot"):
        flags += ["--supernet-epochs", 2]

    found = run_command(capfd, *SEARCH, *flags, "--out", tmp_path / "run", "--json").json

    assert found["strategy"] == strategy
    assert found["best"]["score"] > 0
    assert 1 <= found["distinct_trained"] <= found["trials"] <= 3


@pytest.mark.parametrize(
    "strategy", ["surrogate", "hybrid", "reinforce", "bayes", "darts", "one-shot"]
)
def test_every_strategy_can_search_the_macro_level_alone(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, strategy: str
) -> None:
    flags: list[object] = ["--strategy", strategy, "--macro-only", "--from-scratch", "--trials", 3]
    if strategy in ("darts", "one-shot"):
        flags += ["--supernet-epochs", 2]

    found = run_command(capfd, *SEARCH, *flags, "--out", tmp_path / "run", "--json").json

    assert found["best"]["code"][3:] == [0] * 8
    assert found["shared_rounds"] == (1 if strategy in ("darts", "one-shot") else 0)


def test_trials_beyond_those_asked_for_now_count_and_that_is_said(
    capfd: pytest.CaptureFixture[str], finished: Path, tmp_path: Path
) -> None:
    out = copy_run(finished, tmp_path)

    outcome = run_command(capfd, "search", "--resume", "--trials", 2, "--out", out, "--json")

    assert outcome.json["trials"] == 4
    assert "note: it has 4 trials, more than the 2 asked for now: all of them count." in outcome.err


def test_random_search_comes_to_an_end_where_it_has_tried_every_network(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    space = ("--macro-only", "--subspace", "P3", "--from-scratch")
    flags = (*space, "--strategy", "random", "--epochs", 1, "--trials", 200)

    outcome = run_command(capfd, *QUICK, *flags, "--out", tmp_path / "run", "--json")

    assert outcome.json["distinct_trained"] == outcome.json["trials"] == 25
    assert outcome.json["reused"] == 0
    assert "note: it ended after 25 of 200 trials: nothing new was proposed" in outcome.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--trials", "0"], "--trials is 0"),
        (["--trials", "-2"], "--trials is -2"),
        (["--time", "-5m"], "--time is '-5m', which is not a time"),
        (["--time", "0s"], "--time is '0s', but it must be above 0"),
        (["--time", "soon"], "--time is 'soon', which is not a time"),
        (["--strategy", "evolution"], "strategy 'evolution' is unknown. Choose surrogate, hybrid"),
        (["--strategy", "tune"], "strategy 'tune' is unknown"),
        (["--subspace", "P9"], "'P9' is not the name of a subspace"),
        (["--workers", "0"], "--workers"),
        (["--strategy", "darts", "--supernet-epochs", "0"], "--supernet-epochs is 0"),
        (["--supernet-epochs", "3"], "--supernet-epochs was given, but it is for darts"),
        ([*HYBRID, "--macro-only", "--micro-epochs", "2"], "--micro-epochs was given, but hybrid"),
        ([*HYBRID, "--macro-only", "--shared-score", "mrr"], "but hybrid search learns nothing"),
        ([*HYBRID, "--micro-epochs", "0", "--shared-score", "mrr"], "learns nothing from shared"),
        ([*HYBRID, "--architecture-only"], "--architecture-only was given, but it is for surr"),
        (["--as-published", "--strategy", "random"], "Leave --as-published, or the strategy and"),
        (["--as-published", "--try-first", "RSN"], "hybrid and begins with nothing"),
        (["--finalists", "2"], "2 finalists were asked for, but nothing is to be trained after"),
        (["--then-train", "--finalists", "0"], "--finalists is 0"),
        (["--time", "0.0001s", "--epochs", "9"], "hardly a network could be trained"),
        (["--macro-only", "--try-first", "RSN"], "not in the macro level of the search space"),
        (["--shared-score", "x"], "shared_score 'x' is unknown. Choose loss or mrr"),
        (["--strategy", "bayes", "--shared-score", "mrr"], "it is for hybrid and one-shot"),
        (["--strategy", "random", "--micro-epochs", "2"], "it is for hybrid"),
        ([*HYBRID, "--macro-updates", "0"], "--macro-updates is 0"),
        ([*HYBRID, "--micro-epochs", "-1"], "--micro-epochs is -1"),
        (["--macro-updates", "2"], "it is for hybrid, and the strategy is surrogate"),
        (["--metric", "accuracy"], "metric 'accuracy' is unknown"),
        (["--precision", "mixed", "--device", "cpu"], "precision is mixed"),
        (["--dim", "7"], "dim is 7"),
        (["--epochs", "0"], "max_epochs is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--reuse", "nowhere"], "nowhere does not exist"),
        (["--settings", "no.toml"], "no.toml"),
        (["--device", "abacus"], "device 'abacus' is unknown"),
    ],
)
def test_a_fault_of_the_user_exits_2_in_one_line_and_makes_no_folder(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, *SEARCH, *flags, "--out", "run", "--json")

    assert outcome.code == 2
    assert outcome.err == f"error: {json.loads(outcome.out)['error']}\n"
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_metric_that_the_data_does_not_have_is_refused_before_a_folder_is_made(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flags = ("--metric", "auc_pr", "--trials", 1, "--out", tmp_path / "run")

    outcome = run_command(capfd, "search", "synthetic:entities=60", *SMALL, *flags)

    assert outcome.code == 2
    assert "auc_pr" in outcome.err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_exists_is_never_searched_into(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    before = (finished / "journal.jsonl").read_bytes()

    outcome = run_command(capfd, *FOUR, "--out", finished)

    assert outcome.code == 2
    assert "exists, and a run never overwrites another." in outcome.err
    assert (finished / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*FOUR, "--dim", 10), "dim = 8"),
        ((*FOUR, "--seed", 2), "seed = 1"),
        ((*FOUR, "--strategy", "random"), "strategy"),
        ((*FOUR, "--no-prune"), "prune = true"),
        ((*FOUR, "--from-scratch"), "try_first = ["),
        (("search", "geography-S2", *FOUR[2:]), "geography-S3"),
    ],
)
def test_resuming_something_else_is_refused_with_the_difference(
    capfd: pytest.CaptureFixture[str], finished: Path, command: tuple[object, ...], words: str
) -> None:
    outcome = run_command(capfd, *command, "--out", finished, "--resume")

    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


def test_flags_of_version_0_1_still_work_and_that_is_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    former = ("--faithful", "--select", "mrr", "--trials", 1)

    outcome = run_command(capfd, *FOUR, *former, "--out", tmp_path / "run", "--json")

    assert outcome.json["best"]["score"] == outcome.json["best"]["valid"]["mrr"]
    assert "prune = false" in (tmp_path / "run" / "experiment.toml").read_text()
    assert outcome.json["stopped_early"] == 0
    for before, now in (("--faithful", "--no-prune"), ("--select", "--metric")):
        assert f"note: {before} is now {now}; the old name goes in version 0.3.\n" in outcome.err


@pytest.mark.parametrize("more", [("--trials", 6), ("--time", "1h", "--trials", 6, "--workers", 1)])
def test_a_search_goes_on_with_more_trials(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, more: tuple[object, ...]
) -> None:
    out = copy_run(finished, tmp_path)

    found = run_command(capfd, *FOUR, *more, "--out", out, "--resume", "--json").json

    assert found["trials"] == 6
    assert journal_of(out)[: len(journal_of(finished))] == journal_of(finished)


def test_a_time_budget_ends_a_search_with_what_it_has(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *QUICK, "--time", "3s", "--out", tmp_path / "run", "--json")

    found = outcome.json
    assert found["trials"] > 1
    assert 2 <= found["seconds"] < 6
    assert re.search(
        r"^plan: about \d+ trials of up to \d+ epochs.*done at ", outcome.err, re.MULTILINE
    )


def test_trials_of_another_search_are_reused_and_that_is_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    whole = [event["number"] for event in journal_of(finished) if event["stopped"] is None]

    outcome = run_command(capfd, *FOUR, "--reuse", finished, "--out", tmp_path / "run", "--json")

    assert (outcome.json["trials"], outcome.json["reused"]) == (4, len(whole))
    for number in whole:
        assert outcome.err.count(f"known from proposal {number} of {finished}") == 1


def test_trials_under_other_settings_are_not_reused_but_their_best_are_tried_first(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    flags = ("--reuse", finished, "--trials", 1, "--out", tmp_path / "run", "--json")

    outcome = run_command(capfd, *FOUR, "--dim", 10, *flags)

    assert (outcome.json["trials"], outcome.json["reused"]) == (1, 0)
    assert outcome.json["best"]["formula"] == result_of(finished)["best"]["formula"]
    assert f"note: {finished} is of other data or settings" in outcome.err


def test_the_whole_procedure_is_one_command_that_can_be_resumed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = (*FOUR, "--then-train", "--finalists", 2, "--out", out, "--json")

    found = run_command(capfd, *command).json
    again = run_command(capfd, *command, "--resume").json

    assert len(found["finalists"]) == 2
    assert found["best"]["code"] == found["finalists"][0]["code"]
    assert all(len(finalist["scores"]) == 2 for finalist in found["finalists"])
    assert set(found["final"]["metrics"]) == {"valid", "test"}
    assert json.loads(found["final"]["architecture"]) == found["best"]["code"]
    assert (out / "final" / "weights.safetensors").is_file()
    assert again["final"] == found["final"]
    assert again["best"] == found["best"]


def test_a_person_reads_the_winners_mean_its_gain_and_the_metrics_of_the_final_network(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = ("--from-scratch", "--try-first", "TransE", "--try-first", "DistMult")
    later = ("--then-train", "--finalists", 2, "--out", tmp_path / "run")

    shown = run_command(capfd, *SEARCH, "--trials", 2, *first, *later)

    assert shown.code == 0
    assert re.search(r"^winner +O_r = s . r; v = O_r$", shown.out, re.MULTILINE)
    assert re.search(r"^score +0\.\d{3} \(mean of 2 seeds\)$", shown.out, re.MULTILINE)
    assert re.search(
        r"^gain +nothing better than (TransE|DistMult) was found$", shown.out, re.MULTILINE
    )
    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["valid", "test"]
    assert shown.err.count("(seed 2)") == 2
    assert f"`interstellar show {tmp_path / 'run' / 'final'}` shows it." in shown.err


@pytest.mark.parametrize(
    ("points", "spread", "words"),
    [
        (1.44, 0.31, "+1.4 points over TransE (±0.3, 3 seeds)"),
        (0.2, None, "+0.2 points over TransE (one seed)"),
        (0.0, None, "nothing better than TransE was found"),
        (-0.3, 0.1, "nothing better than TransE was found"),
    ],
)
def test_a_gain_is_said_with_its_spread(points: float, spread: float | None, words: str) -> None:
    over = Trial(architecture=TRANSE, result=TrialResult(score=0.4))

    gain = Gain(over=over, points=points, spread=spread, n_seeds=1 if spread is None else 3)

    assert describe_gain(gain) == words


def test_the_papers_search_is_one_flag(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flags = ("--as-published", "--trials", 2, "--out", tmp_path / "run", "--json")

    found = run_command(capfd, *FOUR, *flags).json

    assert (found["strategy"], found["trials"], found["stopped_early"]) == ("hybrid", 2, 0)
    assert (found["gain"], found["baselines"]) == (None, [])


def test_a_search_with_a_limit_of_time_takes_the_cores_there_are_unless_told(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[int] = []

    def stop(workers: Workers) -> list[str]:
        chosen.append(workers.n)
        raise SettingsError("enough")

    monkeypatch.setattr(Workers, "devices", stop)
    monkeypatch.setattr("interstellar.workflow.chosen_workers.count_cores", lambda: 3)
    command = (*SEARCH, "--time", "1m")

    run_command(capfd, *command, "--out", tmp_path / "a")
    run_command(capfd, *command, "--workers", 2, "--out", tmp_path / "b")

    assert chosen == [3, 2]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--engine", "slurm"), "the engine 'slurm' is unknown. Choose local or ray."),
        (("--ray-address", "auto"), "the engine is local"),
        (("--engine", "ray", "--ray-address", "here"), "must be auto or host:port"),
        (("--engine", "ray", "--ray-address", "127.0.0.1:1"), "no Ray cluster answers"),
    ],
)
def test_an_engine_that_cannot_be_had_is_refused_before_anything_is_begun(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    pytest.importorskip("ray")

    outcome = run_command(capfd, *FOUR, *flags, "--out", tmp_path / "run")

    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_search_begun_on_ray_goes_on_here_and_back_and_is_the_search_that_was_here(
    tmp_path: Path, finished: Path
) -> None:
    """One worker on a cluster of its own, which ends with each life of the search."""
    pytest.importorskip("ray")
    out, ray = tmp_path / "run", ("--engine", "ray", "--workers", 1)
    for n_trials, engine in ((1, ray), (2, ()), (4, ray)):
        program = "import sys; from interstellar.cli.app import main; main(sys.argv[1:])"
        command = (*FOUR, "--trials", n_trials, *engine, "--out", out, "--resume", "--json")
        process = start(program, *command)
        said, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert json.loads(said)["trials"] == n_trials

    assert result_of(out)["best"] == result_of(finished)["best"]
    assert {event["number"] for event in journal_of(out)} == {0, 1, 2, 3}
    ends: list[list[Any]] = [journal_of(out), journal_of(finished)]
    first_scores = [{end["number"]: end["curve"][0] for end in run} for run in ends]
    assert first_scores[0] == first_scores[1]
    environment = (out / "environment.json").read_text()
    assert "auth_token" not in environment
    assert "RAY_" not in environment


def test_settings_are_tuned_and_the_best_are_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = run_command(capfd, *TUNE, "--out", tmp_path / "run", "--json").json
    again = run_command(capfd, *TUNE, "--out", tmp_path / "run", "--resume")

    assert found["best"]["name"] == "TransE"
    assert set(found["best"]["settings"]) == {*TUNED} - {"n3"}  # that goes with Adagrad
    assert (found["trials"], found["strategy"]) == (2, "tune")
    assert again.code == 0
    assert "learning_rate" in again.out


def test_what_a_tuning_found_is_trained_with(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    found = run_command(capfd, *TUNE, "--out", run, "--json").json
    use = ("--architecture", run, "--settings", run, "--out", tmp_path / "final")

    outcome = run_command(capfd, "train", "geography-S3", *use)

    assert outcome.code == 0
    experiment = (tmp_path / "final" / "experiment.toml").read_text()
    for name, value in found["best"]["settings"].items():
        assert f"{name} = {value!r}\n" in experiment
    assert "dim = 8\n" in experiment


def test_what_is_kept_is_not_tuned(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = ("--keep", "batch_size", "--keep", "weight_decay")
    found = run_command(capfd, *TUNE, *kept, "--out", tmp_path / "run", "--json").json
    other = run_command(
        capfd, *TUNE, "--keep", "weight_decay", "--out", tmp_path / "run", "--resume"
    )

    assert set(found["best"]["settings"]) == {"learning_rate", "lr_decay", "dropout"}
    assert other.code == 2
    assert "keep" in other.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--trials", "0"], "--trials is 0"),
        (["--architecture", "TransX"], "'TransX' is not an architecture"),
        (["--time", "x"], "is not a time"),
        (["--keep", "dim"], "'dim' cannot be kept: what is chosen is learning_rate, weight_decay"),
        (["--keep", ""], "'' cannot be kept"),
        ([f for name in TUNED for f in ("--keep", name)], "nothing is left to tune"),
    ],
)
def test_a_tuning_that_cannot_be_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], words: str
) -> None:
    outcome = run_command(capfd, *TUNE, *flags, "--out", tmp_path / "run")

    assert outcome.code == 2
    assert words in outcome.err
    assert not (tmp_path / "run").exists()


def test_what_a_search_found_can_be_trained_tuned_and_shown_by_its_folder(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    best = result_of(finished)["best"]["code"]
    by_run = ("--architecture", finished, *SMALL)

    trained = run_command(
        capfd, "train", "geography-S3", *by_run, "--out", tmp_path / "trained", "--json"
    )
    tuned = run_command(
        capfd, "tune", "geography-S3", *by_run, "--trials", 1, "--out", tmp_path / "t", "--json"
    )
    shown = run_command(capfd, "show", finished, "--json")

    assert json.loads(trained.json["architecture"]) == best
    assert tuned.json["best"]["code"] == shown.json["code"] == best


@pytest.mark.slow
def test_a_search_killed_at_twenty_random_moments_and_resumed_is_the_search_that_was_not(
    tmp_path: Path,
) -> None:
    """The killer forks each life of a search, since a start with its imports takes seconds."""
    rungs = ("--epochs", 9, "--trials", 6, "--then-train", "--finalists", 2)
    command = (*QUICK, *rungs)
    process = start(KILLING_PROGRAM, tmp_path, 20, *command)

    out, err = process.communicate(timeout=500)

    assert process.returncode == 0, err
    counts = json.loads(out)
    assert counts["kills"] == 20
    assert counts["searches"] >= 1
    for number in range(counts["searches"]):
        killed = tmp_path / f"killed-{number}"
        assert result_of(killed) == result_of(tmp_path / "whole")
        assert journal_of(killed) == journal_of(tmp_path / "whole")


def test_a_killed_search_holds_no_lock_and_resumes_as_if_nothing_had_happened(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    out = tmp_path / "run"
    process = start_slow(30, *FOUR, "--out", out)
    second = run_command(capfd, *FOUR, "--out", out, "--resume")
    process.kill()
    process.communicate(timeout=60)

    resumed = run_command(capfd, *FOUR, "--out", out, "--resume")

    assert second.code == 2
    assert f"written by process {process.pid}" in second.err
    assert process.returncode == -signal.SIGKILL
    assert resumed.code == 0
    assert result_of(out) == result_of(finished)
    assert journal_of(out) == journal_of(finished)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_search_exits_130_and_can_be_resumed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, sent: signal.Signals
) -> None:
    out = tmp_path / "run"
    process = start_slow(80, *FOUR, "--out", out)
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)

    shown = run_command(capfd, "show", out, "--json")
    use = ("--architecture", out, *SMALL, "--out", tmp_path / "trained", "--json")
    trained = run_command(capfd, "train", "geography-S3", *use)
    resumed = run_command(capfd, "search", "--resume", "--out", out)

    assert process.returncode == 130
    assert err.splitlines()[-1].endswith("the same command with --resume goes on.")
    assert json.loads(trained.json["architecture"]) == shown.json["code"]
    assert "Traceback" not in err
    assert resumed.code == 0
    assert result_of(out) == result_of(finished)
    assert journal_of(out) == journal_of(finished)


def test_a_full_disk_exits_1_in_one_line_and_what_was_done_can_be_resumed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    """A limit on the size of files stands for a disk without room."""
    out = tmp_path / "run"
    process = start(FULL_DISK_PROGRAM, *FOUR, "--out", out)
    _, err = process.communicate(timeout=120)
    n_ended = len(journal_of(out))

    resumed = run_command(capfd, *FOUR, "--out", out, "--resume")

    assert process.returncode == 1
    assert err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in err
    assert n_ended == 4
    assert resumed.code == 0
    assert result_of(out) == result_of(finished)
    assert journal_of(out) == journal_of(finished)


def test_a_journal_that_was_cut_is_repaired_and_that_is_said(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    finished: Path,
) -> None:
    out = copy_run(finished, tmp_path)
    journal = out / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:7]) + lines[7][:50])

    resumed = run_command(capfd, *FOUR, "--out", out, "--resume")

    assert resumed.code == 0
    assert "the last line was cut" in caplog.text
    assert journal_of(out) == journal_of(finished)


def wait_for_trial(lines: IO[str]) -> None:
    """Read until a trial has ended."""
    assert any(" auc_pr " in line for line in iter(lines.readline, ""))


@pytest.mark.slow
def test_a_search_outlives_a_killed_worker_and_its_own_death_ends_all_workers(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers hold the standard error of the search, which ends only with the last of them."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # so that each worker has one thread
    command = (*SEARCH, "--strategy", "random", "--from-scratch", "--trials", 6)
    whole, out = tmp_path / "whole", tmp_path / "run"
    assert run_command(capfd, *command, "--out", whole).code == 0
    process = start(WORKERS_PROGRAM, *command, "--workers", 2, "--out", out)
    assert process.stdout is not None
    assert process.stderr is not None
    first = int(process.stdout.readline().split()[1])
    process.stdout.readline()
    wait_for_trial(process.stderr)  # both are at work
    os.kill(first, signal.SIGKILL)
    wait_for_trial(process.stderr)
    process.kill()
    process.communicate(timeout=60)
    n_ended = len(journal_of(out))

    resumed = run_command(capfd, *command, "--out", out, "--resume")

    assert n_ended >= 2
    assert resumed.code == 0
    assert by_number(out) == by_number(whole)
    assert result_of(out)["best"] == result_of(whole)["best"]
    assert len(events_of(out / "journal.jsonl", "proposed")) == 6
