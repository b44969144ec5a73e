import numpy as np
import torch
from torch.nn import functional

from interstellar.rivals.gcn_align import GCNAlign, weigh_neighbours
from tests.rivals.small_networks import SIZE, TRIPLETS, vectors


def test_a_relation_with_few_objects_for_its_triplets_tells_objects_little() -> None:
    triplets = np.array([[0, 0, 3], [1, 0, 3], [2, 0, 3], [2, 0, 4]], dtype=np.int32)

    weights = weigh_neighbours(triplets, 5).toarray()

    fun, ifun = 3 / 4, 2 / 4
    np.testing.assert_allclose(weights[[0, 1, 2, 2], [3, 3, 3, 4]], ifun**0.5)
    np.testing.assert_allclose(weights[[3, 3, 3, 4], [0, 1, 2, 2]], fun**0.5)
    assert np.count_nonzero(weights) == 8


@torch.no_grad()
def test_layers_are_the_equation_with_whole_matrices() -> None:
    x = vectors(SIZE.n_entities, SIZE.dim)
    encoder = GCNAlign(TRIPLETS, SIZE.n_entities, n_layers=2, dropout=0.0)

    with_loops = weigh_neighbours(TRIPLETS, SIZE.n_entities).toarray() + np.eye(SIZE.n_entities)
    scale = with_loops.sum(axis=0) ** -0.5
    step = torch.from_numpy(scale[:, None] * with_loops.T * scale).float()
    expected = step @ (step @ functional.normalize(x)).relu()

    torch.testing.assert_close(encoder.encode_entities(x, None), expected)
