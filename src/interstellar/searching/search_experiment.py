"""What is searched, on what, and how; and the TOML file that says so.

It is an experiment file (`training.experiment`) with one more table, [search], and with the
architecture `any`; a tuning has the architecture that is tuned.
"""

from dataclasses import dataclass, fields
from enum import StrEnum

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.number_code import code_text, from_code_text
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace
from interstellar.errors import SettingsError
from interstellar.searching.tuning import TUNED
from interstellar.training.experiment import Experiment, experiment_text, take_experiment
from interstellar.training.toml_tables import (
    parse_toml,
    require_keys,
    take_fields,
    to_table,
    toml_text,
)

ANY = "any"
"""Stands where an experiment names its architecture."""
ADDED_LATER = ("try_first", "keep", "shared_score", "is_macro_only")
"""Searches that were begun before there were these have nothing there."""


class StrategyName(StrEnum):
    """How architectures, or settings, are proposed."""

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


class SharedScore(StrEnum):
    """By what architectures are compared on a mini-batch with shared weights."""

    LOSS = "loss"
    """As in the authors' program."""
    MRR = "mrr"
    """Of validation triplets: in link prediction, where the paper leaves both open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """How a search goes about it; its budget is no part of that, so that it can be raised."""

    strategy: StrategyName
    subspace: Subspace | None = None
    macro_updates: int = 1
    """k₁: updates of the macro level in a round of hybrid search."""
    micro_epochs: int = 1
    """k₂: epochs with shared weights in a round of hybrid search; 0: none."""
    supernet_epochs: int = 50
    """Epochs that DARTS and one-shot train their supernet."""
    is_faithful: bool = False
    """Whether every trial is trained to its end, as in the paper, however hopeless it is."""
    n_together: int = 1
    """Trials trained as one batched program, where graphs are small."""
    with_dim: bool = False
    """Whether a tuning chooses the dimension too."""
    macro: str | None = None
    """An 11-number code: random search takes its macro level and draws the micro level alone."""
    try_first: str | None = None
    """11-number codes with spaces between: they are trained before anything is proposed."""
    keep: str | None = None
    """Settings with spaces between: a tuning leaves them as they are."""
    shared_score: SharedScore = SharedScore.LOSS
    """By what hybrid and one-shot compare architectures with shared weights."""
    is_macro_only: bool = False
    """Whether only networks without activations and trained matrices are searched."""

    @property
    def space(self) -> SearchSpace:
        """The architectures that are searched."""
        return SearchSpace(self.subspace, self.is_macro_only)

    @property
    def known(self) -> list[Architecture]:
        """The architectures that are tried first."""
        return [from_code_text(code) for code in (self.try_first or "").split()]

    @property
    def kept(self) -> list[str]:
        """The settings that a tuning leaves as they are."""
        return (self.keep or "").split()

    def __post_init__(self) -> None:
        for name, value, least in (
            ("macro_updates", self.macro_updates, 1),
            ("micro_epochs", self.micro_epochs, 0),
            ("supernet_epochs", self.supernet_epochs, 1),
            ("n_together", self.n_together, 1),
        ):
            if value < least:
                raise SettingsError(
                    f"{name} is {value}, but it must be a whole number from {least} up. Raise it."
                )
        if self.macro is not None:
            from_code_text(self.macro)
            if self.strategy is not StrategyName.RANDOM:
                raise SettingsError(
                    f"macro is {self.macro}, but only random search can keep a macro level, and "
                    f"the strategy is {self.strategy}. Leave one of them out."
                )
        self._refuse_known_elsewhere()
        self._refuse_bad_kept()

    def _refuse_known_elsewhere(self) -> None:
        """Raise where an architecture to be tried first is not in the space that is searched."""
        if self.try_first is not None and self.strategy is StrategyName.TUNE:
            raise SettingsError(
                "try_first was given, but a tuning has one architecture. Leave it out."
            )
        for architecture in self.known:
            if architecture not in self.space:
                raise SettingsError(
                    f"{code_text(architecture)} is to be tried first, but it is not in "
                    f"{self.space}. Leave one of them out."
                )

    def _refuse_bad_kept(self) -> None:
        """Raise where a tuning is to keep what it would not change, or everything."""
        if self.keep is None:
            return
        if self.strategy is not StrategyName.TUNE:
            raise SettingsError(
                f"keep is {self.keep}, but only a tuning changes settings. Leave it out."
            )
        for name in self.kept or [""]:
            if name not in TUNED:
                raise SettingsError(
                    f"{name!r} cannot be kept: a tuning chooses {', '.join(TUNED)}, and keeps "
                    "everything else. Name some of these."
                )
        if set(self.kept) == set(TUNED) and not self.with_dim:
            raise SettingsError("nothing is left to tune. Keep less.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchExperiment:
    """One search, completely."""

    experiment: Experiment
    """Data, seed and the settings with which each trial is trained."""
    plan: SearchPlan


def search_text(search: SearchExperiment) -> str:
    """Return the text of a search's experiment file."""
    return experiment_text(search.experiment) + toml_text({"search": to_table(search.plan)})


def parse_search(text: str, file: str = "experiment") -> SearchExperiment:
    """Read the text of a search's experiment file; `file` is named in errors."""
    whole = parse_toml(text, file)
    if "search" not in whole:
        raise SettingsError(
            f"{file} has no table [search]: it is the run of a training, not of a search. "
            "Choose another folder."
        )
    place = f"{file}: [search]"
    plan = take_fields(SearchPlan, whole.pop("search"), place)
    needed = [field.name for field in fields(SearchPlan) if field.name not in ADDED_LATER]
    require_keys(plan, needed, place)
    return SearchExperiment(
        experiment=take_experiment(whole, file),
        plan=SearchPlan(**plan),  # type: ignore[arg-type]  # take_fields has checked the types
    )
