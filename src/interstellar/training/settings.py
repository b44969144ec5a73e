"""What the training of one network can be told."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

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
from interstellar.rivals.rival_settings import RivalLoss, RivalSettings

MAX_DIM = 2**16
MAX_COUNT = 2**31 - 1
FORMER_NAMES = {"l2": "weight_decay", "decay": "lr_decay", "selection": "metric"}
"""What settings were called in version 0.1."""
USUAL_MAX_NORM = 1.0
"""Of the paper's program, in link prediction."""
LATER_SETTINGS = (
    "optimizer",
    "n3",
    "label_smoothing",
    "max_norm",
    "relation_prediction",
    "paths_per_epoch",
    "measured",
)
"""Settings that older experiment files lack: there they had their defaults."""
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
    RIVAL = "rival"
    """Nothing: a model outside the space, which its architecture names."""


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
    """Share of the outputs v_t that is zeroed; the paper says inputs, its program has outputs.

    A propagation leaves that share of the triplets out of each batch instead.
    """
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
    paths_per_epoch: int | None = None
    """At most so many of the paths, drawn anew for each epoch, are one; None: all of them."""
    measured: int | None = None
    """At most so many triplets or pairs of a split are ranked, always the same; None: all."""
    optimizer: Optimizer = Optimizer.ADAM
    n3: float = 0.0
    """Weight of the regulariser N3: cubes of the embeddings of each step, summed; 0: none."""
    label_smoothing: float = 0.0
    """Share of the target that all entities have alike, with the full softmax; 0: none."""
    max_norm: float | None = USUAL_MAX_NORM
    """To what length embeddings of entities are cut after each step of link prediction; None: to
    none. In alignment nothing is cut."""
    relation_prediction: float = 0.0
    """Weight λ of a second loss, of the relation of (s, ?, o), with single triplets; 0: none."""
    walk: WalkSettings
    """How the paths are sampled."""
    propagation: PropagationSettings | None = None
    """How the cell is propagated, in place of walking; then paths are single triplets."""
    rival: RivalSettings | None = None
    """Of a model outside the space."""

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
        _check_rival(self)

    @property
    def model(self) -> ModelKind:
        if self.rival is not None:
            return ModelKind.RIVAL
        return ModelKind.WALKS if self.propagation is None else ModelKind.PROPAGATION


CHOICES: tuple[tuple[str, type[StrEnum]], ...] = (
    ("metric", Metric),
    ("precision", Precision),
    ("optimizer", Optimizer),
)
_COUNTS = (
    ("batch_size", 1, "The paper has 512 to 2048."),
    ("max_epochs", 1, "The paper has 40 (alignment) and 50."),
    ("validate_every", 1, "1 validates after every epoch."),
    ("patience", 0, "0 never stops early."),
    ("n_negatives", 1, "None takes all entities."),
    ("paths_per_epoch", 1, "None takes all paths."),
    ("measured", 1, "None ranks all that are held out."),
)
_AT_MOST = f"at most {_MOST:,.0f}"
_RATES: tuple[tuple[str, Callable[[float], bool], str, str], ...] = (
    ("learning_rate", lambda r: 0 < r <= _MOST, f"above 0 and {_AT_MOST}", "Paper: 3e-5 to 4e-3."),
    ("weight_decay", lambda decay: 0 <= decay <= _MOST, f"from 0, {_AT_MOST}", "0: none."),
    ("n3", lambda weight: 0 <= weight <= _MOST, f"from 0, {_AT_MOST}", "0: none."),
    ("relation_prediction", lambda w: 0 <= w <= _MOST, f"from 0, {_AT_MOST}", "0: none."),
    ("label_smoothing", lambda share: 0 <= share < 1, "from 0 to under 1", "0 turns it off."),
    ("dropout", lambda share: 0 <= share < 1, "from 0 to under 1", "0 turns it off."),
    ("lr_decay", lambda decay: 0 < decay <= 1, "above 0 and at most 1", "1 keeps the rate."),
    ("gradient_norm", lambda n: 0 < n <= _MOST, f"above 0 and {_AT_MOST}", "None: left alone."),
    ("max_norm", lambda n: 0 < n <= _MOST, f"above 0 and {_AT_MOST}", "None: no bound."),
)
_OPTIONAL = ("n_negatives", "paths_per_epoch", "measured", "gradient_norm", "max_norm")


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
    for name, kind in CHOICES:
        value = getattr(settings, name)
        if not isinstance(value, kind):
            raise SettingsError(
                f"{name} is {value!r}, but it must be a {kind.__name__}: {', '.join(kind)}. "
                "Choose one of them."
            )


_MEANT_FOR_WALKS = (
    ("n_negatives", None),
    ("paths_per_epoch", None),
    ("n3", 0.0),
    ("label_smoothing", 0.0),
    ("relation_prediction", 0.0),
    ("max_norm", None),
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


def _check_rival(settings: TrainingSettings) -> None:
    """Refuse losses that do not fit together."""
    if settings.rival is None:
        return
    if settings.propagation is not None:
        raise SettingsError(
            "there are settings of a propagation and of a rival, but a model is one of the two. "
            "Leave one out."
        )
    if settings.relation_prediction:
        raise SettingsError(
            f"relation_prediction is {settings.relation_prediction}, but it is for architectures "
            "of the search space, and a rival was named. Leave it out."
        )
    loss = settings.rival.loss
    if loss not in (RivalLoss.SOFTMAX, RivalLoss.HARD) and settings.n_negatives is None:
        raise SettingsError(
            f"loss is {loss}, which needs wrong answers, and negatives says none. Give for "
            "instance 256."
        )
    if loss is not RivalLoss.SOFTMAX and settings.label_smoothing:
        raise SettingsError(
            f"label_smoothing is {settings.label_smoothing}, but loss is {loss}, and labels are "
            "smoothed with softmax only. Leave one of them out."
        )
