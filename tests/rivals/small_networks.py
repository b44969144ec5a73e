"""A graph small enough to go through edge by edge, and networks of it."""

import numpy as np
import torch

from interstellar.model.path_network import NetworkSize
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_network import TripletLosses

SIZE = NetworkSize(n_entities=5, n_relations=2, dim=4)
TRIPLETS = np.array(
    [[0, 0, 1], [0, 1, 1], [1, 0, 2], [3, 1, 2], [2, 1, 0], [3, 0, 3]], dtype=np.int32
)
"""Entity 4 has no edge; 0 and 1 have two; 3 has a loop."""


def losses(
    loss: RivalLoss = RivalLoss.MARGIN,
    *,
    n_negatives: int | None = 2,
    dropout: float = 0.0,
    n3: float = 0.0,
) -> TripletLosses:
    return TripletLosses(
        loss=loss,
        margin=1.0,
        n_negatives=n_negatives,
        label_smoothing=0.0,
        dropout=dropout,
        n3=n3,
    )


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def vectors(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(seed))
