"""`search` and `tune` as a user meets them: results, refusals, signals, kills, full disks."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from interstellar.runs.search_plan import TUNED
from interstellar.training.presets import COUNTRIES
from interstellar.training.settings import with_changes
from tests.cli.run_command import make_run, run_command
from tests.cli.started_programs import start, start_slow
from tests.runs.small_runs import copy_run
from tests.searching.fake_workbench import events_of, lasting

SMALL = ("--epochs", 2, "--dim", 8, "--seed", 1)
SEARCH = ("search", "geography-S3", *SMALL)
FOUR = (*SEARCH, "--trials", 4)
QUICK = ("search", "synthetic:entities=40", "--epochs", 1, "--dim", 8, "--seed", 1)
TUNE = ("tune", "geography-S3", "--architecture", "TransE", "--trials", 2, *SMALL)

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
    if payload.get("number") == 4:
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


@pytest.fixture
def _quick_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Final settings that take a moment."""
    small = with_changes(COUNTRIES, dim=8, epochs=2)
    monkeypatch.setattr("interstellar.workflow.searching.final_settings", lambda _graph: small)


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
    assert set(found) >= {"best", "trials", "distinct_trained", "reused", "seconds"}
    assert set(found["best"]) >= {"code", "formula", "canonical", "valid"}
    assert found["best"]["score"] == found["best"]["valid"]["auc_pr"]
    assert outcome.err.count(" auc_pr ") == found["trials"] == 4


def test_without_json_a_person_reads_trials_and_the_winner(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *SEARCH, "--trials", 1, "--out", tmp_path / "run")

    assert outcome.code == 0
    assert outcome.err.count(" auc_pr ") == 1
    best, score, said = (
        re.search(rf"^{word} +(.*)$", outcome.out, re.MULTILINE)
        for word in ("best", "score", "time")
    )
    assert best is not None
    assert best[1] in outcome.err
    assert score is not None
    assert re.fullmatch(r"0\.\d{3}", score[1])
    assert f"auc_pr {score[1]}" in outcome.err
    assert said is not None
    assert re.fullmatch(r"\d+\.\d s", said[1])
    assert f"interstellar show {tmp_path / 'run'}" in outcome.err


@pytest.mark.parametrize(
    "strategy", ["hybrid", "random", "reinforce", "bayes", "darts", "one-shot"]
)
def test_every_strategy_ends_within_budget_with_a_trained_best(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, strategy: str
) -> None:
    flags: list[object] = ["--strategy", strategy, "--trials", 3]
    if strategy in ("darts", "one-shot"):
        flags += ["--supernet-epochs", 2]

    found = run_command(capfd, *SEARCH, *flags, "--out", tmp_path / "run", "--json").json

    assert found["strategy"] == strategy
    assert found["best"]["score"] > 0
    assert 1 <= found["distinct_trained"] <= found["trials"] <= 3


@pytest.mark.parametrize("strategy", ["hybrid", "reinforce", "bayes", "darts", "one-shot"])
def test_every_strategy_can_search_the_macro_level_alone(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, strategy: str
) -> None:
    flags: list[object] = ["--strategy", strategy, "--macro-only", "--trials", 3]
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
    flags = ("--strategy", "random", "--macro-only", "--subspace", "P3", "--trials", 200)

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
        (["--strategy", "evolution"], "strategy 'evolution' is unknown. Choose hybrid, random"),
        (["--strategy", "tune"], "strategy 'tune' is unknown"),
        (["--subspace", "P9"], "'P9' is not the name of a subspace"),
        (["--workers", "0"], "--workers"),
        (["--together", "0"], "--together"),
        (["--strategy", "darts", "--supernet-epochs", "0"], "--supernet-epochs is 0"),
        (["--supernet-epochs", "3"], "--supernet-epochs was given, but it is for darts"),
        (["--macro-only", "--micro-epochs", "2"], "--micro-epochs was given, but hybrid search"),
        (["--macro-only", "--shared-score", "mrr"], "--shared-score was given, but hybrid search"),
        (["--macro-only", "--try-first", "RSN"], "not in the macro level of the search space"),
        (["--shared-score", "x"], "shared_score 'x' is unknown. Choose loss or mrr"),
        (["--strategy", "bayes", "--shared-score", "mrr"], "it is for hybrid and one-shot"),
        (["--strategy", "random", "--micro-epochs", "2"], "it is for hybrid"),
        (["--together", "4", "--workers", "2"], "by 2 workers"),
        (["--macro-updates", "0"], "--macro-updates is 0"),
        (["--micro-epochs", "-1"], "--micro-epochs is -1"),
        (["--metric", "accuracy"], "metric 'accuracy' is unknown"),
        (["--precision", "mixed", "--device", "cpu"], "precision is mixed"),
        (["--dim", "7"], "dim is 7"),
        (["--epochs", "0"], "max_epochs is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--reuse", "nowhere"], "nowhere does not exist"),
        (["--settings", "no.toml"], "no.toml"),
        (["--device", "abacus"], "device 'abacus' is unknown"),
        (["--tune-trials", "0"], "--tune-trials"),
        (["--tune-trials", "3"], "3 trials of a tuning were asked for, but nothing is to be tuned"),
        (["--micro-epochs", "0", "--shared-score", "mrr"], "learns nothing from shared weights"),
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

    outcome = run_command(capfd, *SEARCH, *former, "--out", tmp_path / "run", "--json")

    assert outcome.json["best"]["score"] == outcome.json["best"]["valid"]["mrr"]
    assert "prune = false" in (tmp_path / "run" / "experiment.toml").read_text()
    for before, now in (("--faithful", "--no-prune"), ("--select", "--metric")):
        assert f"note: {before} is now {now}; the old name goes in version 0.3.\n" in outcome.err


