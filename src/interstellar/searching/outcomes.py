"""What workers give back, read with distrust: what is no result is asked for once more."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

from interstellar.engine.engine import Done
from interstellar.searching.plain_values import require
from interstellar.searching.trial import ALTERED, Proposal, TrialResult, read_result

NO_RESULT = "given up after 2 tries: its worker gave back what is no result"


@final
class Outcomes:
    """Reads what came of pieces of work, and remembers which could not be read."""

    def __init__(self) -> None:
        self._misread: set[int] = set()

    def read(self, piece: Done, proposal: Proposal) -> TrialResult | None:
        """Return the result of a piece; None: it cannot be read, for the first time."""
        if piece.outcome is None:
            return TrialResult(failure=piece.failure)
        with suppress(*ALTERED):
            return read_outcome(piece.outcome, proposal)
        if piece.number in self._misread:
            return TrialResult(failure=NO_RESULT)
        self._misread.add(piece.number)
        return None


def read_outcome(plain: Mapping[str, Any], proposal: Proposal) -> TrialResult:
    """Return the result of a proposal from plain values that are whole and of its kind."""
    require({"score", "epochs", "failure", "stopped", "seconds"} <= plain.keys())
    result = read_result(plain, proposal)
    has_learnt = result.controller is not None or result.weights is not None
    has_ended = result.failure is not None or result.stopped is not None
    require(proposal.supernet is None or has_learnt or has_ended)
    return result
