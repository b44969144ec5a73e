"""What the training of one network can be told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, TypedDict, Unpack

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.propagation import (
    MAX_DEPTH,
    Aggregation,
    Attention,
    LeftOut,
    Propagation,
    RelationVectors,
    Update,
)
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.words import choose

MAX_DIM = 2**16
MAX_COUNT = 2**31 - 1
FORMER_NAMES = {"l2": "weight_decay", "decay": "lr_decay", "selection": "metric"}
"""What settings were called in version 0.1."""
USUAL_MAX_NORM = 1.0
"""Of the paper's program, in link prediction."""
LATER_SETTINGS = ("optimizer", "n3", "label_smoothing", "max_norm")
"""Settings that older experiment files lack: there they had their defaults."""
_FIELDS = {"epochs": "max_epochs", "negatives": "n_negatives"}
_MOST = 1e6
"""Rates and norms above are no use to anybody, and some are too large for float32."""


class Metric(StrEnum):
    """The metric on the validation split that decides which epoch is the best."""

    HITS_AT_1 = "hits@1"
    MRR = "mrr"
    AUC_PR = "auc_pr"
    """Of Countries and geography, where the regions of each country are ranked."""


class Optimizer(StrEnum):
    """How the gradient moves the parameters."""

    ADAM = "adam"
    ADAGRAD = "adagrad"


class Precision(StrEnum):
    """How the products are computed; parameters and moments are float32 always."""

    AUTO = "auto"
    """Mixed on a GPU that is fast at it, float32 elsewhere."""
    FLOAT32 = "float32"
    MIXED = "mixed"
    """The logits in float16, sums and loss in float32."""


class ModelKind(StrEnum):
    """What a cell is run along."""

    WALKS = "walks"
    """Sampled paths, with an embedding of each entity: the paper's."""
    PROPAGATION = "propagation"
    """All paths at once, layer by layer, without embeddings of entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationSettings:
    """How a cell is propagated (`architecture/propagation.py` says what the choices mean)."""

    aggregation: Aggregation = Aggregation.PNA
    attention: Attention = Attention.NONE
    relations: RelationVectors = RelationVectors.OWN
    update: Update = Update.RESIDUAL
    depth: int = 6
    left_out: LeftOut = LeftOut.TRIPLETS
    queries_per_epoch: int = 2**15
    """At most so many of the training queries, drawn anew for each epoch, are one."""
    nodes: int | None = None
    """So many a query keeps after each layer, those with the highest logits; None: all."""

    def __post_init__(self) -> None:
        limits = {"depth": MAX_DEPTH, "queries_per_epoch": MAX_COUNT, "nodes": MAX_COUNT}
        for name, most in limits.items():
            value = getattr(self, name)
            if name == "nodes" and value is None:
                continue
            if type(value) is not int or not 1 <= value <= most:
                raise SettingsError(
                    f"{name} is {value!r}, but it must be a whole number from 1 to {most}. "
                    "Choose one of them."
                )

    def of(self, cell: Architecture) -> Propagation:
        """Return a cell with how it is propagated."""
        return Propagation(
            cell=cell,
            aggregation=self.aggregation,
            attention=self.attention,
            relations=self.relations,
            update=self.update,
            depth=self.depth,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Everything about a training but data, architecture, seed and device."""

    dim: int
    """Numbers in an embedding; even, because ⊗ takes one half as real, the other as imaginary."""
    batch_size: int
    """Paths in a step of the optimizer."""
    learning_rate: float
    """Of the optimizer, in the first epoch."""
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
    """Validations in a row without gain after which training stops; 0: it never stops early.

    More where a validation has fewer than 1,000 ranks (`EarlyStopping`).
    """
    metric: Metric
    gradient_norm: float | None
    """The gradient of all parameters together is scaled to this norm; None: it is left alone.

    The paper's program only cuts what is longer than 5 (alignment), but at the scale of its loss
    that is every step: the direction of the gradient counts, its length does not.
    """
    precision: Precision = Precision.AUTO
    n_negatives: int | None = None
    """Wrong answers drawn for each step (sampled softmax); None: all entities (full softmax)."""
    optimizer: Optimizer = Optimizer.ADAM
    n3: float = 0.0
    """Weight of the regulariser N3: cubes of the embeddings of each step, summed; 0: none."""
    label_smoothing: float = 0.0
    """Share of the target that all entities have alike, with the full softmax; 0: none."""
    max_norm: float | None = USUAL_MAX_NORM
    """To what length embeddings of entities are cut after each step of link prediction; None: to
    none. In alignment nothing is cut."""
    walk: WalkSettings
    """How the paths are sampled."""
    propagation: PropagationSettings | None = None
    """How the cell is propagated, in place of walking; then paths are single triplets."""

    def __post_init__(self) -> None:
        if type(self.dim) is not int or not 2 <= self.dim <= MAX_DIM or self.dim % 2:
            raise SettingsError(
                f"dim is {self.dim!r}, but it must be an even number from 2 to {MAX_DIM}, because "
                "⊗ takes halves as real and imaginary. The paper has 64 and 256."
            )
        _check_numbers(self)
        _check_choices(self)
        if self.label_smoothing and self.n_negatives is not None:
            raise SettingsError(
                f"label_smoothing is {self.label_smoothing} and n_negatives {self.n_negatives}, "
                "but labels can be smoothed over all entities only. Leave one of them out."
            )
        _check_propagation(self)

    @property
    def model(self) -> ModelKind:
        return ModelKind.WALKS if self.propagation is None else ModelKind.PROPAGATION