@pytest.mark.parametrize("more", [("--trials", 6), ("--time", "1h", "--trials", 6)])
def test_a_search_goes_on_with_more_trials(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, more: tuple[object, ...]
) -> None:
    out = copy_run(finished, tmp_path)

    found = run_command(capfd, *SEARCH, *more, "--out", out, "--resume", "--json").json

    assert found["trials"] == 6
    assert journal_of(out)[: len(journal_of(finished))] == journal_of(finished)


def test_a_time_budget_ends_a_search_with_what_it_has(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flags = ("--time", "2s", "--out", tmp_path / "run", "--json")

    found = run_command(capfd, *SEARCH, *flags).json

    assert found["trials"] >= 1
    assert 2 <= found["seconds"] < 10


def test_trials_of_another_search_are_reused_and_that_is_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    flags = ("--reuse", finished, "--trials", 1, "--out", tmp_path / "run", "--json")

    outcome = run_command(capfd, *SEARCH, *flags)

    assert (outcome.json["trials"], outcome.json["reused"]) == (1, 4)
    assert outcome.err.count(f"known from proposal 0 of {finished}") == 1


def test_trials_under_other_settings_are_not_reused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    flags = ("--reuse", finished, "--out", tmp_path / "run")

    outcome = run_command(capfd, *FOUR, "--dim", 10, *flags)

    assert outcome.code == 2
    assert "`dim = 8`, and now `dim = 10`" in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("_quick_finish")
def test_the_whole_procedure_is_one_command_that_can_be_resumed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = (*FOUR, "--then-tune", "--tune-trials", 2, "--then-train", "--out", out, "--json")

    found = run_command(capfd, *command).json
    again = run_command(capfd, *command, "--resume").json

    assert found["tuning"]["best"]["code"] == found["best"]["code"]
    assert found["tuning"]["trials"] == 2
    assert set(found["final"]["metrics"]) == {"valid", "test"}
    assert (out / "final" / "weights.safetensors").is_file()
    tuned = found["tuning"]["best"]["settings"]
    assert f"dropout = {tuned['dropout']!r}" in (out / "final" / "experiment.toml").read_text()
    assert again["final"] == found["final"]
    assert again["best"] == found["best"]


@pytest.mark.usefixtures("_quick_finish")
def test_a_person_reads_the_metrics_of_the_final_training(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *SEARCH, "--trials", 1, "--then-train", "--out", tmp_path / "run")

    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()[-2:]] == ["valid", "test"]


@pytest.mark.usefixtures("_quick_finish")
def test_finalists_are_told_apart_by_their_formulas_and_the_winner_is_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = ("--try-first", "TransE", "--try-first", "DistMult")
    later = ("--then-train", "--finalists", 2, "--out", tmp_path / "run")
    command = (*SEARCH, "--trials", 2, *first, *later)

    found = run_command(capfd, *command, "--json").json
    shown = run_command(capfd, *command, "--resume")

    assert len(found["finalists"]) == 2
    assert found["final"] in found["finalists"]
    for formula in ("O_r = s + r; v = O_r", "O_r = s ⊙ r; v = O_r"):
        assert f"finalist {formula}  " in shown.out
    assert re.search(r"^winner +O_r = s", shown.out)
    assert "best" not in shown.out
    assert f"`interstellar show {tmp_path / 'run' / 'final'}`" in shown.err


def test_settings_are_tuned_and_the_best_are_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = run_command(capfd, *TUNE, "--out", tmp_path / "run", "--json").json
    again = run_command(capfd, *TUNE, "--out", tmp_path / "run", "--resume")

    assert found["best"]["name"] == "TransE"
    assert set(found["best"]["settings"]) == set(TUNED)
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
        (["--keep", "dim"], "'dim' cannot be kept: a tuning chooses learning_rate, weight_decay"),
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
    command = (*QUICK, "--trials", 8)
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


@pytest.mark.slow
def test_a_search_outlives_a_killed_worker_and_its_own_death_ends_all_workers(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers hold the standard error of the search, which ends only with the last of them."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # so that each worker has one thread
    command = (*SEARCH, "--strategy", "random", "--trials", 6)
    whole, out = tmp_path / "whole", tmp_path / "run"
    assert run_command(capfd, *command, "--out", whole).code == 0
    process = start(WORKERS_PROGRAM, *command, "--workers", 2, "--out", out)
    assert process.stdout is not None
    assert process.stderr is not None
    first = int(process.stdout.readline().split()[1])
    process.stdout.readline()
    process.stderr.readline()  # a trial has ended: both are at work
    os.kill(first, signal.SIGKILL)
    process.stderr.readline()
    process.kill()
    process.communicate(timeout=60)
    n_ended = len(journal_of(out))

    resumed = run_command(capfd, *command, "--out", out, "--resume")

    assert n_ended >= 2
    assert resumed.code == 0
    assert by_number(out) == by_number(whole)
    assert result_of(out)["best"] == result_of(whole)["best"]
    assert len(events_of(out / "journal.jsonl", "proposed")) == 6
