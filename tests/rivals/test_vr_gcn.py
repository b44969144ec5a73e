import torch
from torch import Tensor

from interstellar.rivals.vr_gcn import VRGCN
from tests.rivals.small_networks import SIZE, TRIPLETS, seeded, vectors


def literal_layer(encoder: VRGCN, layer: int, x: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    w, u = encoder.matrices.view(-1, 2, SIZE.dim, SIZE.dim)[layer]
    z, n = x.clone(), torch.ones(len(x))
    for s, relation, o in TRIPLETS:
        z[s] = z[s] + x[o] - r[relation]
        z[o] = z[o] + x[s] + r[relation]
        n[s] += 1
        n[o] += 1
    return z / n.unsqueeze(1) @ w, r @ u


@torch.no_grad()
def test_layers_are_the_equation_triplet_by_triplet() -> None:
    encoder, x = VRGCN(TRIPLETS, SIZE, n_layers=2, dropout=0.0), vectors(5, 4)
    encoder.initialise(seeded())

    first, r = literal_layer(encoder, 0, x, encoder.relations)
    expected, _ = literal_layer(encoder, 1, first.relu(), r)

    torch.testing.assert_close(encoder.encode_entities(x, None), expected)
