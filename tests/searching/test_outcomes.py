"""What workers give back: a result, or something that is asked for once more."""

import json
from pathlib import Path
from typing import Any

import pytest

from interstellar.engine.engine import Done, OnProgress, Plain
from interstellar.searching.outcomes import NO_RESULT, Outcomes
from interstellar.searching.trial import Proposal, TrialResult
from tests.searching.fake_workbench import (
    COMPL_EX,
    P_TRANS_E,
    TRANS_E,
    FakeWorkbench,
    Listed,
    lasting,
    run_loop,
    trained,
)

PROPOSAL = Proposal(number=0, architecture=TRANS_E)
GARBAGE: dict[str, Any] = {
    "nothing": {},
    "a part": {"score": 0.5},
    "a text as score": trained(0.5, 2).as_plain() | {"score": "0.5"},
    "not a number": trained(0.5, 2).as_plain() | {"score": float("nan")},
    "a list of metrics": trained(0.5, 2).as_plain() | {"valid": [0.5]},
    "another reason to stop": trained(0.5, 2).as_plain() | {"stopped": "tired"},
    "less than no epochs": trained(0.5, 2).as_plain() | {"epochs": -1},
    "a supernet's": trained(0.5, 2).as_plain() | {"controller": {"theta": [[1.0]]}},
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_result_is_asked_for_once_more_and_then_has_failed(name: str) -> None:
    outcomes = Outcomes()

    read = [outcomes.read(Done(0, GARBAGE[name]), PROPOSAL) for _ in range(2)]

    assert read == [None, TrialResult(failure=NO_RESULT)]


def test_a_result_is_read_as_it_was_written() -> None:
    result = trained(0.5, 3)

    assert Outcomes().read(Done(0, json.loads(json.dumps(result.as_plain()))), PROPOSAL) == result


def test_a_search_whose_worker_gives_back_garbage_once_is_the_search_in_which_it_does_not(
    tmp_path: Path,
) -> None:
    architectures, workbench = [TRANS_E, COMPL_EX, P_TRANS_E], FakeWorkbench()
    garbage = iter(GARBAGE.values())
    tried: set[int] = set()

    def garble_the_first_try(work: Plain, on_progress: OnProgress) -> Plain:
        if work["number"] not in tried:
            tried.add(work["number"])
            return next(garbage)
        return workbench(work, on_progress)

    run_loop(tmp_path / "whole", Listed(architectures), FakeWorkbench())
    run_loop(tmp_path / "garbled", Listed(architectures), garble_the_first_try)

    assert lasting(tmp_path / "garbled") == lasting(tmp_path / "whole")


def test_a_search_whose_worker_gives_back_nothing_else_ends_with_the_reason(
    tmp_path: Path,
) -> None:
    loop = run_loop(tmp_path / "journal", Listed([TRANS_E, COMPL_EX]), lambda _, __: {})

    assert loop.failures == 2 * [NO_RESULT]
