import numpy as np
import torch
from torch import Tensor

from interstellar.data.triplets import with_inverses
from interstellar.rivals.r_gcn import N_BASES, RGCN
from tests.rivals.small_networks import SIZE, TRIPLETS, seeded, vectors


def small_encoder(n_layers: int = 2, dropout: float = 0.0) -> RGCN:
    encoder = RGCN(TRIPLETS, SIZE, n_layers=n_layers, dropout=dropout)
    with torch.no_grad():
        encoder.initialise(seeded())
    return encoder


def literal_layer(encoder: RGCN, layer: int, x: Tensor) -> Tensor:
    """Return the equation with a matrix W_r of each relation, neighbour by neighbour."""
    edges = with_inverses(TRIPLETS, SIZE.n_relations)
    matrices = encoder.matrices.view(-1, 1 + N_BASES, SIZE.dim, SIZE.dim)[layer]
    own, bases = matrices[0], matrices[1:]
    a = encoder.coefficients.view(2 * SIZE.n_relations, -1, N_BASES)[:, layer]
    result = x @ own
    for target in range(SIZE.n_entities):
        arriving = edges[edges[:, 2] == target]
        for source, relation, _ in arriving:
            w_r = sum(a[relation, b] * bases[b] for b in range(N_BASES))
            result[target] = result[target] + x[source] @ w_r / len(arriving)
    return result


@torch.no_grad()
def test_layers_are_the_equation_with_a_matrix_of_each_relation() -> None:
    encoder, x = small_encoder(), vectors(SIZE.n_entities, SIZE.dim)

    expected = literal_layer(encoder, 1, literal_layer(encoder, 0, x).relu())

    torch.testing.assert_close(encoder.encode_entities(x, None), expected)


@torch.no_grad()
def test_relations_are_left_as_they_are() -> None:
    x, r = vectors(SIZE.n_entities, SIZE.dim), vectors(2 * SIZE.n_relations, SIZE.dim)

    _, relations = small_encoder().encode(x, r, None)

    assert relations is r


@torch.no_grad()
def test_dropped_edges_leave_the_mean_of_an_encoding() -> None:
    encoder, x, generator = small_encoder(1, dropout=0.4), vectors(5, 4), seeded()

    drawn = torch.stack([encoder.encode_entities(x, generator) for _ in range(4000)])

    assert drawn.std(dim=0).amin() > 0.05
    torch.testing.assert_close(
        drawn.mean(dim=0), encoder.encode_entities(x, None), atol=0.15, rtol=0
    )


@torch.no_grad()
def test_entities_in_another_order_have_the_same_vectors_in_that_order() -> None:
    encoder, x = small_encoder(), vectors(SIZE.n_entities, SIZE.dim)
    order = np.array([3, 0, 4, 1, 2])
    place = np.argsort(order).astype(np.int32)
    renamed = TRIPLETS.copy()
    renamed[:, [0, 2]] = place[TRIPLETS[:, [0, 2]]]

    other = RGCN(renamed, SIZE, n_layers=2, dropout=0.0)
    other.load_state_dict(encoder.state_dict())

    torch.testing.assert_close(
        other.encode_entities(x[order], None), encoder.encode_entities(x, None)[order]
    )
