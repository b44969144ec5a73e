"""Journals from elsewhere: those of version 0.1 are read, altered ones are refused with words."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import DataError
from interstellar.records.journal import read_events
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.search_plan import Budget
from interstellar.searching.bayes import Tuning
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.search_journal import (
    chosen_finalists,
    list_trials,
    read_known,
    trials_of,
    winner_of,
)
from interstellar.searching.search_run import search_run
from interstellar.searching.strategy import FirstRung, SearchStrategy
from interstellar.searching.supernet_search import DartsSearch
from interstellar.searching.workers import Workers
from interstellar.training.presets import LINK_PREDICTION
from tests.searching.fake_workbench import (
    COMPL_EX,
    RUNGS,
    TRANS_E,
    FakeWorkbench,
    Listed,
    events_of,
    run_loop,
)
from tests.searching.small_searches import CPU

KEPT = Path(__file__).parents[1] / "kept_runs" / "0.1.0"
SEARCHES = sorted((Path(__file__).parents[2] / "results" / "searches").glob("*/journal.jsonl"))
ODD: tuple[object, ...] = (None, True, -1, 0, 1.5, "x", [], {}, [None], {"x": None}, 10**400)

BUILDERS: dict[str, Callable[[], SearchStrategy]] = {
    "hybrid": lambda: FirstRung(HybridSearch(SearchSpace(), 1)),
    "darts": lambda: FirstRung(DartsSearch(SearchSpace(), 2)),
    "tune": lambda: FirstRung(Tuning(TRANS_E, LINK_PREDICTION, 1)),
}
PROPOSED = {"event": "proposed", "time": "noon", "number": 0, "kind": "trial"}


@pytest.mark.parametrize(
    ("name", "n_trials", "score"),
    [
        ("searched", 3, 0.18463515091783064),
        ("cut", 5, 0.22241819012413977),
        ("tuned", 2, 0.10143015117885137),
    ],
)
def test_the_trials_of_version_0_1_are_listed(name: str, n_trials: int, score: float) -> None:
    run = RunFolder.open(KEPT / name)

    assert len(trials_of(run).ended) == n_trials
    assert winner_of(run).score == score


def test_the_settings_that_a_tuning_of_version_0_1_found_have_the_names_of_today() -> None:
    best = winner_of(RunFolder.open(KEPT / "tuned"))

    assert best.architecture == TRANS_E
    assert set(best.settings) == {
        "learning_rate",
        "weight_decay",
        "lr_decay",
        "dropout",
        "batch_size",
    }


@pytest.mark.parametrize(("name", "n_before"), [("cut", 5), ("searched", 3), ("tuned", 2)])
def test_a_search_of_version_0_1_can_be_resumed(tmp_path: Path, name: str, n_before: int) -> None:
    shutil.copytree(KEPT / name, tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")

    result = search_run(
        read_experiment(run.experiment_file),
        run.path,
        budget=Budget(trials=n_before + 2),
        workers=Workers(device=CPU),
        graph=load_graph(run),
        resume=True,
    )

    before = [event["number"] for event in events_of(KEPT / name / "journal.jsonl", "ended")]
    after = [event["number"] for event in events_of(run.journal_file, "ended")]
    assert after[: len(before)] == before
    assert (result["trials"], len(set(after))) == (n_before + 2, len(after))


@pytest.mark.parametrize("journal", SEARCHES, ids=lambda path: path.parent.name)
def test_every_journal_of_our_results_is_read(journal: Path) -> None:
    result = json.loads((journal.parent / "result.json").read_text())

    trials = list(list_trials(read_events(journal), journal, tuned=COMPL_EX))

    first = [trial for trial in trials if trial.seed is None]  # others repeat one of them
    assert max(trial.score or 0.0 for trial in first) == result["best"]["score"]


def test_there_are_journals_among_our_results() -> None:
    assert len(SEARCHES) > 5


def alterations(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an event without each of its keys, and with odd values there, however deep."""
    for key, whole in event.items():
        yield {name: value for name, value in event.items() if name != key}
        yield from (event | {key: value} for value in alter(whole))


def alter(whole: object) -> Iterator[object]:
    yield from ODD
    if isinstance(whole, dict):
        yield from alterations(whole)
    elif isinstance(whole, list):
        yield whole[1:]
        yield [*whole, *whole[:1]]
        for value in islice(alter(whole[0]) if whole else (), 40):
            yield [value, *whole[1:]]