class SettingsChanges(TypedDict, total=False):
    """The settings that can be changed one by one, each with its help; None: as it was."""

    model: Annotated[str | None, "walks (sampled paths) or propagation (all paths at once)."]
    dim: Annotated[int | None, "Numbers in an embedding."]
    batch_size: Annotated[int | None, "Paths in a step of the optimizer."]
    learning_rate: Annotated[float | None, "Of the optimizer, in the first epoch."]
    optimizer: Annotated[str | None, "adam or adagrad."]
    lr_decay: Annotated[float | None, "The rate is multiplied by this after every epoch."]
    weight_decay: Annotated[float | None, "Coupled weight decay, at the paper's scale."]
    n3: Annotated[float | None, "Weight of the regulariser N3; 0: none."]
    label_smoothing: Annotated[float | None, "Share of the target that all entities have alike."]
    max_norm: Annotated[
        float | None, "Cut entity embeddings to this length in link prediction; 0: none."
    ]
    dropout: Annotated[float | None, "Share of the outputs that is zeroed."]
    epochs: Annotated[int | None, "Train this many epochs at most."]
    patience: Annotated[int | None, "Stop after this many validations without gain; 0: never."]
    metric: Annotated[str | None, "What decides on validation: hits@1, mrr or auc_pr."]
    precision: Annotated[str | None, "auto, float32 or mixed."]
    path_length: Annotated[int | None, "Triplets in a path; 1: single triplets."]
    negatives: Annotated[int | None, "Sample this many wrong answers a step; otherwise take all."]
    depth: Annotated[int | None, "Layers of a propagation, 1 to 8."]
    aggregation: Annotated[str | None, "Of messages in a propagation: sum, mean, max or pna."]
    attention: Annotated[str | None, "What weighs messages of a propagation: none or query."]
    relations: Annotated[str | None, "Relation vectors of a propagation: own or query."]
    update: Annotated[str | None, "Of states in a propagation: residual or gate."]
    left_out: Annotated[
        str | None, "Edges left out while they are asked for in training: triplets or between."
    ]
    nodes: Annotated[
        int | None, "Nodes that a query of a propagation keeps after each layer; else all."
    ]


