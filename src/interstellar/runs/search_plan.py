"""How a search goes about it, and how much it may spend.

The text beside each option is its help on the command line and in the reference.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Annotated, Any

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.notation import code_text, from_code_text, read_architecture
from interstellar.architecture.propagation import CLAUSES, split_choices
from interstellar.architecture.search_space import SearchSpace, Subspace, read_subspace
from interstellar.errors import SettingsError
from interstellar.words import choose

LITERATURE_WORD = "literature"
TUNED = ("learning_rate", "weight_decay", "n3", "lr_decay", "dropout", "batch_size")
"""The settings that a tuning chooses, unless it is to keep them."""
SEARCHED = (*TUNED, "dim", "label_smoothing", "path_length", *CLAUSES)
"""Those that may be searched with the architecture; the last are a propagation's."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class StrategyName(StrEnum):
    """How architectures, or settings, are proposed."""

    SURROGATE = "surrogate"
    """A regression on all trials until now chooses among variants of the best."""
    HYBRID = "hybrid"
    """The paper's: macro level from scratch, micro level with shared weights."""
    RANDOM = "random"
    REINFORCE = "reinforce"
    """An LSTM that is rewarded (Zoph and Le 2017)."""
    BAYES = "bayes"
    """Tree-structured Parzen estimators (Bergstra et al. 2011)."""
    DARTS = "darts"
    """A supernet that mixes all options, by gradient (Liu et al. 2019)."""
    ONE_SHOT = "one-shot"
    """A supernet with sampled architectures (ASNG, Akimoto et al. 2019)."""
    TUNE = "tune"
    """Not architectures but settings of one of them, by Parzen estimators."""


STRATEGIES = tuple(name for name in StrategyName if name is not StrategyName.TUNE)


class SharedScore(StrEnum):
    """By what architectures are compared on a mini-batch with shared weights."""

    LOSS = "loss"
    """As in the authors' program."""
    MRR = "mrr"
    """Of validation triplets: in link prediction, where the paper leaves both open."""


