"""Proposals as plain values, on their way through a journal and to a worker."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.searching.natural_gradient import ControllerState, uniform
from interstellar.searching.strategy import (
    FromScratch,
    Outcome,
    Proposal,
    Relaxed,
    WithSettings,
    WithSharedWeights,
)
from interstellar.searching.works import Earned, from_plain, to_plain, told_outcome
from tests.architecture.strategies import architectures

numbers = st.integers(0, 10**6)
epochs = st.integers(1, 100)
controllers = st.lists(st.integers(1, 4), min_size=1, max_size=13).map(lambda K: uniform(K, 13))
changes = st.dictionaries(
    st.sampled_from(["learning_rate", "l2", "dropout"]), st.floats(1e-9, 1), min_size=1
)
proposals = st.one_of(
    st.builds(FromScratch, number=numbers, architecture=architectures),
    st.builds(
        WithSharedWeights,
        number=numbers,
        macro=st.none() | architectures.map(lambda architecture: architecture.macro),
        controller=controllers,
        n_epochs=epochs,
    ),
    st.builds(Relaxed, number=numbers, n_epochs=epochs),
    st.builds(WithSettings, number=numbers, changes=changes),
)
CONTROLLER = uniform([2, 3], 13)


@given(proposals)
def test_a_proposal_comes_back_from_json_the_same(proposal: Proposal) -> None:
    assert from_plain(json.loads(json.dumps(to_plain(proposal)))) == proposal


def test_what_else_a_journal_or_a_loop_adds_to_a_proposal_is_left_out() -> None:
    proposal = Relaxed(number=4, n_epochs=2)

    assert from_plain(to_plain(proposal) | {"bar": None, "seconds_left": 3.0}) == proposal


@given(
    st.builds(
        Earned,
        score=st.none() | st.floats(0, 1),
        valid=st.dictionaries(st.text(), st.floats(0, 1)),
        curve=st.lists(st.floats(0, 1)),
        stopped=st.sampled_from([None, "hopeless", "time"]),
        failure=st.none() | st.text(),
    )
)
def test_what_was_earned_comes_back_from_json_the_same(earned: Earned) -> None:
    plain = json.loads(json.dumps(earned.as_plain())) | {"number": 3, "elapsed": 1.0}

    assert Earned.from_plain(plain) == earned


@pytest.mark.parametrize(
    ("proposal", "outcome", "told"),
    [
        (WithSettings(number=0, changes={"l2": 0.1}), {"score": 0.5}, 0.5),
        (WithSettings(number=0, changes={"l2": 0.1}), {"score": None, "failure": "nan"}, None),
        (Relaxed(number=0, n_epochs=1), {"weights": [[0.5, 0.5], [1.0]]}, ((0.5, 0.5), (1.0,))),
        (Relaxed(number=0, n_epochs=1), {"failure": "no memory"}, None),
        (
            WithSharedWeights(number=0, macro=None, controller=CONTROLLER, n_epochs=1),
            {"controller": CONTROLLER.as_dict()},
            CONTROLLER,
        ),
        (
            WithSharedWeights(number=0, macro=None, controller=CONTROLLER, n_epochs=1),
            {"failure": "no memory"},
            None,
        ),
    ],
)
def test_a_strategy_is_told_what_it_asked_for_or_none(
    proposal: Proposal, outcome: dict[str, object], told: Outcome
) -> None:
    found = told_outcome(proposal, outcome)

    assert found == told
    assert isinstance(found, float | tuple | ControllerState | None)
