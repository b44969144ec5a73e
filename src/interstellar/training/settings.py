"""What the training of one network can be told."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypedDict, Unpack

from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings

MAX_DIM = 2**16
MAX_COUNT = 2**31 - 1


class Selection(StrEnum):
    """The metric on the validation split that decides which epoch is the best."""

    HITS_AT_1 = "hits@1"
    MRR = "mrr"
    AUC_PR = "auc_pr"
    """Of Countries and geography, where the regions of each country are ranked."""


class Precision(StrEnum):
    """How the products are computed; parameters and Adam's moments are float32 always."""

    AUTO = "auto"
    """Mixed on a GPU that is fast at it, float32 elsewhere."""
    FLOAT32 = "float32"
    MIXED = "mixed"
    """The logits in float16, sums and loss in float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Everything about a training but data, architecture, seed and device."""

    dim: int
    """Numbers in an embedding; even, because ⊗ takes one half as real, the other as imaginary."""
    batch_size: int
    """Paths in a step of the optimizer."""
    learning_rate: float
    """Of Adam, in the first epoch."""
    l2: float
    """Coupled weight decay, λ, at the scale of the published values.

    The authors' loss is N · Σ cross-entropy, N = batch size × path length (a broadcast in their
    program). λ · parameter is added to the gradient of *that* loss, after its norm has been set
    to `gradient_norm`. With a `gradient_norm` (alignment) the decay is about 1 % of the gradient;
    without (link prediction) it is next to nothing, and dropout and bounded norms regularise.
    A trainer whose loss is a mean divides accordingly, so that the effect is kept.
    """
    dropout: float
    """Share of the outputs v_t that is zeroed; the paper says inputs, its program has outputs."""
    decay: float
    """The learning rate is multiplied by it after every epoch."""
    max_epochs: int
    validate_every: int
    """Epochs from one validation to the next."""
    patience: int
    """Validations in a row without gain after which training stops; 0: it never stops early."""
    selection: Selection
    gradient_norm: float | None
    """The gradient of all parameters together is scaled to this norm; None: it is left alone.

    The paper's program only cuts what is longer than 5 (alignment), but at the scale of its loss
    that is every step: the direction of the gradient counts, its length does not.
    """
    precision: Precision = Precision.AUTO
    n_negatives: int | None = None
    """Wrong answers drawn for each step (sampled softmax); None: all entities (full softmax)."""
    walk: WalkSettings
    """How the paths are sampled."""

    def __post_init__(self) -> None:
        if type(self.dim) is not int or not 2 <= self.dim <= MAX_DIM or self.dim % 2:
            raise SettingsError(
                f"dim is {self.dim!r}, but it must be an even number from 2 to {MAX_DIM}, because "
                "⊗ takes halves as real and imaginary. The paper has 64 and 256."
            )
        _check_counts(self)
        _check_rates(self)
        _check_choices(self)


class SettingsChanges(TypedDict, total=False):
    """The settings that `with_changes` can change; None: as it was."""

    dim: int | None
    batch_size: int | None
    learning_rate: float | None
    l2: float | None
    dropout: float | None
    decay: float | None
    max_epochs: int | None
    validate_every: int | None
    patience: int | None
    selection: Selection | None
    gradient_norm: float | None
    precision: Precision | None
    n_negatives: int | None
    walk: WalkSettings | None


def with_changes(
    settings: TrainingSettings, **changes: Unpack[SettingsChanges]
) -> TrainingSettings:
    """Return the settings with single values changed, for instance by flags.

    None leaves a value as it is, so that flags that were not given can be passed on; to set
    `gradient_norm` or `n_negatives` to None, use `dataclasses.replace`.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(settings, **given)  # type: ignore[arg-type]  # the TypedDict has their types


def _check_counts(settings: TrainingSettings) -> None:
    counts = (
        ("batch_size", settings.batch_size, 1, "The paper has 512 to 2048."),
        ("max_epochs", settings.max_epochs, 1, "The paper has 40 (alignment) and 50."),
        ("validate_every", settings.validate_every, 1, "1 validates after every epoch."),
        ("patience", settings.patience, 0, "0 never stops early."),
        ("n_negatives", settings.n_negatives, 1, "None takes all entities."),
    )
    for name, value, least, advice in counts:
        if name == "n_negatives" and value is None:
            continue
        if type(value) is not int or not least <= value <= MAX_COUNT:
            raise SettingsError(
                f"{name} is {value!r}, but it must be a whole number from {least} up. {advice}"
            )


def _check_rates(settings: TrainingSettings) -> None:
    rate, l2, dropout, decay = (
        settings.learning_rate,
        settings.l2,
        settings.dropout,
        settings.decay,
    )
    norm = 1.0 if settings.gradient_norm is None else settings.gradient_norm
    rates = (
        ("learning_rate", rate, 0 < rate < math.inf, "above 0", "The paper has 3e-5 to 4e-3."),
        ("l2", l2, 0 <= l2 < math.inf, "0 or more", "0 turns weight decay off."),
        ("dropout", dropout, 0 <= dropout < 1, "from 0 to under 1", "0 turns it off."),
        ("decay", decay, 0 < decay <= 1, "above 0 and at most 1", "1 keeps the learning rate."),
        ("gradient_norm", norm, 0 < norm < math.inf, "above 0", "None leaves the gradient alone."),
    )
    for name, value, is_good, rule, advice in rates:
        if not is_good:  # NaN compares as false, so it is caught too
            raise SettingsError(f"{name} is {value!r}, but it must be a number {rule}. {advice}")


def _check_choices(settings: TrainingSettings) -> None:
    for name, value, kind in (
        ("selection", settings.selection, Selection),
        ("precision", settings.precision, Precision),
    ):
        if not isinstance(value, kind):
            raise SettingsError(
                f"{name} is {value!r}, but it must be a {kind.__name__}: {', '.join(kind)}. "
                "Choose one of them."
            )