def with_changes(
    settings: TrainingSettings, **changes: Unpack[SettingsChanges]
) -> TrainingSettings:
    """Return the settings with single values changed; None leaves a value as it is."""
    model = changes.pop("model", None)
    if model is not None and choose("model", model, ModelKind) is not settings.model:
        raise SettingsError(
            f"the model is {model}, but these settings are for {settings.model}. Choose that "
            "model, or leave the settings out."
        )
    given: dict[str, Any] = {
        _FIELDS.get(name, name): value.item() if hasattr(value, "item") else value
        for name, value in changes.items()
        if value is not None
    }
    for name, kind in _CHOICES:
        if name in given:
            given[name] = choose(name, given[name], kind)
    if given.get("max_norm") == 0:
        given["max_norm"] = None
    return replace_settings(settings, given)


def replace_settings(settings: TrainingSettings, changes: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings with fields changed, `path_length` and those of a propagation too."""
    given = dict(changes)
    of_propagation = {name: given.pop(name) for name in changes if name in PROPAGATION_FIELDS}
    if of_propagation:
        if settings.propagation is None:
            raise SettingsError(
                f"{', '.join(of_propagation)} belongs to a propagation, and the model is walks. "
                "Choose the model propagation, or leave it out."
            )
        for name, kind in PROPAGATION_CHOICES:
            if name in of_propagation:
                of_propagation[name] = choose(name, of_propagation[name], kind)
        given["propagation"] = replace(settings.propagation, **of_propagation)
    if "path_length" in given:
        given["walk"] = replace(settings.walk, length=given.pop("path_length"))
    return replace(settings, **given)


_CHOICES: tuple[tuple[str, type[StrEnum]], ...] = (
    ("metric", Metric),
    ("precision", Precision),
    ("optimizer", Optimizer),
)
PROPAGATION_CHOICES: tuple[tuple[str, type[StrEnum]], ...] = (
    ("aggregation", Aggregation),
    ("attention", Attention),
    ("relations", RelationVectors),
    ("update", Update),
    ("left_out", LeftOut),
)
PROPAGATION_FIELDS = ("depth", "nodes", *(name for name, _ in PROPAGATION_CHOICES))
"""Those that can be changed one by one."""
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
    ("n3", lambda weight: 0 <= weight <= _MOST, f"from 0, {_AT_MOST}", "0: none."),
    ("label_smoothing", lambda share: 0 <= share < 1, "from 0 to under 1", "0 turns it off."),
    ("dropout", lambda share: 0 <= share < 1, "from 0 to under 1", "0 turns it off."),
    ("lr_decay", lambda decay: 0 < decay <= 1, "above 0 and at most 1", "1 keeps the rate."),
    ("gradient_norm", lambda n: 0 < n <= _MOST, f"above 0 and {_AT_MOST}", "None: left alone."),
    ("max_norm", lambda n: 0 < n <= _MOST, f"above 0 and {_AT_MOST}", "None: no bound."),
)
_OPTIONAL = ("n_negatives", "gradient_norm", "max_norm")


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
    for name, kind in _CHOICES:
        value = getattr(settings, name)
        if not isinstance(value, kind):
            raise SettingsError(
                f"{name} is {value!r}, but it must be a {kind.__name__}: {', '.join(kind)}. "
                "Choose one of them."
            )


_MEANT_FOR_WALKS = (
    ("n_negatives", None),
    ("n3", 0.0),
    ("label_smoothing", 0.0),
    ("max_norm", None),
    ("dropout", 0.0),
)


def _check_propagation(settings: TrainingSettings) -> None:
    """Refuse what a propagation has no use for, rather than leave it unused."""
    if settings.propagation is None:
        return
    for name, unused in _MEANT_FOR_WALKS:
        if getattr(settings, name) != unused:
            raise SettingsError(
                f"{name} is {getattr(settings, name)}, but a propagation has no embeddings of "
                f"entities and no paths, which it is for. Leave it out."
            )
    if settings.walk.length != 1 or settings.walk.paths_per_triplet != 1:
        raise SettingsError(
            "a propagation follows all paths, so it is trained on single triplets. Leave the "
            "length of paths out."
        )
