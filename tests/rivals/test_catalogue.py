"""Every model with a name: said once, found in any case, and trained by that name."""

import pytest

from interstellar.architecture.literature import LITERATURE, PROPAGATIONS, PUBLISHED
from interstellar.data.graph import Task
from interstellar.rivals.catalogue import (
    Place,
    Rival,
    facts_of,
    find_model,
    find_rival,
    known_models,
    rivals_for,
)


def test_every_name_is_listed_once() -> None:
    names = [model.name for model in known_models()]

    assert len({name.casefold() for name in names}) == len(names)
    assert set(names) >= {*LITERATURE, *PUBLISHED, *PROPAGATIONS, *Rival}


@pytest.mark.parametrize("model", known_models(), ids=lambda model: model.name)
def test_a_model_says_what_it_is(model) -> None:  # type: ignore[no-untyped-def]
    assert all((model.tasks, model.formula, model.complexity, model.paper))
    assert model.is_in_space is (model.place is not Place.OUTSIDE)
    assert model.remark or model.is_in_space, "a rival says what of it the space does not hold"
    assert find_model(model.name.upper()) == model


def test_rivals_are_found_in_any_case_and_nothing_else_is() -> None:
    assert find_rival(" rotate ") is Rival.ROTATE
    assert find_rival("TransE") is None
    assert find_model("nobody") is None


@pytest.mark.parametrize("task", Task)
def test_each_task_has_the_rivals_that_say_so(task: Task) -> None:
    assert rivals_for(task) == [rival for rival in Rival if task in facts_of(rival).tasks]
    assert rivals_for(task)
