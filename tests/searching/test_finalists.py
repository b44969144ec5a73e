"""The head of a search: different networks, the best first; and who wins after final training."""

from pathlib import Path

import pytest

from interstellar.architecture.canonical_form import canonical_form
from interstellar.records.run_folder import RunFolder
from interstellar.searching.finalists import finalist_folder, find_head, find_winner
from interstellar.searching.search_experiment import SearchPlan, StrategyName
from interstellar.searching.search_run import list_trials
from interstellar.training.settings import Selection
from tests.searching.small_searches import run_search, small_search

TRANSE = "[0,0,12,0,0,0,0,0,0,0,0]"
TRANSE_AGAIN = "[1,0,12,2,0,1,1,0,0,0,0]"
"""O_s is another, but nobody reads it."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    plan = SearchPlan(strategy=StrategyName.RANDOM, try_first=f"{TRANSE} {TRANSE_AGAIN}")
    run_search(small_search(plan=plan), tmp_path / "run", n_trials=4)
    return tmp_path / "run"


def test_the_best_come_first_each_network_once(run: Path) -> None:
    trials = list(list_trials(RunFolder.open(run)))
    assert trials[0].network == trials[1].network  # one network under two names

    head = find_head(run, 10)

    assert len(trials) == 5
    assert len(head) == len({trial.network for trial in head}) == 4
    scores = [trial.score or 0.0 for trial in head]
    assert scores == sorted(scores, reverse=True)
    assert [trial.network for trial in find_head(run, 2)] == [t.network for t in head[:2]]


def test_a_finalist_has_the_same_folder_whoever_else_is_in(run: Path) -> None:
    folders = [finalist_folder(trial) for trial in find_head(run, 10)]

    assert [finalist_folder(trial) for trial in find_head(run, 2)] == folders[:2]
    assert len(set(folders)) == 4
    assert f"finalists/{TRANSE.strip('[]').replace(',', '-')}" in folders


def test_a_failed_trial_is_no_finalist(run: Path) -> None:
    [first, *_] = find_head(run, 1)
    journal = run / "journal.jsonl"
    lines = journal.read_text().splitlines()
    changed = [
        line.replace(f'"score": {first.score}', '"score": null')
        if f'"number": {first.number},' in line and '"ended"' in line
        else line
        for line in lines
    ]
    journal.write_text("\n".join(changed) + "\n")

    assert canonical_form(first.architecture) not in [t.network for t in find_head(run, 10)]


def test_the_best_on_validation_wins_and_of_equals_the_first() -> None:
    results = [{"metrics": {"valid": {"mrr": mrr}, "test": {"mrr": 1 - mrr}}} for mrr in (1, 3, 3)]

    assert find_winner(results, Selection.MRR) == 1
