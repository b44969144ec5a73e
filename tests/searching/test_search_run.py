"""A search with a folder on disk: what it finds and refuses, and that stopping changes nothing."""

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
import torch

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import from_code, from_code_text
from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.engine import local_processes
from interstellar.errors import DataError, SettingsError, TrainingError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import STRATEGIES, Budget, SearchPlan, StrategyName
from interstellar.runs.training_run import train_run
from interstellar.searching import judge as judge_module
from interstellar.searching.finalists import find_gain, find_winner
from interstellar.searching.judge import Judge
from interstellar.searching.search_journal import trials_of, winner_of
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import (
    N_ELSEWHERE,
    is_of_same,
    other_seeds,
    search_run,
    winners_elsewhere,
)
from interstellar.searching.workers import Workers
from tests.runs.small_runs import CHANGED_RINGS, copy_run
from tests.searching.fake_workbench import events_of, lasting
from tests.searching.small_searches import CPU, run_search, small_plan, small_search
from tests.tiny_graphs import ring, write_rows

HYBRID = small_search(StrategyName.HYBRID)
RUNGS_PLAN = small_plan(StrategyName.SURROGATE, prune=True)
RUNGS = small_search(settings={"epochs": 9, "patience": 0}, plan=RUNGS_PLAN)
RANDOM = small_search(StrategyName.RANDOM)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hybrid search that nobody disturbed."""
    out = tmp_path_factory.mktemp("finished") / "run"
    run_search(HYBRID, out, n_trials=5)
    return out


def kinds(out: Path) -> list[str]:
    return [str(event["event"]) for event in RunFolder.open(out).read_events()]


def without_time(result: Result) -> Result:
    return {key: value for key, value in result.items() if key != "seconds"}


class Interrupt:
    """Raises at the n-th change of a search."""

    def __init__(self, n: int) -> None:
        self.n_left = n

    def __call__(self, _: SearchLoop) -> None:
        self.n_left -= 1
        if self.n_left == 0:
            raise KeyboardInterrupt


def test_a_run_folder_holds_everything_that_the_search_was(finished: Path) -> None:
    run = RunFolder.open(finished)

    names = {path.name for path in finished.iterdir()}
    assert names >= {"experiment.toml", "environment.json", "journal.jsonl", "result.json"}
    assert read_experiment(run.experiment_file) == HYBRID
    assert run.read_environment()["device"] == "cpu"
    assert kinds(finished) == ["started", "budget", *7 * ["proposed", "ended"], "finished"]


def test_the_result_says_what_was_found_and_what_it_cost(finished: Path) -> None:
    result: Result = RunFolder.open(finished).read_result()
    scores = {trial.number: trial.score for trial in trials_of(RunFolder.open(finished)).ended}

    best, answer = result["best"], result["answer"]
    assert best["score"] == best["valid"]["mrr"] == max(map(float, filter(None, scores.values())))
    assert scores[best["proposal"]] == best["score"]
    assert from_code(best["canonical"]) == canonical_form(from_code(best["code"]))
    assert best["formula"]
    assert from_code(answer["canonical"]) == canonical_form(from_code(answer["code"]))
    assert (result["trials"], result["distinct_trained"], result["reused"]) == (5, 5, 0)
    assert (result["failed"], result["stopped_early"], result["shared_rounds"]) == (0, 0, 2)
    assert (result["strategy"], result["seed"]) == ("hybrid", 3)
    assert result["seconds"] > 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_ends_within_budget_with_a_trained_best(
    tmp_path: Path, strategy: StrategyName
) -> None:
    result = run_search(small_search(strategy), tmp_path / "run", n_trials=3)

    assert result["best"]["score"] > 0
    assert 1 <= result["distinct_trained"] <= result["trials"] <= 3
    assert result["trials"] == (1 if strategy in ("darts", "one-shot") else 3)


@pytest.mark.parametrize("strategy", ["darts", "one-shot"])
def test_what_a_supernet_answers_was_trained_and_its_score_is_said(
    tmp_path: Path, strategy: str
) -> None:
    result = run_search(small_search(StrategyName(strategy)), tmp_path / "run")

    assert result["answer"]["canonical"] == result["best"]["canonical"]
    assert result["answer"]["score"] == result["best"]["score"]


def test_a_subspace_is_not_left(tmp_path: Path) -> None:
    plan = SearchPlan(strategy=StrategyName.RANDOM, subspace=Subspace.P1)
    run_search(small_search(plan=plan), tmp_path / "run", n_trials=5)

    proposed = events_of(tmp_path / "run" / "journal.jsonl", "proposed")
    space = SearchSpace(Subspace.P1)
    assert all(from_code_text(str(event["code"])) in space for event in proposed)


def test_the_same_seed_finds_the_same_and_another_seed_tries_others(tmp_path: Path) -> None:
    first = run_search(RANDOM, tmp_path / "first")
    again = run_search(RANDOM, tmp_path / "again")
    run_search(small_search(seed=4), tmp_path / "other")

    assert without_time(first) == without_time(again)
    assert lasting(tmp_path / "first" / "journal.jsonl") == lasting(
        tmp_path / "again" / "journal.jsonl"
    )
    assert lasting(tmp_path / "first" / "journal.jsonl") != lasting(
        tmp_path / "other" / "journal.jsonl"
    )


@pytest.mark.parametrize("n_changes", [1, 2, 5, 8, 14])
def test_a_search_interrupted_and_resumed_is_the_search_that_was_not(
    tmp_path: Path, finished: Path, n_changes: int
) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_search(HYBRID, out, n_trials=5, on_change=Interrupt(n_changes))
    assert not (out / "result.json").exists()

    resumed = run_search(HYBRID, out, n_trials=5, resume=True)

    assert without_time(resumed) == without_time(RunFolder.open(finished).read_result())
    assert lasting(out / "journal.jsonl") == lasting(finished / "journal.jsonl")
    assert kinds(out).count("resumed") == 1


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


@contextmanager
def killed_before_line(n: int) -> Iterator[None]:
    """End everything before the n-th line of a journal from now on is written."""
    write, n_left = os.write, n

    def write_or_die(descriptor: int, data: bytes) -> int:
        nonlocal n_left
        n_left -= data.startswith(b'{"event": "')
        if n_left <= 0:
            raise KeyboardInterrupt
        return write(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write_or_die)
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.mark.parametrize("spoil", [Path.exists, cut], ids=["left alone", "cut"])
def test_a_search_with_rungs_killed_twenty_times_is_the_search_that_was_not(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    """Killed also between checkpoint and journal; `spoil` is done to each checkpoint then."""
    rng, n_kills, out = Random(4), 0, tmp_path / "run"

    def search(folder: Path, *, resume: bool = False) -> Result:
        return run_search(RUNGS, folder, n_trials=9, n_finalists=2, resume=resume)

    whole = search(tmp_path / "whole")
    while not (out / "result.json").exists():
        with suppress(KeyboardInterrupt), killed_before_line(rng.randint(3, 7)):
            search(out, resume=True)
        n_kills += not (out / "result.json").exists()
        for file in (out / "trials").glob("*.safetensors"):
            spoil(file)

    journals = [folder / "journal.jsonl" for folder in (out, tmp_path / "whole")]
    assert n_kills >= 20
    assert lasting(journals[0]) == lasting(journals[1])
    assert {event["epochs"] for event in lasting(journals[0])} == {1, 3, 9}
    assert without_time(RunFolder.open(out).read_result()) == without_time(whole)
    assert len(whole["finalists"]) == 2


def test_the_best_of_an_interrupted_search_is_known(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def interrupt(loop: SearchLoop) -> None:
        if len(loop.trials.ended) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(RANDOM, out, on_change=interrupt)

    run = RunFolder.open(out)
    scores = [trial.score or 0.0 for trial in trials_of(run).ended]
    assert not run.result_file.exists()
    assert len(scores) == 2
    assert winner_of(run).score == max(scores)


def test_a_training_has_no_trials(tmp_path: Path) -> None:
    train_run(replace(RANDOM, architecture="TransE", plan=None), tmp_path / "run", device=CPU)

    with pytest.raises(SettingsError, match="the run of a training, not of a search"):
        trials_of(RunFolder.open(tmp_path / "run"))


def test_a_finished_search_resumed_gives_its_result_without_training(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("it was trained again")

    out = copy_run(finished, tmp_path)
    monkeypatch.setattr(judge_module, "Training", fail)
    monkeypatch.setattr(judge_module, "Supernet", fail)

    again = run_search(HYBRID, out, n_trials=5, resume=True)

    assert without_time(again) == without_time(RunFolder.open(finished).read_result())


def test_a_finished_search_can_be_given_more_trials(tmp_path: Path, finished: Path) -> None:
    out = copy_run(finished, tmp_path)
    whole = run_search(HYBRID, tmp_path / "whole", n_trials=8)

    more = run_search(HYBRID, out, n_trials=8, resume=True)

    assert without_time(more) == without_time(whole)
    assert lasting(out / "journal.jsonl") == lasting(tmp_path / "whole" / "journal.jsonl")


def test_resuming_where_there_is_nothing_begins_a_search(tmp_path: Path) -> None:
    result = run_search(RANDOM, tmp_path / "run", n_trials=1, resume=True)

    assert result["trials"] == 1


def test_a_folder_that_exists_is_refused_without_resuming(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"exists.* by `resume`, or choose"):
        run_search(RANDOM, tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (small_search(StrategyName.HYBRID, seed=4), "`seed = 3`, and now `seed = 4`"),
        (small_search(StrategyName.HYBRID, settings={"dim": 10}), "`dim = 8`, and now `dim = 10`"),
        (small_search(StrategyName.HYBRID, data="synthetic:entities=61"), "entities=61"),
        (RANDOM, "strategy"),
        (
            small_search(
                StrategyName.HYBRID,
                plan=replace(small_plan(StrategyName.HYBRID), subspace=Subspace.P2),
            ),
            "subspace",
        ),
    ],
)
def test_resuming_another_search_is_refused_with_the_difference(
    finished: Path, other: Experiment, words: str
) -> None:
    n_before = len(kinds(finished))

    with pytest.raises(SettingsError, match="was begun otherwise") as refusal:
        run_search(other, finished, resume=True)

    assert words in str(refusal.value)
    assert len(kinds(finished)) == n_before


def test_resuming_a_training_as_a_search_is_refused(tmp_path: Path) -> None:
    trained = replace(RANDOM, architecture="TransE", plan=None)
    train_run(trained, tmp_path / "run", device=CPU)

    with pytest.raises(SettingsError, match=r"was begun otherwise.* `architecture = \"any\"`"):
        run_search(RANDOM, tmp_path / "run", resume=True)


def test_resuming_on_another_device_is_refused(finished: Path) -> None:
    with pytest.raises(SettingsError, match="begun on cpu, and this is meta"):
        search_run(
            HYBRID,
            finished,
            budget=Budget(trials=1),
            workers=Workers(device=torch.device("meta")),
            resume=True,
        )


@pytest.mark.parametrize(("rows", "words"), CHANGED_RINGS)
def test_resuming_with_data_that_changed_is_refused_with_the_difference(
    tmp_path: Path, rows: list[tuple[str, str, str]], words: str
) -> None:
    file = write_rows(tmp_path / "ring.tsv", ring(40))
    asked = small_search(data=str(file))
    run_search(asked, tmp_path / "run", n_trials=1)
    write_rows(file, rows)

    with pytest.raises(SettingsError, match="other data") as refusal:
        run_search(asked, tmp_path / "run", n_trials=2, resume=True)

    assert words in str(refusal.value)


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path, finished: Path) -> None:
    journal = copy_run(finished, tmp_path) / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"version": 1', '"version": 2', 1))

    with pytest.raises(DataError, match=r"version 2 .* newer interstellar"):
        run_search(HYBRID, tmp_path / "run", n_trials=5, resume=True)


def test_a_journal_whose_last_line_was_cut_is_repaired_and_that_is_said(
    tmp_path: Path, finished: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = copy_run(finished, tmp_path)
    journal = out / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:9]) + lines[9][:60])

    with caplog.at_level(logging.WARNING):
        resumed = run_search(HYBRID, out, n_trials=5, resume=True)

    [said] = events_of(journal, "resumed")
    assert "the last line was cut" in caplog.text
    assert said["repaired"] == lines[9][:60].decode()
    assert (out / "journal.jsonl.cut").read_bytes() == lines[9][:60] + b"\n"
    assert without_time(resumed) == without_time(RunFolder.open(finished).read_result())
    assert lasting(journal) == lasting(finished / "journal.jsonl")


def test_a_second_search_in_one_folder_is_refused(tmp_path: Path, finished: Path) -> None:
    out = copy_run(finished, tmp_path)

    with (
        RunFolder.open(out).writing(),
        pytest.raises(SettingsError, match=f"written by process {os.getpid()},"),
    ):
        run_search(HYBRID, out, n_trials=9, resume=True)

    assert run_search(HYBRID, out, n_trials=5, resume=True)["trials"] == 5


@pytest.mark.parametrize("n_room", [0, 1, 4, 9])
def test_a_full_disk_ends_the_search_and_what_was_done_can_be_resumed(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, n_room: int
) -> None:
    """There is room for so many lines of the journal after it was begun."""
    write, n_left, out = os.write, n_room, tmp_path / "run"

    def write_where_there_is_room(descriptor: int, data: bytes) -> int:
        nonlocal n_left
        is_line = data.startswith(b'{"event": "') and b'"event": "journal"' not in data
        n_left -= is_line
        if is_line and n_left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_where_there_is_room)
        with pytest.raises(OSError, match="No space left"):
            run_search(HYBRID, out, n_trials=5)
    assert len(kinds(out)) == n_room

    resumed = run_search(HYBRID, out, n_trials=5, resume=True)

    assert without_time(resumed) == without_time(RunFolder.open(finished).read_result())
    assert lasting(out / "journal.jsonl") == lasting(finished / "journal.jsonl")


def test_trials_of_another_search_cost_nothing_and_are_named(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "before", n_trials=3)

    result = run_search(RANDOM, tmp_path / "run", n_trials=2, reuse=(tmp_path / "before",))

    ended = events_of(tmp_path / "run" / "journal.jsonl", "ended")
    reused = [event.get("reused") for event in ended]
    assert reused == [*(f"proposal {n} of {tmp_path / 'before'}" for n in range(3)), None, None]
    assert (result["trials"], result["reused"]) == (2, 3)


def test_a_search_that_reused_everything_has_a_best(tmp_path: Path) -> None:
    """DARTS proposes one network, which the search before has trained."""
    darts = small_search(StrategyName.DARTS)
    before = run_search(darts, tmp_path / "before")

    result = run_search(darts, tmp_path / "run", reuse=(tmp_path / "before",))

    assert result["best"]["score"] == result["answer"]["score"] == before["best"]["score"]
    assert (result["trials"], result["distinct_trained"], result["reused"]) == (0, 0, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [('"result": {', '"others": {'), ('"code": "[', '"code": "x['), ('"trials": [', '"trial": [')],
)
def test_known_trials_that_were_altered_are_refused(
    tmp_path: Path, before: str, after: str
) -> None:
    run_search(RANDOM, tmp_path / "before", n_trials=2)
    run_search(RANDOM, tmp_path / "run", n_trials=1, reuse=(tmp_path / "before",))
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    [i] = [i for i, line in enumerate(lines) if '"known"' in line]
    lines[i] = lines[i].replace(before, after, 1)
    journal.write_text("".join(lines))

    with pytest.raises(DataError, match=r"an event `known` .* was altered"):
        run_search(RANDOM, tmp_path / "run", n_trials=2, resume=True)


def test_what_was_reused_can_be_reused_again(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "first", n_trials=2)
    run_search(RANDOM, tmp_path / "second", n_trials=1, reuse=(tmp_path / "first",))

    result = run_search(RANDOM, tmp_path / "third", n_trials=1, reuse=(tmp_path / "second",))

    assert (result["trials"], result["reused"]) == (1, 3)


def test_several_searches_can_be_reused_and_resuming_does_so_again(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "first", n_trials=2)
    run_search(small_search(StrategyName.BAYES), tmp_path / "second", n_trials=2)
    both = (tmp_path / "first", tmp_path / "second")
    whole = run_search(RANDOM, tmp_path / "whole", n_trials=2, reuse=both)
    with pytest.raises(KeyboardInterrupt):
        run_search(RANDOM, tmp_path / "run", n_trials=2, reuse=both, on_change=Interrupt(2))

    shutil.copytree(tmp_path / "run", tmp_path / "unsaid")
    resumed = run_search(RANDOM, tmp_path / "run", n_trials=2, reuse=both, resume=True)
    shutil.rmtree(tmp_path / "first")
    unsaid = run_search(RANDOM, tmp_path / "unsaid", n_trials=2, resume=True)

    assert without_time(resumed) == without_time(unsaid) == without_time(whole)
    assert len(events_of(tmp_path / "unsaid" / "journal.jsonl", "known")) == 1


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (small_search(settings={"dim": 10}), "`dim = 10`, and now `dim = 8`"),
        (small_search(settings={"epochs": 3}), "`max_epochs = 3`, and now `max_epochs = 2`"),
        (small_search(seed=4), "`seed = 4`, and now `seed = 3`"),
        (small_search(data="synthetic:entities=61"), "other data"),
    ],
)
def test_reusing_what_does_not_hold_here_is_refused_with_the_difference(
    tmp_path: Path, other: Experiment, words: str
) -> None:
    run_search(other, tmp_path / "other", n_trials=1)

    with pytest.raises(SettingsError) as refusal:
        run_search(RANDOM, tmp_path / "run", reuse=(tmp_path / "other",))

    assert words in str(refusal.value)
    assert not (tmp_path / "run").exists()


def test_scores_of_another_kind_of_device_are_not_reused(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "before", n_trials=1)
    environment = tmp_path / "before" / "environment.json"
    environment.write_text(environment.read_text().replace('"cpu"', '"NVIDIA H200"', 1))

    with pytest.raises(SettingsError, match="begun on NVIDIA H200, and this is cpu"):
        run_search(RANDOM, tmp_path / "run", n_trials=1, reuse=(tmp_path / "before",))


def test_reusing_what_is_no_search_is_refused(tmp_path: Path) -> None:
    train_run(replace(RANDOM, architecture="TransE", plan=None), tmp_path / "training", device=CPU)

    with pytest.raises(SettingsError, match="the run of a training, not of a search"):
        run_search(RANDOM, tmp_path / "run", reuse=(tmp_path / "training",))
    with pytest.raises(SettingsError, match="does not exist"):
        run_search(RANDOM, tmp_path / "run", reuse=(tmp_path / "nowhere",))
    assert not (tmp_path / "run").exists()


def test_the_winners_of_another_graph_are_tried_first_and_their_scores_are_not_used(
    tmp_path: Path,
) -> None:
    other = small_search(data="synthetic:entities=61")
    run_search(other, tmp_path / "other", n_trials=5)
    graph = Judge(RANDOM, CPU).task.graph

    codes = winners_elsewhere(tmp_path / "other", RANDOM)

    ranked = trials_of(RunFolder.open(tmp_path / "other")).ranked
    assert [from_code_text(code) for code in codes] == [t.network for t in ranked[:N_ELSEWHERE]]
    assert not is_of_same(tmp_path / "other", RANDOM, graph)


def test_a_search_is_of_the_same_only_with_the_same_data_settings_and_seed(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "before", n_trials=1)
    graph = Judge(RANDOM, CPU).task.graph

    assert is_of_same(tmp_path / "before", RANDOM, graph)
    assert is_of_same(tmp_path / "before", HYBRID, graph)
    assert not is_of_same(tmp_path / "before", small_search(seed=4), graph)
    assert not is_of_same(tmp_path / "before", small_search(settings={"dim": 10}), graph)


def test_winners_of_the_other_task_are_refused(tmp_path: Path) -> None:
    run_search(RANDOM, tmp_path / "links", n_trials=1)
    pair = replace(RANDOM, settings=replace(RANDOM.settings, walk=WalkSettings.alignment()))

    with pytest.raises(SettingsError, match="it is of the other task"):
        winners_elsewhere(tmp_path / "links", pair)


def test_the_result_names_the_gain_over_the_best_known_model(tmp_path: Path) -> None:
    plan = replace(RUNGS_PLAN, try_first=("TransE", "ComplEx"))
    search = replace(RUNGS, plan=plan)

    result = run_search(search, tmp_path / "run", n_trials=5, n_finalists=2)

    trials = trials_of(RunFolder.open(tmp_path / "run"))
    gain = find_gain(trials)
    winner = find_winner(trials)
    assert gain is not None
    assert winner is not None
    assert result["gain"] == gain.describe()
    assert result["gain"]["seeds"] == 2
    assert {"TransE", "ComplEx"} <= {each["name"] for each in result["baselines"]}
    assert result["best"] == winner.describe()
    assert result["finalists"][0]["proposal"] == winner.number
    assert [len(each["scores"]) for each in result["finalists"]] == [2] * len(result["finalists"])


def test_with_a_limit_of_time_finalists_have_a_seed_more() -> None:
    assert other_seeds(3, Budget(trials=9)) == [4]
    assert other_seeds(3, Budget(time=9)) == [4, 5]


def test_a_search_whose_trials_all_fail_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise TrainingError("the loss was not a finite number")

    monkeypatch.setattr(judge_module, "Training", fail)

    with pytest.raises(TrainingError, match=r"none of 3 trials has a score .*not a finite number"):
        run_search(RANDOM, tmp_path / "run", n_trials=3)
    with pytest.raises(SettingsError, match="has no trial with a score yet"):
        winner_of(RunFolder.open(tmp_path / "run"))


@pytest.mark.parametrize("strategy", ["darts", "one-shot"])
def test_a_search_whose_supernet_has_no_memory_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    def run_out(*_: object, **__: object) -> NoReturn:
        raise MemoryError("no room for a supernet")

    monkeypatch.setattr(judge_module, "Supernet", run_out)

    with pytest.raises(TrainingError, match="no room for a supernet"):
        run_search(small_search(StrategyName(strategy)), tmp_path / "run")


def test_a_hybrid_search_outlives_its_shared_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object, **__: object) -> NoReturn:
        raise MemoryError("no room for a supernet")

    monkeypatch.setattr(judge_module, "Supernet", run_out)

    result = run_search(HYBRID, tmp_path / "run", n_trials=4)

    assert (result["trials"], result["shared_rounds"], result["failed"]) == (4, 0, 0)


class LateClock:
    """Is far ahead once a trial has had an epoch."""

    def __init__(self, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._number = number
        self._ahead = 0.0
        for name in ("monotonic", "perf_counter"):
            monkeypatch.setattr(time, name, self._shift(getattr(time, name)))

    def _shift(self, clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + self._ahead

    def watch(self, loop: SearchLoop) -> None:
        if loop.epochs_by_number.get(self._number, (0.0, 0))[0] >= 1:
            self._ahead = 1e4


@pytest.mark.parametrize("n_before", [0, 2])
def test_a_search_out_of_time_has_a_result_and_goes_on_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_before: int
) -> None:
    asked, out = small_search(settings={"epochs": 3}), tmp_path / "run"
    with monkeypatch.context() as patch:
        first = search_run(
            asked,
            out,
            budget=Budget(time=1000),
            workers=Workers(device=CPU),
            on_change=LateClock(n_before, patch).watch,
        )
    late = events_of(out / "journal.jsonl", "unfinished")
    more = run_search(asked, out, n_trials=4, resume=True)
    whole = run_search(asked, tmp_path / "whole", n_trials=4)

    assert (first["trials"], first["stopped_early"]) == (n_before + 1, 1)
    assert first["best"]["score"] > 0
    assert [(event["number"], event["epochs"]) for event in late] == [(n_before, 1)]
    assert without_time(more) == without_time(whole)
    assert lasting(out / "journal.jsonl") == lasting(tmp_path / "whole" / "journal.jsonl")


def test_a_search_without_time_for_one_trial_says_so(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="the time was over before the first had one"):
        search_run(RANDOM, tmp_path / "run", budget=Budget(time=1e-6), workers=Workers(device=CPU))


@pytest.mark.slow
def test_two_workers_try_what_one_tries_and_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random search proposes the same whatever it is told, so only the order may differ."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # so that each has one thread, as here
    alone = run_search(RANDOM, tmp_path / "alone", n_trials=4)

    epochs: set[tuple[float, int]] = set()

    both = run_search(
        RANDOM,
        tmp_path / "both",
        n_trials=4,
        n_workers=2,
        on_change=lambda loop: epochs.update(loop.epochs_by_number.values()),
    )

    def by_number(out: Path) -> list[dict[str, object]]:
        return sorted(lasting(out / "journal.jsonl"), key=lambda event: str(event["number"]))

    assert by_number(tmp_path / "both") == by_number(tmp_path / "alone")
    assert both["best"]["code"] == alone["best"]["code"]
    assert epochs >= {(1, 2), (2, 2)}
    assert min(epochs) < (1, 2), "it is told from the first step"


def test_a_search_uses_no_more_workers_than_it_has_trials(
    tmp_path: Path,
    finished: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is finished, so that none is started to find out."""
    monkeypatch.setattr(local_processes, "count_cores", lambda: 64)
    out = copy_run(finished, tmp_path)

    run_search(HYBRID, out, n_trials=5, n_workers=1000, resume=True)

    assert "5 workers are used, not 1000: there are 5 pieces of work" in caplog.text


@pytest.mark.parametrize(
    ("device", "n", "devices"),
    [
        ("cpu", 3, ["cpu", "cpu", "cpu"]),
        ("cuda", 3, ["cuda:0", "cuda:1", "cuda:0"]),
        ("cuda:1", 2, ["cuda:1", "cuda:1"]),
    ],
)
def test_workers_are_spread_over_the_cards_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, device: str, n: int, devices: list[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)

    assert Workers(device=torch.device(device), n=n).devices() == devices
