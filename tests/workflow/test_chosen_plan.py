"""What a search is to do, as it follows from what was given."""

from dataclasses import replace

import pytest

from interstellar.runs.search_plan import Retraining, SearchPlan, StrategyName
from interstellar.searching.time_plan import Ending
from interstellar.training.defaults import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings_changes import replace_settings
from interstellar.workflow.chosen_plan import choose_ending

SHORT = replace_settings(ALIGNMENT, {"path_length": 1})
THEN_TRAIN = Retraining(then_train=True)
LONG, REPEATED = Ending(is_long=True), Ending(n_finalists=3)


def test_the_winner_of_short_paths_is_trained_anew_and_others_are_repeated() -> None:
    plan = SearchPlan()

    assert choose_ending(plan, THEN_TRAIN, SHORT, ALIGNMENT) == LONG
    assert choose_ending(plan, THEN_TRAIN, ALIGNMENT, ALIGNMENT) == REPEATED
    assert choose_ending(plan, THEN_TRAIN, LINK_PREDICTION, LINK_PREDICTION) == REPEATED
    assert choose_ending(plan, Retraining(), SHORT, ALIGNMENT) == Ending()


@pytest.mark.parametrize(
    "plan",
    [
        SearchPlan(keep=("path_length",)),
        SearchPlan(strategy=StrategyName.HYBRID),
    ],
    ids=["length given", "hybrid"],
)
def test_it_is_not_where_the_length_may_have_been_given(plan: SearchPlan) -> None:
    assert choose_ending(plan, THEN_TRAIN, SHORT, ALIGNMENT) == REPEATED


@pytest.mark.parametrize("asked", [{"finalists": 3}, {"ensemble": True}])
def test_it_is_not_where_several_seeds_were_asked_for(asked: dict[str, int]) -> None:
    after = replace(THEN_TRAIN, **asked)  # type: ignore[arg-type]

    assert choose_ending(SearchPlan(), after, SHORT, ALIGNMENT) == REPEATED


def test_a_search_as_published_repeats_nothing() -> None:
    plan = SearchPlan(strategy=StrategyName.HYBRID, as_published=True)

    assert choose_ending(plan, THEN_TRAIN, ALIGNMENT, ALIGNMENT) == Ending()
