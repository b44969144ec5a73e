"""The controller of a hybrid search, moved again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.notation import to_code
from interstellar.architecture.search_space import N_MACRO, SearchSpace
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.controller_replay import ControllerReplay, Theta, is_alike
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.trial import Proposal
from tests.reporting.written_runs import KEPT, SEARCHES
from tests.searching.small_searches import run_search, small_plan, small_search

HYBRID = [
    *(SEARCHES / name for name in ("countries_s3_hybrid", "dbp_wd_hybrid", "wn18rr_hybrid")),
    KEPT / "searched",
]
each_search = pytest.mark.parametrize("folder", HYBRID, ids=lambda folder: folder.name)


def controllers_of(folder: Path) -> list[Theta]:
    [search] = read_runs(folder)
    assert isinstance(search, RecordedSearch)
    return [moment.theta for moment in search.controllers]


def likeliest(theta: Theta) -> list[int]:
    """Return the code of the architecture that takes the likeliest option of each choice."""
    point = tuple(options.index(max(options)) for options in theta)
    return list(to_code(SearchSpace().at(point)))


@each_search
def test_the_likeliest_options_at_the_end_are_the_answer_of_the_search(folder: Path) -> None:
    answer = json.loads((folder / "result.json").read_text())["answer"]["code"]

    assert likeliest(controllers_of(folder)[-1]) == answer


@each_search
def test_the_micro_part_goes_through_what_the_journal_says(folder: Path) -> None:
    noted = [
        tuple(map(tuple, event["controller"]["theta"]))  # type: ignore[index]
        for event in RunFolder(folder).read_events()
        if event["event"] == "ended" and event.get("controller")
    ]

    ours = [theta[N_MACRO:] for theta in controllers_of(folder)]

    assert noted
    assert set(noted) <= set(ours)


def test_it_begins_with_equal_probabilities() -> None:
    first = controllers_of(HYBRID[0])[0]

    assert all(len(set(options)) == 1 for options in first)


def test_known_models_before_it_do_not_move_it(tmp_path: Path) -> None:
    plan = replace(
        small_plan(StrategyName.HYBRID), from_scratch=False, try_first=("TransE", "DistMult")
    )
    run_search(small_search(plan=plan), tmp_path / "run", n_trials=4)

    thetas = controllers_of(tmp_path / "run")

    answer = json.loads((tmp_path / "run" / "result.json").read_text())["answer"]["code"]
    assert len(thetas) > 1
    assert likeliest(thetas[-1]) == answer


def test_nothing_is_shown_where_the_journal_went_another_way(tmp_path: Path) -> None:
    run = Path(shutil.copytree(HYBRID[1], tmp_path / "run"))
    toml = (run / "experiment.toml").read_text()
    (run / "experiment.toml").write_text(toml.replace("seed = 0", "seed = 1", 1))

    assert controllers_of(run) == []


def test_other_strategies_have_no_replay() -> None:
    assert ControllerReplay.of(small_search(StrategyName.RANDOM)) is None
    assert ControllerReplay.of(small_search(StrategyName.HYBRID)) is not None


def test_proposals_are_alike_by_number_and_supernet() -> None:
    first = Proposal(number=0, architecture=SearchSpace().at((0,) * 13))

    assert is_alike(first, replace(first, epochs=3))
    assert not is_alike(first, replace(first, number=1))
