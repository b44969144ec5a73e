"""What the training of one network can be told."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, TypedDict, Unpack

from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.words import choose

MAX_DIM = 2**16
MAX_COUNT = 2**31 - 1
FORMER_NAMES = {"l2": "weight_decay", "decay": "lr_decay", "selection": "metric"}
"""What settings were called in version 0.1."""
_FIELDS = {"epochs": "max_epochs", "negatives": "n_negatives"}
_MOST = 1e6
"""Rates and norms above are no use to anybody, and some are too large for float32."""


class Metric(StrEnum):
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
    weight_decay: float
    """Coupled weight decay, λ, at the scale of the published values.

    The authors' loss is N · Σ cross-entropy, N = batch size × path length (a broadcast in their
    program). λ · parameter is added to the gradient of *that* loss, after its norm has been set
    to `gradient_norm`. With a `gradient_norm` (alignment) the decay is about 1 % of the gradient;
    without (link prediction) it is next to nothing, and dropout and bounded norms regularise.
    A trainer whose loss is a mean divides accordingly, so that the effect is kept.
    """
    dropout: float
    """Share of the outputs v_t that is zeroed; the paper says inputs, its program has outputs."""
    lr_decay: float
    """The learning rate is multiplied by it after every epoch."""
    max_epochs: int
    validate_every: int
    """Epochs from one validation to the next."""
    patience: int
    """Validations in a row without gain after which training stops; 0: it never stops early."""
    metric: Metric
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
        _check_numbers(self)
        _check_choices(self)


class SettingsChanges(TypedDict, total=False):
    """The settings that can be changed one by one, each with its help; None: as it was."""

    dim: Annotated[int | None, "Numbers in an embedding."]
    batch_size: Annotated[int | None, "Paths in a step of the optimizer."]
    learning_rate: Annotated[float | None, "Of Adam, in the first epoch."]
    lr_decay: Annotated[float | None, "The rate is multiplied by this after every epoch."]
    weight_decay: Annotated[float | None, "Coupled weight decay, at the paper's scale."]
    dropout: Annotated[float | None, "Share of the outputs that is zeroed."]
    epochs: Annotated[int | None, "Train this many epochs at most."]
    patience: Annotated[int | None, "Stop after this many validations without gain; 0: never."]
    metric: Annotated[str | None, "What decides on validation: hits@1, mrr or auc_pr."]
    precision: Annotated[str | None, "auto, float32 or mixed."]
    negatives: Annotated[int | None, "Sample this many wrong answers a step; otherwise take all."]


def with_changes(
    settings: TrainingSettings, **changes: Unpack[SettingsChanges]
) -> TrainingSettings:
    """Return the settings with single values changed; None leaves a value as it is."""
    given: dict[str, Any] = {
        _FIELDS.get(name, name): value.item() if hasattr(value, "item") else value
        for name, value in changes.items()
        if value is not None
    }
    for name, kind in (("metric", Metric), ("precision", Precision)):
        if name in given:
            given[name] = choose(name, given[name], kind)
    return replace(settings, **given)


_COUNTS = (
    ("batch_size", 1, "The paper has 512 to 2048."),
    ("max_epochs", 1, "The paper has 40 (alignment) and 50."),
    ("validate_every", 1, "1 validates after every epoch."),
    ("patience", 0, "0 never stops early."),
    ("n_negatives", 1, "None takes all entities."),
)
_AT_MOST = f"at most {_MOST:,.0f}"
_RATES: tuple[tuple[str, Callable[[float], bool], str, str], ...] = (
    ("learning_rate", lambda r: 0 < r <= _MOST, f"above 0 and {_AT_MOST}", "Paper: 3e-5 to 4e-3."),
    ("weight_decay", lambda decay: 0 <= decay <= _MOST, f"from 0, {_AT_MOST}", "0: none."),
    ("dropout", lambda share: 0 <= share < 1, "from 0 to under 1", "0 turns it off."),
    ("lr_decay", lambda decay: 0 < decay <= 1, "above 0 and at most 1", "1 keeps the rate."),
    ("gradient_norm", lambda n: 0 < n <= _MOST, f"above 0 and {_AT_MOST}", "None: left alone."),
)
_OPTIONAL = ("n_negatives", "gradient_norm")


def _check_numbers(settings: TrainingSettings) -> None:
    for name, least, advice in _COUNTS:
        value = getattr(settings, name)
        is_whole = type(value) is int and least <= value <= MAX_COUNT
        if not is_whole and not (value is None and name in _OPTIONAL):
            raise SettingsError(
                f"{name} is {value!r}, but it must be a whole number from {least} up. {advice}"
            )
    for name, is_good, rule, advice in _RATES:
        value = getattr(settings, name)
        is_number = type(value) in (int, float) and is_good(value)  # NaN is not good either
        if not is_number and not (value is None and name in _OPTIONAL):
            raise SettingsError(f"{name} is {value!r}, but it must be a number {rule}. {advice}")


def _check_choices(settings: TrainingSettings) -> None:
    for name, kind in (("metric", Metric), ("precision", Precision)):
        value = getattr(settings, name)
        if not isinstance(value, kind):
            raise SettingsError(
                f"{name} is {value!r}, but it must be a {kind.__name__}: {', '.join(kind)}. "
                "Choose one of them."
            )
