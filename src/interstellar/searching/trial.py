"""Trials: what a strategy proposes, and what came of it.

A proposal and its result are each one value: what a worker is given and gives back, what the
journal keeps, and what a user is shown. `as_plain` writes it for JSON. `from_plain` reads it with
distrust, because a journal is a file like any other and may have been altered: it raises one of
`ALTERED`. Names of version 0.1 are understood.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import inf, isclose, isfinite
from typing import Any, Self, TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.propagation import CHOICES
from interstellar.architecture.search_space import N_CHOICES
from interstellar.errors import ArchitectureError, SettingsError
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.notation import AnyModel, model_text, read_noted
from interstellar.searching.natural_gradient import ControllerState
from interstellar.searching.plain_values import (
    are_numbers,
    is_count,
    is_number,
    is_text,
    require,
)
from interstellar.searching.supernet_round import Kind, SupernetRound
from interstellar.searching.tried_network import (
    Changes,
    TrialKey,
    TriedNetwork,
    code_of,
    formula_of,
    identify,
    network_of,
    published_name,
)
from interstellar.training.settings import FORMER_NAMES

Plain: TypeAlias = dict[str, Any]
"""Values that JSON can write."""
Weights: TypeAlias = tuple[tuple[float, ...], ...]
"""Of each choice, the weights of its options."""

ALTERED = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    ArchitectureError,
    SettingsError,
)
"""What reading a proposal or result that was altered ends in."""


_FORMER_KINDS = {"from scratch": Kind.TRIAL, "settings": Kind.TRIAL}


class Stop(StrEnum):
    """Why a trial was not trained to its end."""

    PRUNED = "pruned"
    """Of version 0.1."""
    RUNG = "rung"
    """It waits at its rung, to be promoted or not."""
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is to be tried: an architecture from scratch, or a supernet."""

    number: int
    """Proposals of a strategy are counted from 0 in the order in which it was asked."""
    architecture: AnyModel | None = None
    """To be trained from scratch; None: `supernet` is to be trained."""
    changes: Changes = field(default_factory=dict)
    """Settings that differ from those of the search."""
    supernet: SupernetRound | None = None
    epochs: int | None = None
    """Where its trial is stopped, to be compared (`rungs`); None: at its end."""
    seed: int | None = None
    """Of the repetition of a trial; None: that of the search."""

    @property
    def key(self) -> TrialKey:
        """What trials are told apart by: equal ones come to the same result."""
        assert self.architecture is not None, "a supernet is no trial"
        return identify(self.architecture, self.changes, self.seed)

    @property
    def point(self) -> Architecture:
        """The point of the search space that is tried; only a tuning may try a rival instead."""
        assert isinstance(self.architecture, Architecture)
        return self.architecture

    @property
    def formula(self) -> str:
        """What is tried, in one line."""
        if self.architecture is None:
            return "a supernet"
        return formula_of(network_of(self.architecture, self.changes))

    def as_plain(self) -> Plain:
        if self.supernet is not None:
            content = {"kind": str(self.supernet.kind), **self.supernet.as_plain()}
        else:
            assert self.architecture is not None
            content = {"kind": str(Kind.TRIAL), "code": model_text(self.architecture)}
            if self.changes:
                content["changes"] = dict(self.changes)
        rare = {"epochs": self.epochs, "seed": self.seed}
        given = {name: value for name, value in rare.items() if value is not None}
        return {"number": self.number, **content, **given}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], tuned: AnyModel | None = None) -> Self:
        """Return what `as_plain` wrote; `tuned` is the architecture of a tuning of version 0.1."""
        number, kind = plain["number"], plain["kind"]
        kind = _FORMER_KINDS.get(kind) or Kind(kind)
        require(type(number) is int)
        if kind is not Kind.TRIAL:
            return cls(number=number, supernet=SupernetRound.from_plain(plain, kind))
        architecture = read_noted(plain["code"]) if "code" in plain else tuned
        changes = _read_changes(plain, architecture)
        epochs, seed = plain.get("epochs"), plain.get("seed")
        require(all(value is None or is_count(value) for value in (epochs, seed)))
        return cls(
            number=number, architecture=architecture, changes=changes, epochs=epochs, seed=seed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What came of a proposal."""

    score: float | None = None
    """The best value of the metric on the validation split; None: there is none."""
    valid: dict[str, float] = field(default_factory=dict)
    """All metrics of that epoch."""
    curve: list[float] = field(default_factory=list)
    """The metric at each validation."""
    best_epoch: int = 0
    epochs: int = 0
    stopped: Stop | None = None
    """Why it was not trained to its end."""
    failure: str | None = None
    """Why it could not be trained."""
    seconds: float = 0.0
    reused: str | None = None
    """Where the result was known from, if nothing was trained."""
    controller: ControllerState | None = None
    """Where the controller of a supernet was at last."""
    weights: Weights | None = None
    """Those that a relaxed supernet has learnt."""

    @property
    def is_complete(self) -> bool:
        """Whether it was trained to its end, so that its score can be used again."""
        return self.failure is None and self.stopped is None

    @property
    def is_comparable(self) -> bool:
        """Whether it was trained to its end or to a rung, and has a score."""
        return self.score is not None and self.stopped in (None, Stop.RUNG)

    def is_comparable_at(self, rung: int | None) -> bool:
        """Return whether it can be compared with others that were trained so far."""
        came_so_far = rung is not None and self.epochs >= rung
        return self.is_comparable or (self.score is not None and came_so_far)

    @property
    def seconds_of_epoch(self) -> float:
        """What an epoch has taken, with all that came with it."""
        return self.seconds / max(1, self.epochs)

    def score_until(self, epochs: int) -> float:
        """Return the best score of the first epochs; validations are equally far apart."""
        n_validations = round(len(self.curve) * epochs / max(1, self.epochs))
        return max(self.curve[: max(1, n_validations)], default=self.score or 0.0)

    def as_plain(self) -> Plain:
        """Return plain values; what only supernets have, and `reused`, only where it is there.

        JSON has finite numbers only: others are None, and worth nothing in the curve.
        """
        found: Plain = {f.name: getattr(self, f.name) for f in fields(self)}
        found["score"] = self.score if is_number(self.score) else None
        found["valid"] = {name: v if is_number(v) else None for name, v in self.valid.items()}
        found["curve"] = [score if is_number(score) else 0.0 for score in self.curve]
        found["stopped"] = None if self.stopped is None else str(self.stopped)
        found["controller"] = None if self.controller is None else self.controller.as_dict()
        rare = ("reused", "controller", "weights")
        return {key: v for key, v in found.items() if key not in rare or v is not None}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `as_plain` wrote, other keys left out."""
        found = {f.name: plain[f.name] for f in fields(cls) if f.name in plain}
        if found.get("stopped") is not None:
            found["stopped"] = Stop(found["stopped"].replace("hopeless", Stop.PRUNED))
        if found.get("controller") is not None:
            found["controller"] = ControllerState.from_dict(found["controller"])
        if found.get("weights") is not None:
            found["weights"] = tuple(tuple(options) for options in found["weights"])
        result = cls(**found)
        result._check()
        return result

    def _check(self) -> None:
        require(self.score is None or is_number(self.score))
        require(are_numbers(self.curve) and is_number(self.seconds))
        require(is_count(self.best_epoch) and is_count(self.epochs))
        require(is_text(self.failure) and is_text(self.reused))
        measured = [v for v in self.valid.values() if v is not None]  # None: it was not finite
        require(are_numbers(measured))
        if self.controller is not None:
            _check_controller(self.controller)
        if self.weights is not None:
            require(len(self.weights) == N_CHOICES)
            require(all(options and are_numbers(list(options)) for options in self.weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One architecture, or one choice of settings, with what it earned."""

    architecture: AnyModel
    result: TrialResult
    number: int = 0
    settings: Changes = field(default_factory=dict)
    """Settings that differ from those of the search."""
    seed: int | None = None
    """Of the repetition of a trial; None: that of the search."""

    @classmethod
    def of(cls, proposal: Proposal, result: TrialResult) -> Self:
        """Return the trial of a proposal that has ended."""
        assert proposal.architecture is not None
        return cls(
            architecture=proposal.architecture,
            result=result,
            number=proposal.number,
            settings=proposal.changes,
            seed=proposal.seed,
        )

    def repetition(self, number: int, seed: int) -> Proposal:
        """Return the same to be trained with another seed, to its end."""
        tried, changes = self.architecture, self.settings
        return Proposal(number=number, architecture=tried, changes=changes, seed=seed)

    @property
    def key(self) -> TrialKey:
        """What trials are told apart by: equal ones come to the same result."""
        return identify(self.architecture, self.settings, self.seed)

    @property
    def point(self) -> Architecture:
        """The point of the search space that was tried; only a tuning may try a rival instead."""
        assert isinstance(self.architecture, Architecture)
        return self.architecture

    @property
    def network(self) -> TriedNetwork:
        """The canonical form: what networks are told apart by."""
        return network_of(self.architecture, self.settings)

    @property
    def formula(self) -> str:
        return formula_of(self.network)

    @property
    def code(self) -> list[int] | None:
        """The architecture as 11 numbers; a rival has none."""
        return code_of(self.architecture)

    @property
    def score(self) -> float | None:
        """The best value of the metric on the validation split; None: there is none."""
        return self.result.score

    @property
    def valid(self) -> Mapping[str, float]:
        """All metrics of the best epoch on the validation split."""
        return self.result.valid

    def describe(self) -> Plain:
        """Return the trial in every notation a reader may want."""
        found: Plain = {
            "code": self.code,
            "canonical": None if isinstance(self.network, Rival) else code_of(self.network),
            "name": published_name(self.network),
            "formula": self.formula,
            "valid": self.result.valid,
            "score": self.score,
            "best_epoch": self.result.best_epoch,
            "proposal": self.number,
        }
        return found | {"settings": dict(self.settings)} if self.settings else found

    def as_plain(self) -> Plain:
        """Return plain values, for the journal of another search."""
        code = model_text(self.architecture)
        found = {"number": self.number, "code": code, "result": self.result.as_plain()}
        return found | {"changes": dict(self.settings)} if self.settings else found

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        result = TrialResult.from_plain(plain["result"] if "result" in plain else plain["earned"])
        if "reused" in plain:
            result = replace(result, reused=plain["reused"])
        number, architecture = plain["number"], read_noted(plain["code"])
        changes = _read_changes(plain, architecture)
        require(is_count(number) and is_text(result.reused))
        return cls(architecture=architecture, result=result, number=number, settings=changes)


def read_result(plain: Mapping[str, Any], proposal: Proposal) -> TrialResult:
    """Return the result of a proposal from plain values; it must be of that proposal's kind."""
    result = TrialResult.from_plain(plain)
    asked = None if proposal.supernet is None else proposal.supernet.controller
    if result.controller is not None:
        require(asked is not None and _shape(result.controller) == _shape(asked))
    return result


def _read_changes(plain: Mapping[str, Any], architecture: AnyModel | None) -> Changes:
    """Return the changes of an architecture, which together are a network."""
    changes = {FORMER_NAMES.get(k, k): value for k, value in plain.get("changes", {}).items()}
    require(all(is_number(value) for name, value in changes.items() if name not in CHOICES))
    require(architecture is not None and network_of(architecture, changes))
    return changes


def _check_controller(controller: ControllerState) -> None:
    for theta in controller.theta:
        require(all(0 < p <= 1 for p in theta) and isclose(sum(theta), 1, abs_tol=1e-6))
    require(all(map(isfinite, controller.s_bar)))
    require(0 <= controller.gamma < inf and 0 < controller.Delta < inf)


def _shape(controller: ControllerState) -> tuple[list[int], int, int]:
    sizes = [len(theta) for theta in controller.theta]
    return sizes, len(controller.s_bar), controller.n_choices
