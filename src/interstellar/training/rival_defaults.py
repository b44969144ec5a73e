"""Settings of rivals, where nothing else is said.

They begin with those of the space on the same graph (`defaults.py`) and change what the authors of
a rival, or those who tuned it later, found to matter.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interstellar.data.graph import Task
from interstellar.paths.walk_settings import WalkSettings
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.rival_settings import RivalLoss, RivalSettings
from interstellar.training.defaults import (
    ALIGNMENT,
    LINK_PREDICTION,
    GraphSize,
    default_settings,
)
from interstellar.training.settings import Metric, Optimizer, TrainingSettings

FEW_TRIPLETS = 10_000
N_BATCHES, LEAST_PAIRS = 4, 64
MOST_NUMBERS = 2**27
"""Of all entities together, with their moments 1.5 GiB."""
SINGLE = (
    Rival.TRANSE_DISTANCE,
    Rival.TRANSD,
    Rival.ROTATE,
    Rival.RESCAL,
    Rival.TUCKER,
    Rival.CONVE,
    Rival.AUTOSF_WN18RR,
    Rival.AUTOSF_FB15K_237,
)
"""Models of single triplets. Their rows are for graphs of any size: `learning_rate` is that of
10,000 triplets or fewer, and in link prediction `dim` that of 16,000 entities or more."""
DISTANCES = (Rival.TRANSE_DISTANCE, Rival.TRANSD, Rival.ROTATE)
"""A distance is a sum over the dimension, so that a step moves it the more, the larger that is.
In link prediction `learning_rate` is that with the row's `dim`."""
LINKS: Mapping[Rival, Mapping[str, Any]] = {
    Rival.TRANSE_DISTANCE: {
        "dim": 512,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.0008,
        "n_negatives": 256,
        "dropout": 0.0,
        "n3": 0.0,
        "rival": RivalSettings(loss=RivalLoss.SELF_ADVERSARIAL, margin=6.0),
    },
    Rival.TRANSD: {
        "dim": 256,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.0016,
        "n_negatives": 256,
        "dropout": 0.0,
        "n3": 0.0,
        "rival": RivalSettings(loss=RivalLoss.SELF_ADVERSARIAL, margin=3.0),
    },
    Rival.RESCAL: {"dim": 256, "dropout": 0.5, "rival": RivalSettings()},
    Rival.TUCKER: {
        "dim": 256,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.005,
        "label_smoothing": 0.1,
        "n3": 0.0,
        "rival": RivalSettings(),
    },
    Rival.CONVE: {
        "dim": 256,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.005,
        "label_smoothing": 0.1,
        "n3": 0.0,
        "rival": RivalSettings(),
    },
    Rival.AUTOSF_WN18RR: {"dim": 1024, "rival": RivalSettings()},
    Rival.AUTOSF_FB15K_237: {"dim": 1024, "rival": RivalSettings()},
    Rival.ROTATE: {
        "dim": 512,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.002,
        "n_negatives": 256,
        "dropout": 0.0,
        "n3": 0.0,
        "rival": RivalSettings(loss=RivalLoss.SELF_ADVERSARIAL, margin=6.0),
    },
    Rival.RSN_LSTM: {
        "dim": 128,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.001,
        "dropout": 0.5,
        "n3": 0.0,
        "gradient_norm": 2.0,
        "max_epochs": 40,
        "validate_every": 2,
        "walk": WalkSettings.link_prediction(),
        "rival": RivalSettings(layers=2),
    },
    Rival.R_GCN: {
        "dim": 200,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.005,
        "batch_size": 1024,
        "dropout": 0.3,
        "n3": 0.0,
        "rival": RivalSettings(layers=1),
    },
    Rival.COMPGCN: {
        "dim": 200,
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.003,
        "batch_size": 1024,
        "dropout": 0.5,
        "n3": 0.0,
        "rival": RivalSettings(layers=1),
    },
}
"""What differs from the settings of the space in link prediction."""
PAIR_SETTINGS: Mapping[str, Any] = {
    "dim": 256,
    "learning_rate": 0.01,
    "lr_decay": 1.0,
    "weight_decay": 0.0,
    "n_negatives": 25,
    "dropout": 0.0,
    "max_epochs": 200,
    "validate_every": 10,
    "patience": 5,
    "rival": RivalSettings(loss=RivalLoss.MARGIN, margin=3.0, layers=2),
}
LEARNT_MATRICES: Mapping[str, Any] = {
    "dim": 128,
    "learning_rate": 0.01,
    "n_negatives": 100,
    "rival": RivalSettings(loss=RivalLoss.SOFTMAX, layers=2),
}
PAIRS: Mapping[Rival, Mapping[str, Any]] = {
    Rival.TRANSE_DISTANCE: {
        "dim": 128,
        "learning_rate": 0.02,
        "weight_decay": 0.0,
        "n_negatives": 64,
        "dropout": 0.0,
        "rival": RivalSettings(loss=RivalLoss.SELF_ADVERSARIAL, margin=9.0),
    },
    Rival.BOOTEA: {
        "dim": 128,
        "batch_size": 1024,
        "learning_rate": 0.015,
        "weight_decay": 0.0,
        "n_negatives": 256,
        "dropout": 0.0,
        "rival": RivalSettings(loss=RivalLoss.LIMIT, margin=1.5),
    },
    Rival.RSN_LSTM: {
        "optimizer": Optimizer.ADAM,
        "learning_rate": 0.003,
        "dropout": 0.5,
        "batch_size": 512,
        "weight_decay": 0.0,
        "gradient_norm": 2.0,
        "walk": WalkSettings.alignment(),
        "rival": RivalSettings(layers=2),
    },
    Rival.TRANSD: {
        "dim": 128,
        "learning_rate": 0.015,
        "weight_decay": 0.0,
        "n_negatives": 64,
        "dropout": 0.0,
        "rival": RivalSettings(loss=RivalLoss.SELF_ADVERSARIAL, margin=3.0),
    },
    Rival.R_GCN: {**PAIR_SETTINGS, **LEARNT_MATRICES, "dropout": 0.2, "learning_rate": 0.005},
    Rival.GCN_ALIGN: PAIR_SETTINGS,
    Rival.VR_GCN: {**PAIR_SETTINGS, **LEARNT_MATRICES},
    Rival.DUAL_AMN: {
        **PAIR_SETTINGS,
        "dim": 64,
        "batch_size": 1024,
        "learning_rate": 0.02,
        "lr_decay": 0.93,
        "n_negatives": None,
        "dropout": 0.3,
        "max_epochs": 40,
        "validate_every": 2,
        "rival": RivalSettings(loss=RivalLoss.HARD, layers=2),
    },
}
"""What differs from the settings of the space in entity alignment."""


