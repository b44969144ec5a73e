"""Proposals, results and trials as plain values, and what was altered in them."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import code_text
from interstellar.architecture.propagation import CLAUSES, Propagation, from_text
from interstellar.searching.natural_gradient import ControllerState, uniform
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import (
    ALTERED,
    Proposal,
    Stop,
    Trial,
    TrialResult,
    read_result,
)
from interstellar.searching.tried_network import Changes
from tests.architecture.strategies import architectures, propagations
from tests.searching.fake_workbench import ALSO_TRANS_E, COMPL_EX, TRANS_E, trained


def said_by(propagation: Propagation) -> dict[str, Any]:
    return {name: getattr(propagation, name) for name in CLAUSES}


numbers = st.integers(0, 10**6)
epochs = st.integers(1, 100)
controllers = st.lists(st.integers(1, 4), min_size=1, max_size=13).map(lambda K: uniform(K, 13))
changes = st.dictionaries(
    st.sampled_from(["learning_rate", "weight_decay", "dropout"]), st.floats(1e-9, 1), min_size=1
)
choices = propagations.map(
    lambda p: {name: v if name == "depth" else str(v) for name, v in said_by(p).items()}
)
stops = st.none() | st.integers(1, 100)
seeds = st.none() | numbers
supernets = st.one_of(
    st.builds(SupernetRound, n_epochs=epochs),
    st.builds(
        SupernetRound,
        n_epochs=epochs,
        controller=controllers,
        macro=st.none() | architectures.map(lambda architecture: architecture.macro),
    ),
)
proposals = st.one_of(
    st.builds(
        Proposal,
        number=st.integers(-100, 10**6),
        architecture=architectures,
        changes=changes | st.just({}) | choices,
        epochs=stops,
        seed=seeds,
    ),
    st.builds(Proposal, number=numbers, supernet=supernets),
)
results = st.builds(
    TrialResult,
    score=st.none() | st.floats(0, 1),
    valid=st.dictionaries(st.sampled_from(["mrr", "hits@1"]), st.floats(0, 1)),
    curve=st.lists(st.floats(0, 1)),
    best_epoch=numbers,
    epochs=numbers,
    stopped=st.sampled_from([None, *Stop]),
    failure=st.none() | st.text(),
    seconds=st.floats(0, 1e6),
    reused=st.none() | st.text(),
    controller=st.none() | controllers,
    weights=st.none() | st.just(((0.5, 0.5),) * 13),
)
CONTROLLER = uniform([2, 3], 13)
SAID: dict[str, Any] = {
    "aggregation": "sum",
    "attention": "none",
    "relations": "own",
    "update": "gate",
    "depth": 2,
}
SHARED = Proposal(number=0, supernet=SupernetRound(n_epochs=1, controller=CONTROLLER))


def through_json(plain: dict[str, Any]) -> dict[str, Any]:
    """Return plain values as a journal or a worker reads them, among others that it adds."""
    found: dict[str, Any] = json.loads(json.dumps(plain, allow_nan=False))
    return found | {"event": "of a journal", "elapsed": 1.0, "seconds_left": 3.0}


@given(proposals)
def test_a_proposal_comes_back_from_json_the_same(proposal: Proposal) -> None:
    assert Proposal.from_plain(through_json(proposal.as_plain())) == proposal


@given(results)
def test_a_result_comes_back_from_json_the_same(result: TrialResult) -> None:
    assert TrialResult.from_plain(through_json(result.as_plain())) == result


@given(architectures, results, numbers, changes | st.just({}) | choices)
def test_a_trial_comes_back_from_json_the_same(
    architecture: Architecture, result: TrialResult, number: int, settings: Changes
) -> None:
    trial = Trial(architecture=architecture, result=result, number=number, settings=settings)

    assert Trial.from_plain(through_json(trial.as_plain())) == trial


def test_numbers_that_are_not_finite_can_be_written_and_are_worth_nothing() -> None:
    nan = float("nan")
    result = TrialResult(score=nan, valid={"mrr": nan, "mean_rank": 3.0}, curve=[0.5, nan])

    found = TrialResult.from_plain(through_json(result.as_plain()))

    assert (found.score, found.curve) == (None, [0.5, 0.0])
    assert found.valid == {"mrr": None, "mean_rank": 3.0}


def test_proposals_and_results_of_version_0_1_are_understood() -> None:
    code = code_text(TRANS_E)
    plain = {"number": 3, "kind": "from scratch", "code": code, "bar": [0.1, 0.2]}
    settings = {"number": 3, "kind": "settings", "changes": {"l2": 0.1, "decay": 0.9}, "bar": None}
    known = {"number": 1, "code": code, "earned": {"score": 0.5}, "reused": "proposal 1 of x"}

    assert Proposal.from_plain(plain) == Proposal(number=3, architecture=TRANS_E)
    assert Proposal.from_plain(settings, tuned=COMPL_EX) == Proposal(
        number=3, architecture=COMPL_EX, changes={"weight_decay": 0.1, "lr_decay": 0.9}
    )
    assert TrialResult.from_plain({"stopped": "hopeless"}).stopped is Stop.PRUNED
    assert Trial.from_plain(known).result == TrialResult(score=0.5, reused="proposal 1 of x")


@pytest.mark.parametrize(
    "plain",
    [
        {"number": 0.5, "kind": "trial", "code": code_text(TRANS_E)},
        {"number": 0, "kind": "trial", "code": "[0]"},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "changes": {"dropout": "x"}},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "changes": {"depth": 2}},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "changes": SAID | {"depth": 9}},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "changes": SAID | {"update": 1}},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "changes": SAID | {"dim": "8"}},
        {
            "number": 0,
            "kind": "trial",
            "code": code_text(TRANS_E),
            "changes": SAID | {"update": []},
        },
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "epochs": -1},
        {"number": 0, "kind": "trial", "code": code_text(TRANS_E), "seed": "x"},
        {"number": 0, "kind": "another", "code": code_text(TRANS_E)},
        {"number": 0, "kind": "shared weights", "macro": None, "epochs": 1},
    ],
)
def test_a_proposal_that_was_altered_is_told_from_a_sound_one(plain: dict[str, Any]) -> None:
    with pytest.raises(ALTERED):
        Proposal.from_plain(plain)


@pytest.mark.parametrize(
    "plain",
    [
        {"score": "0.5"},
        {"score": True},
        {"curve": None},
        {"valid": [0.5]},
        {"epochs": 1.5},
        {"stopped": "tired"},
        {"failure": 3},
        {"weights": [[0.5, 0.5]]},
        {"controller": CONTROLLER.as_dict() | {"gamma": -1.0}},
    ],
)
def test_a_result_that_was_altered_is_told_from_a_sound_one(plain: dict[str, Any]) -> None:
    with pytest.raises(ALTERED):
        TrialResult.from_plain(plain)


@pytest.mark.parametrize("learnt", [uniform([2, 4], 13), uniform([2], 13), uniform([2, 3], 12)])
def test_a_controller_of_another_shape_is_no_result_of_a_proposal(learnt: ControllerState) -> None:
    plain = TrialResult(controller=learnt).as_plain()

    with pytest.raises(ALTERED):
        read_result(plain, SHARED)
    with pytest.raises(ALTERED):
        read_result(plain, Proposal(number=0, architecture=TRANS_E))
    assert read_result(TrialResult(controller=CONTROLLER).as_plain(), SHARED).controller


def test_trials_are_told_apart_by_network_settings_and_seed() -> None:
    proposal = Proposal(number=0, architecture=TRANS_E)
    same = Proposal(number=7, architecture=ALSO_TRANS_E, epochs=3)
    others = [
        replace(proposal, architecture=COMPL_EX),
        replace(proposal, changes={"dropout": 0.1}),
        replace(proposal, changes={"dropout": 0.2}),
        replace(proposal, seed=1),
    ]

    assert proposal.key == same.key == Trial.of(same, TrialResult()).key
    assert len({other.key for other in [proposal, *others]}) == 5


def test_propagations_are_told_apart_by_what_matters_in_them() -> None:
    cell = from_text("O_r = σ(0 ⊙ r); v = h + O_r").cell
    proposal = Proposal(number=0, architecture=cell, changes=SAID | {"dim": 8})

    def with_changes(changes: dict[str, Any]) -> Proposal:
        return replace(proposal, changes={**proposal.changes, **changes})

    assert proposal.key == with_changes({"relations": "query"}).key  # nobody reads them
    assert proposal.key != replace(proposal, changes={"dim": 8}).key
    others: list[dict[str, Any]] = [
        {"depth": 3},
        {"update": "residual"},
        {"aggregation": "max"},
        {"dim": 4},
    ]
    assert len({proposal.key, *(with_changes(changes).key for changes in others)}) == 5
    assert proposal.formula == Trial.of(proposal, TrialResult()).formula
    assert "aggregation = sum; update = gate; depth = 2" in proposal.formula


def test_a_repetition_is_the_same_trial_with_another_seed_and_to_its_end() -> None:
    proposal = Proposal(number=3, architecture=TRANS_E, changes={"dropout": 0.1}, epochs=1)
    trial = Trial.of(proposal, TrialResult())

    assert trial.repetition(-2, 8) == replace(proposal, number=-2, seed=8, epochs=None)


def test_a_result_is_complete_or_waits_or_is_neither() -> None:
    whole, waits, late = (trained(0.5, 9, stop) for stop in (None, Stop.RUNG, Stop.TIME))
    failed = TrialResult(failure="nan")

    assert [result.is_complete for result in (whole, waits, late, failed)] == [True, *3 * [False]]
    assert [result.is_comparable for result in (whole, waits, late, failed)] == [
        *2 * [True],
        *2 * [False],
    ]


def test_the_score_until_an_epoch_is_the_best_of_the_validations_until_then() -> None:
    """With a validation every third epoch."""
    result = TrialResult(score=0.9, curve=[0.5, 0.4, 0.9], epochs=9)

    assert [result.score_until(epochs) for epochs in (1, 3, 6, 9)] == [0.5, 0.5, 0.5, 0.9]
    assert TrialResult(score=0.3).score_until(3) == 0.3
