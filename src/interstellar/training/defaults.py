"""Settings that fit a graph, by its size and density, where nothing else is said.

The rules come from a study (`benchmarks/defaults.py`, figures in benchmarks/NOTES.md) of random
settings on graphs from 14 to 40,000 entities. They are powers, so that graphs that hardly differ
are trained alike.

Link prediction: Adagrad on single triplets, without a bound on the embeddings, is within a few per
cent of the best found on every graph. Two things depend on the graph: with many entities the
dimension is larger; and N3 weighs less where entities have many triplets, and where there are few
entities.

Propagation (benchmarks/NOTES.md): on a small graph the best weights are reached within two passes
over the queries, while the rate falls to a twentieth; with more it overfits.

Entity alignment: the fewer the triplets, the longer the steps and the stronger the decay; with few
of them half the dimension does as well.
"""

import math
from dataclasses import dataclass, replace

from interstellar.architecture.propagation import LeftOut, RelationVectors
from interstellar.data.graph import Task
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.presets import COUNTRIES
from interstellar.training.settings import (
    Metric,
    ModelKind,
    Optimizer,
    PropagationSettings,
    TrainingSettings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSize:
    """What settings depend on."""

    n_entities: int
    n_triplets: int
    """Those of training; of two graphs those of both, as the entities."""
    n_pairs: int = 0
    """Of two graphs, known in training."""
    has_answers: bool = False
    """Whether answers are ranked among a given few, as on Countries."""
    hides_links: bool = False
    """Whether held-out triplets are between ends that nothing else links, as in FB15k-237."""

    @property
    def degree(self) -> float:
        """Triplets in which an entity stands, on average."""
        return 2 * self.n_triplets / max(1, self.n_entities)


MOST_NUMBERS = 2**28
"""Of all entities together, 1 GiB: with very many entities the dimension is smaller again."""
MANY_ENTITIES = 2**18
"""With more, a step has some of them as wrong answers, and a part of each split is ranked: all
of them are out of reach of a CPU."""
N_NEGATIVES, N_MEASURED = 2**12, 2000
MOST_PATHS = 2**22
"""With more, an epoch is a quarter of so many, drawn anew: it is validated after minutes."""
LINK_PREDICTION = TrainingSettings(
    dim=512,
    batch_size=512,
    learning_rate=0.1,
    optimizer=Optimizer.ADAGRAD,
    weight_decay=0.0,
    n3=0.01,
    dropout=0.3,
    max_norm=None,
    lr_decay=1.0,
    max_epochs=81,
    validate_every=3,
    patience=5,
    metric=Metric.MRR,
    gradient_norm=None,
    walk=replace(WalkSettings.link_prediction(), length=1, paths_per_triplet=1),
)
ALIGNMENT = TrainingSettings(
    dim=256,
    batch_size=512,
    learning_rate=0.003,
    weight_decay=0.014,
    dropout=0.5,
    lr_decay=0.98,
    max_epochs=36,
    validate_every=1,
    patience=12,
    metric=Metric.MRR,
    gradient_norm=5.0,
    walk=WalkSettings.alignment(),
)


PROPAGATION = TrainingSettings(
    dim=32,
    batch_size=64,
    learning_rate=0.005,
    weight_decay=0.0,
    dropout=0.0,
    max_norm=None,
    lr_decay=0.85,
    max_epochs=20,
    validate_every=1,
    patience=0,
    metric=Metric.MRR,
    gradient_norm=1.0,
    walk=LINK_PREDICTION.walk,
    propagation=PropagationSettings(),
)
MANY_TRIPLETS = 10
"""Where entities stand in more on average, relations mean something else for each query."""
CROWDED, DROPPED = 40, 0.1
"""Where they stand in more than so many, up to such a share of the edges is left out of each batch:
there are other paths, and it overfits less."""
MOST_LAYERS = 6
"""Unless said; as many hops as lead nearly everywhere, and two or three more, are enough."""
N_PASSES, LAST_RATE = 2, 0.05
"""How often each query is asked, as far as the epochs go; and what is left of the rate then."""


def default_settings(
    task: Task, size: GraphSize, model: ModelKind = ModelKind.WALKS
) -> TrainingSettings:
    """Return the settings for a graph, or two, of some size."""
    if model is ModelKind.PROPAGATION:
        return _for_propagation(task, size)
    if task is Task.ENTITY_ALIGNMENT:
        return _for_alignment(size)
    if size.has_answers:
        return COUNTRIES
    thousands = size.n_entities / 1000
    return replace(
        _bound_work(LINK_PREDICTION, size),
        dim=fitting_dim(512 * max(1.0, thousands) ** 0.25, size.n_entities),
        n3=_round(0.15 * max(1.0, size.degree) ** -0.3 * min(1.0, thousands) ** 0.5),
    )


def fitting_dim(dim: float, n_entities: int, n_tables: int = 2) -> int:
    """Return a dimension near this one with which so many entities have `MOST_NUMBERS` at most."""
    dim = min(dim, MOST_NUMBERS / (n_tables * max(1, n_entities)))
    block = 64 if dim >= 64 else 8
    return block * max(1, round(dim / block))


def _bound_work(settings: TrainingSettings, size: GraphSize) -> TrainingSettings:
    """Return settings with steps, epochs and validations that a large graph leaves time for."""
    n_paths = 2 * size.n_triplets * settings.walk.paths_per_triplet
    if n_paths > MOST_PATHS:
        settings = replace(settings, paths_per_epoch=MOST_PATHS // 4)
    if size.n_entities > MANY_ENTITIES:
        settings = replace(settings, n_negatives=N_NEGATIVES, measured=N_MEASURED)
    return settings


def _for_propagation(task: Task, size: GraphSize) -> TrainingSettings:
    if task is Task.ENTITY_ALIGNMENT:
        raise SettingsError(
            "the model is propagation, which learns the links of one graph, and there are two. "
            "Choose the model walks."
        )
    assert PROPAGATION.propagation is not None
    n_queries = 2 * max(1, size.n_triplets)
    an_epoch = min(PROPAGATION.propagation.queries_per_epoch, -(-n_queries // 4))
    n_epochs = min(PROPAGATION.max_epochs, -(-N_PASSES * n_queries // an_epoch))
    growth = min(2.0, max(1.0, size.n_entities / 1000) ** 0.25)
    fewness = max(1.0, 1e5 / n_queries)
    return replace(
        PROPAGATION,
        dim=8 * round(min(4.0, 2 * max(1.0, size.n_triplets / 1000) ** 0.42)),
        batch_size=16 * round(2 * growth),
        learning_rate=_round(min(0.008, 0.002 * max(1.0, size.degree) ** 0.25 * fewness**0.15)),
        dropout=_round(DROPPED * min(1.0, max(0.0, size.degree / CROWDED - 1))),
        lr_decay=falling_rate(n_epochs),
        max_epochs=n_epochs,
        metric=Metric.AUC_PR if size.has_answers else Metric.MRR,
        propagation=_how_to_propagate(size, an_epoch),
    )


def falling_rate(n_epochs: int) -> float:
    """Return the decay with which the rate of a propagation falls to its last in so many epochs."""
    return _round(LAST_RATE ** (1 / max(1, n_epochs - 1)))


def _how_to_propagate(size: GraphSize, queries_per_epoch: int) -> PropagationSettings:
    is_dense = size.degree > MANY_TRIPLETS
    log_n = math.log(max(2, size.n_entities))
    n_layers = 1 + log_n / math.log(max(2.0, size.degree)) + log_n / math.log(100)
    return PropagationSettings(
        relations=RelationVectors.QUERY if is_dense else RelationVectors.OWN,
        depth=min(MOST_LAYERS, round(n_layers)),
        left_out=LeftOut.BETWEEN if size.hides_links else LeftOut.TRIPLETS,
        queries_per_epoch=queries_per_epoch,
    )


def _for_alignment(size: GraphSize) -> TrainingSettings:
    thousands = max(1, size.n_triplets) / 1000
    small = min(1.0, 10 / thousands)
    return replace(
        _bound_work(ALIGNMENT, size),
        dim=fitting_dim(_alignment_dim(size), size.n_entities),
        learning_rate=_round(min(0.006, 0.05 * thousands**-1.25)),
        weight_decay=_round(0.014 * small),
        dropout=_round(0.3 + 0.2 * small),
    )


def _alignment_dim(size: GraphSize) -> int:
    """Return the dimension for two graphs: half of the usual one with 10,000 triplets or fewer."""
    growth: float = max(1.0, size.n_triplets / 10_000) ** (1 / 3)
    return round(ALIGNMENT.dim * min(1.0, growth / 2))


def _round(value: float) -> float:
    """Return a value with two digits, for people to read."""
    return float(f"{value:.2g}")