_HYBRID, _SUPERNETS = (StrategyName.HYBRID,), (StrategyName.DARTS, StrategyName.ONE_SHOT)
MEANT_FOR: dict[str, tuple[StrategyName, ...]] = {
    "macro_updates": _HYBRID,
    "micro_epochs": _HYBRID,
    "architecture_only": (StrategyName.SURROGATE,),
    "supernet_epochs": _SUPERNETS,
    "shared_score": (StrategyName.HYBRID, StrategyName.ONE_SHOT),
    "macro": (StrategyName.RANDOM,),
    "with_dim": (StrategyName.TUNE,),
    "keep": (StrategyName.TUNE, StrategyName.SURROGATE, StrategyName.RANDOM),
}
"""Options that only some strategies have."""
_DEFAULTS: dict[str, object] = {
    "macro_updates": 1,
    "micro_epochs": 1,
    "shared_score": SharedScore.LOSS,
}
FINALISTS = 3
"""Unless said."""
SUPERNET_EPOCHS = 50
"""Of DARTS and one-shot, unless said or more than the budget is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """How a search goes about it; its budget is no part of that, so that it can be raised."""

    strategy: Annotated[
        StrategyName,
        "How to propose: surrogate, hybrid, random, reinforce, bayes, darts or one-shot.",
    ] = StrategyName.SURROGATE
    subspace: Annotated[Subspace | None, "P1, P2, P3 or P4; otherwise the whole space."] = None
    macro_only: Annotated[bool, "Leave out activations and trained matrices."] = False
    try_first: Annotated[
        tuple[str, ...],
        "Architectures to try before the known models; `literature` means those by people.",
    ] = ()
    from_scratch: Annotated[bool, "Do not begin with the known models."] = False
    architecture_only: Annotated[
        bool, "Search architectures under the same settings. [surrogate only]"
    ] = False
    prune: Annotated[bool, "Train only the best trials to their end. The paper trains all."] = True
    as_published: Annotated[
        bool, "Search as the paper does: hybrid, from scratch, all trained to their end."
    ] = False
    macro_updates: Annotated[int | None, "k1 of hybrid search. [default: 1]"] = None
    micro_epochs: Annotated[int | None, "k2 of hybrid search; 0 for none. [default: 1]"] = None
    supernet_epochs: Annotated[
        int | None,
        "Epochs of the supernet of darts and one-shot. [default: 50, or what the trials are worth]",
    ] = None
    shared_score: Annotated[
        SharedScore | None, "What hybrid and one-shot compare by: loss or mrr. [default: loss]"
    ] = None
    macro: Annotated[
        str | None, "Keep the macro level of this architecture; random search only."
    ] = None
    with_dim: Annotated[bool, "Tune the dimension too."] = False
    keep: Annotated[tuple[str, ...], "A setting to leave as it is; can be repeated."] = ()

    def __post_init__(self) -> None:
        self._set("strategy", choose("strategy", self.strategy, StrategyName))
        if self.as_published:
            self._be_as_published()
        if self.subspace is not None:
            self._set("subspace", read_subspace(self.subspace))
        if self.shared_score is not None:
            self._set("shared_score", choose("shared_score", self.shared_score, SharedScore))
        self._refuse_unused()
        for name in ("macro_updates", "micro_epochs", "supernet_epochs"):
            value = getattr(self, name)
            _require_count(name, value, 0 if name == "micro_epochs" else 1)
            self._set(name, None if value is None else int(value))  # it may be NumPy's
        if self.macro is not None:
            self._set("macro", code_text(read_architecture(self.macro)))
        self._set("try_first", tuple(self._list_known()))
        self._set("keep", tuple(self.keep))
        self._refuse_bad_keep()
        for name, value in _DEFAULTS.items():
            if getattr(self, name) is None and name not in self.idle:
                self._set(name, value)

    @property
    def space(self) -> SearchSpace:
        return SearchSpace(self.subspace, self.macro_only)

    @property
    def known(self) -> list[Architecture]:
        """The architectures that are tried first."""
        return [from_code_text(split_choices(text)[0]) for text in self.try_first]

    @property
    def known_choices(self) -> list[dict[str, Any]]:
        """Of each of them, the choices of a propagation with which it is tried."""
        return [split_choices(text)[1] for text in self.try_first]

    def in_space(self, texts: Iterable[str]) -> list[str]:
        """Return the architectures, written as `try_first` has them, that lie in the space."""
        return [text for text in texts if read_architecture(split_choices(text)[0]) in self.space]

    @property
    def idle(self) -> frozenset[str]:
        """The options that mean nothing for this strategy."""
        idle = {name for name, meant in MEANT_FOR.items() if self.strategy not in meant}
        if self.strategy is StrategyName.HYBRID and (self.macro_only or self.micro_epochs == 0):
            idle |= {"shared_score"} | ({"micro_epochs"} if self.macro_only else set())
        return frozenset(idle)

    def _be_as_published(self) -> None:
        if self.strategy not in (StrategyName.SURROGATE, StrategyName.HYBRID) or self.try_first:
            raise SettingsError(
                "the paper's search is hybrid and begins with nothing. Leave `as_published`, or "
                "the strategy and `try_first`, out."
            )
        for name, value in (("from_scratch", True), ("prune", False)):
            self._set(name, value)
        self._set("strategy", StrategyName.HYBRID)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the class is frozen for everybody else

    def _refuse_unused(self) -> None:
        for name in sorted(self.idle):
            if getattr(self, name) in (None, False, ()):
                continue
            if self.strategy in MEANT_FOR[name]:
                raise SettingsError(
                    f"`{name}` was given, but hybrid search learns nothing from shared weights "
                    "with micro_epochs 0, or where the macro level is searched alone. Leave one "
                    "of them out."
                )
            raise SettingsError(
                f"`{name}` was given, but it is for {' and '.join(MEANT_FOR[name])}, and the "
                f"strategy is {self.strategy}. Leave it out."
            )

    def _list_known(self) -> list[str]:
        """Return what is to be tried first, as codes, each once; all lie in the space."""
        if self.try_first and self.strategy is StrategyName.TUNE:
            raise SettingsError(
                "`try_first` was given, but a tuning has one architecture. Leave it out."
            )
        if not self.try_first:
            return []
        from interstellar.rivals.catalogue import refuse_rival  # noqa: PLC0415 (plans must be quick)

        known: list[tuple[Architecture, dict[str, Any]]] = []
        for text in self.try_first:
            refuse_rival(text)
            cell, chosen = split_choices(text)
            is_literature = text.strip().casefold() == LITERATURE_WORD
            meant = LITERATURE.values() if is_literature else [read_architecture(cell)]
            found = [(architecture, chosen) for architecture in meant if architecture in self.space]
            if not found:
                raise SettingsError(
                    f"{text} is to be tried first, but it is not in {self.space}. "
                    "Leave `try_first` or the subspace out."
                )
            known += found
        first: dict[object, str] = {}
        for architecture, chosen in known:
            clauses = [f"{name} = {value}" for name, value in chosen.items()]
            form = canonical_form(architecture), frozenset(clauses)
            first.setdefault(form, "; ".join([code_text(architecture), *clauses]))
        return list(first.values())

    def _refuse_bad_keep(self) -> None:
        """Raise where a tuning is to keep what it would not change, or everything."""
        is_tuning = self.strategy is StrategyName.TUNE
        chosen = TUNED if is_tuning else SEARCHED
        for name in self.keep:
            if name not in chosen:
                raise SettingsError(
                    f"{name!r} cannot be kept: what is chosen is {', '.join(chosen)}, and "
                    "everything else is kept. Name some of these."
                )
        if is_tuning and set(self.keep) >= {*TUNED} - {"n3"} and not self.with_dim:
            raise SettingsError("nothing is left to tune. Keep less.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a search may spend: trials, time, or both. No trial is begun once it is spent."""

    trials: Annotated[int | None, "Networks to train. [default: 100 where no time is given]"] = None
    time: Annotated[str | float | None, "Such as 90s, 20m or 1h30m; in Python also seconds."] = None

    def __post_init__(self) -> None:
        if self.trials is None and self.time is None:
            raise SettingsError("a search needs an end. Give `trials`, `time`, or both.")
        _require_count("trials", self.trials, 1)
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise SettingsError(
                f"`time` is {self.time!r}, but it must be above 0. Give for instance 20m."
            )

    @property
    def seconds(self) -> float | None:
        return read_time(self.time) if isinstance(self.time, str) else self.time


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraining:
    """What follows a search: the best of it repeated with other seeds, the winner handed over."""

    then_train: Annotated[bool, "Then train the winner, in RUN/final."] = False
    finalists: Annotated[
        int | None,
        "Train this many of the best with several seeds; the best mean wins. [default: 3]",
    ] = None
    ensemble: Annotated[
        bool | None,
        "Join the winner's networks of all seeds into one, where that is better. [default: yes]",
    ] = None

    def __post_init__(self) -> None:
        _require_count("finalists", self.finalists, 1)
        if self.finalists is not None and self.finalists > 1 and not self.then_train:
            raise SettingsError(
                f"{self.finalists} finalists were asked for, but nothing is to be trained after "
                "the search. Ask for `then_train`, or leave `finalists` out."
            )
        if self.ensemble and self.n_finalists == 1:
            raise SettingsError(
                "an ensemble was asked for, but without finalists the winner has one seed. Ask for "
                "`then_train` and at least 2 finalists, or leave `ensemble` out."
            )

    @property
    def joins_seeds(self) -> bool:
        """Whether the winner's networks are joined: if it has several, and nobody minds."""
        return self.ensemble is not False and self.n_finalists > 1

    @property
    def n_finalists(self) -> int:
        """Trials that are repeated with other seeds; 1: none."""
        return (self.finalists or FINALISTS) if self.then_train else 1


def _require_count(name: str, value: Any, least: int) -> None:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (is_whole and value >= least):
        raise SettingsError(
            f"`{name}` is {value!r}, but it must be a whole number from {least} up. Raise it."
        )


def read_time(text: str) -> float:
    """Return the seconds that a text such as `90s`, `20m`, `1h30m` or `2d` stands for."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise SettingsError(
            f"`time` is {text!r}, which is not a time. Write a number with s, m, h or d, such as "
            "90s, 20m or 1h30m."
        )
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
