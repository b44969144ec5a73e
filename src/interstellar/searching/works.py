"""Proposals as plain values: what the journal keeps of them and what an engine is given."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, assert_never

from interstellar.architecture.architecture import Architecture, Micro
from interstellar.architecture.notation import code_text, from_code_text
from interstellar.engine.engine import Plain
from interstellar.searching.natural_gradient import ControllerState
from interstellar.searching.strategy import (
    FromScratch,
    Outcome,
    Proposal,
    Relaxed,
    WithSettings,
    WithSharedWeights,
)


class Kind(StrEnum):
    """What is to be done, in the words of the journal."""

    FROM_SCRATCH = "from scratch"
    SHARED = "shared weights"
    RELAXED = "relaxed"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What training from scratch came to."""

    score: float | None
    """The best value of the selection metric on the validation split; None: there is none."""
    valid: dict[str, float] = field(default_factory=dict)
    """All metrics of that epoch."""
    curve: list[float] = field(default_factory=list)
    """The selection metric at each validation."""
    best_epoch: int = 0
    epochs: int = 0
    stopped: str | None = None
    """Why it was not trained to its end: `hopeless` or `time`."""
    failure: str | None = None
    """Why it could not be trained."""
    seconds: float = 0.0

    def as_plain(self) -> Plain:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Plain) -> "Earned":
        """Return what `as_plain` wrote, other keys left out."""
        return cls(**{name: plain[name] for name in cls.__slots__ if name in plain})


def to_plain(proposal: Proposal) -> Plain:
    """Return a proposal as plain values."""
    match proposal:
        case FromScratch():
            content: Plain = {
                "kind": Kind.FROM_SCRATCH.value,
                "code": code_text(proposal.architecture),
            }
        case WithSharedWeights():
            macro = None if proposal.macro is None else Architecture(proposal.macro, Micro())
            content = {
                "kind": Kind.SHARED.value,
                "macro": None if macro is None else code_text(macro),
                "controller": proposal.controller.as_dict(),
                "epochs": proposal.n_epochs,
            }
        case Relaxed():
            content = {"kind": Kind.RELAXED.value, "epochs": proposal.n_epochs}
        case WithSettings():
            content = {"kind": Kind.SETTINGS.value, "changes": dict(proposal.changes)}
        case _:
            assert_never(proposal)
    return {"number": proposal.number, **content}


def from_plain(plain: Plain) -> Proposal:
    """Return the proposal that `to_plain` wrote."""
    number = plain["number"]
    match Kind(plain["kind"]):
        case Kind.FROM_SCRATCH:
            return FromScratch(number=number, architecture=from_code_text(plain["code"]))
        case Kind.SHARED:
            macro = plain["macro"]
            return WithSharedWeights(
                number=number,
                macro=None if macro is None else from_code_text(macro).macro,
                controller=ControllerState.from_dict(plain["controller"]),
                n_epochs=plain["epochs"],
            )
        case Kind.RELAXED:
            return Relaxed(number=number, n_epochs=plain["epochs"])
        case Kind.SETTINGS:
            return WithSettings(number=number, changes=dict(plain["changes"]))
        case kind:
            assert_never(kind)


def told_outcome(proposal: Proposal, outcome: Plain) -> Outcome:
    """Return what a strategy is told of a proposal, from the plain values of its outcome."""
    match proposal:
        case FromScratch() | WithSettings():
            score: float | None = outcome.get("score")
            return score
        case WithSharedWeights():
            learnt: dict[str, Any] | None = outcome.get("controller")
            return None if learnt is None else ControllerState.from_dict(learnt)
        case Relaxed():
            weights: list[list[float]] | None = outcome.get("weights")
            return None if weights is None else tuple(tuple(options) for options in weights)
        case _:
            assert_never(proposal)