def rival_settings(rival: Rival, task: Task, size: GraphSize) -> TrainingSettings:
    """Return the settings of a rival for a graph, or two, of some size."""
    if task is Task.ENTITY_ALIGNMENT:
        single = replace(ALIGNMENT.walk, length=1, paths_per_triplet=1)
        base = replace(ALIGNMENT, walk=single, max_norm=None, gradient_norm=None, batch_size=2048)
        base = replace(base, dim=default_settings(task, size).dim)
        settings = replace(base, **PAIRS[rival])
        if rival is Rival.DUAL_AMN:
            settings = replace(settings, batch_size=fitting_batch(size, settings.batch_size))
        return shorten_steps(settings, size) if rival in (*SINGLE, Rival.BOOTEA) else settings
    metric = Metric.AUC_PR if size.has_answers else Metric.MRR
    n3 = default_settings(task, replace(size, has_answers=False)).n3
    settings = replace(replace(LINK_PREDICTION, metric=metric, n3=n3), **LINKS[rival])
    if rival in SINGLE:
        settings = fit(settings, size, is_distance=rival in DISTANCES)
    most = 16 * max(1, MOST_NUMBERS // (16 * max(1, size.n_entities)))
    return replace(settings, dim=min(settings.dim, most))


def fitting_batch(size: GraphSize, most: int) -> int:
    """Return a batch that an epoch has several of, also where few pairs are known."""
    return min(most, max(LEAST_PAIRS, 16 * math.ceil(size.n_pairs / N_BATCHES / 16)))


def fit(settings: TrainingSettings, size: GraphSize, *, is_distance: bool) -> TrainingSettings:
    """Return settings of many entities and few triplets as they are for a graph of some size.

    The dimension grows with the root of the entities, from an eighth of it at 250 or fewer. Where
    there are more triplets, an epoch has more steps of Adam, and they are shorter.
    """
    share = min(1.0, max(250, size.n_entities) ** 0.5 / 16_000**0.5)
    rate = settings.learning_rate / share if is_distance else settings.learning_rate
    settings = replace(settings, dim=16 * round(share * settings.dim / 16), learning_rate=rate)
    return shorten_steps(settings, size) if settings.optimizer is Optimizer.ADAM else settings


def shorten_steps(settings: TrainingSettings, size: GraphSize) -> TrainingSettings:
    """Return settings of few triplets as they are for a graph, or two, with so many."""
    rate = settings.learning_rate * min(1.0, FEW_TRIPLETS / max(1, size.n_triplets)) ** 0.6
    return replace(settings, learning_rate=float(f"{rate:.2g}"))