def find_different(lines: list[str]) -> list[int]:
    """Return, of the events that hold the same things, the last; the line of the format aside."""
    events = [json.loads(line) for line in lines]
    kinds = {
        (event["event"], event.get("number", 0) < 0, *event): i for i, event in enumerate(events)
    }
    return [i for i in kinds.values() if i > 0]


@pytest.mark.parametrize("name", BUILDERS)
def test_a_search_goes_on_with_an_altered_journal_or_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    path = tmp_path / "journal.jsonl"

    def go_on(n_trials: int) -> None:
        budget = Budget(trials=n_trials)
        run_loop(path, BUILDERS[name](), FakeWorkbench(), budget, rungs=RUNGS, n_finalists=2)

    go_on(2)
    lines = path.read_text().splitlines()
    n_refused = 0

    for i in find_different(lines):
        for altered in alterations(json.loads(lines[i])):
            path.write_text("\n".join([*lines[:i], json.dumps(altered), *lines[i + 1 :], ""]))
            try:
                go_on(3)
            except DataError:
                n_refused += 1

    assert n_refused > 100


@pytest.mark.parametrize("name", BUILDERS)
def test_the_trials_of_an_altered_journal_are_listed_or_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "journal.jsonl"
    budget = Budget(trials=3)
    run_loop(path, BUILDERS[name](), FakeWorkbench(), budget, rungs=RUNGS, n_finalists=2)
    events: list[dict[str, Any]] = list(read_events(path))
    n_trials, n_refused = len(list(list_trials(events, path))), 0

    for i, event in enumerate(events):
        for altered in alterations(event):
            if not isinstance(altered.get("event"), str):
                continue  # such a line is no event, and refused when the file is read
            try:
                found = list(list_trials([*events[:i], altered, *events[i + 1 :]], path))
                assert len(found) <= n_trials
            except DataError:
                n_refused += 1

    assert n_refused > 100


def test_what_is_refused_is_named_with_its_place_and_what_to_do() -> None:
    with pytest.raises(DataError, match=r"j: an event `proposed` of noon .* Take it from a copy"):
        list(list_trials([PROPOSED | {"code": "[0]"}], Path("j")))
    with pytest.raises(DataError, match="altered"):
        read_known({"event": "known", "trials": [{"number": 1}]}, Path("j"))


def test_metrics_that_were_not_finite_are_read() -> None:
    tuned = PROPOSED | {"kind": "settings", "changes": {"dropout": 0.5}}
    ended = {"event": "ended", "number": 0, "valid": {"mrr": None}, "failure": "the loss"}

    [trial] = list_trials([tuned, ended], Path("j"), TRANS_E)

    assert trial.valid == {"mrr": None}


def test_finalists_are_those_chosen_last_unless_the_budget_is_another_since() -> None:
    budget, more = ({"event": "budget", "trials": n, "seconds": None} for n in (3, 9))
    chosen = {"event": "finalists", "numbers": [1, 0], "epochs": 9}

    def find(*events: dict[str, Any]) -> tuple[list[int], int] | None:
        return chosen_finalists([budget, *events], Path("j"), {0, 1})

    assert find() is None
    assert find(chosen) == find(chosen, budget) == ([1, 0], 9)
    assert find(chosen, more) is None
    assert find(chosen, more, chosen | {"numbers": [0]}) == ([0], 9)


@pytest.mark.parametrize(
    "altered",
    [{"numbers": [7]}, {"numbers": None}, {"numbers": [[]]}, {"epochs": None}, {"epochs": "x"}],
)
def test_finalists_that_were_altered_are_refused(altered: dict[str, Any]) -> None:
    chosen = {"event": "finalists", "numbers": [0], "epochs": 9} | altered

    with pytest.raises(DataError, match=r"an event `finalists` .* altered"):
        chosen_finalists([chosen], Path("j"), {0})


def test_a_trial_is_listed_at_each_rung_and_as_far_as_there_was_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    late = FakeWorkbench(is_late=lambda number: number == 1, n_late_epochs=2)
    run_loop(path, Listed([TRANS_E, COMPL_EX]), late, rungs=RUNGS)

    listed = [(t.number, t.result.epochs) for t in list_trials(read_events(path), path)]

    assert listed == [(0, 1), (1, 2), (0, 3), (0, 9)]
