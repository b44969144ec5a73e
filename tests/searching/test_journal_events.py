"""A journal that was altered is refused with words, wherever it was altered."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import DataError, InterstellarError
from interstellar.records.run_folder import RunFolder
from interstellar.searching.budget import Budget
from interstellar.searching.darts import DartsSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.journal_events import read_ended, read_known, read_proposed
from interstellar.searching.search_experiment import StrategyName
from interstellar.searching.search_run import list_trials
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.tuning import Tuning
from interstellar.training.presets import LINK_PREDICTION
from tests.searching.fake_workbench import TRANS_E, FakeWorkbench, run_loop
from tests.searching.small_searches import run_search, small_search

ODD: tuple[object, ...] = (None, True, -1, 0, 1.5, "x", [], {}, [None], {"x": None}, 10**400)

BUILDERS: dict[str, Callable[[], SearchStrategy]] = {
    "hybrid": lambda: HybridSearch(SearchSpace(), 1),
    "darts": lambda: DartsSearch(SearchSpace(), 2),
    "tune": lambda: Tuning(LINK_PREDICTION, 1),
}


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


@pytest.mark.parametrize("name", BUILDERS)
def test_a_search_goes_on_with_an_altered_journal_or_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    path = tmp_path / "journal.jsonl"

    def go_on(n_trials: int) -> None:
        tuned = TRANS_E if name == "tune" else None
        run_loop(path, BUILDERS[name](), FakeWorkbench(), Budget(trials=n_trials), tuned=tuned)

    go_on(3)
    lines = path.read_text().splitlines()
    n_refused = 0

    for i in range(1, len(lines)):
        for altered in alterations(json.loads(lines[i])):
            path.write_text("\n".join([*lines[:i], json.dumps(altered), *lines[i + 1 :], ""]))
            try:
                go_on(5)
            except DataError:
                n_refused += 1

    assert n_refused > 100


def test_the_trials_of_an_altered_journal_are_listed_or_refused(tmp_path: Path) -> None:
    run_search(small_search(StrategyName.HYBRID), tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    lines = run.journal_file.read_text().splitlines()
    n_trials, n_refused = len(list(list_trials(run))), 0

    for i in range(1, len(lines)):
        for altered in alterations(json.loads(lines[i])):
            text = "\n".join([*lines[:i], json.dumps(altered), *lines[i + 1 :], ""])
            run.journal_file.write_text(text)
            try:
                assert len(list(list_trials(run))) <= n_trials
            except InterstellarError:
                n_refused += 1

    assert n_trials == 3
    assert n_refused > 100


def test_what_is_refused_is_named_with_its_place_and_what_to_do() -> None:
    event = {"event": "proposed", "time": "noon", "number": 0, "kind": "from scratch", "bar": None}

    with pytest.raises(DataError, match=r"j: an event `proposed` of noon .* Take it from a copy"):
        read_proposed(event | {"code": "[0]"}, Path("j"))
    with pytest.raises(DataError, match="altered"):
        read_known({"event": "known", "trials": [{"number": 1}]}, Path("j"))


def test_metrics_that_were_not_finite_are_read() -> None:
    event = {"kind": "settings", "number": 0, "bar": None, "changes": {"dropout": 0.5}}
    ended = {"number": 0, "score": None, "valid": {"mrr": None}, "failure": "the loss"}

    assert read_ended(ended, read_proposed(event, Path("j")), Path("j")).valid == {"mrr": None}
