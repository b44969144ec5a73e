import torch
from torch import Tensor
from torch.nn import functional

from interstellar.rivals.comp_gcn import CompGCN
from tests.rivals.small_networks import SIZE, TRIPLETS, seeded, vectors


def small_encoder(n_layers: int = 2, dropout: float = 0.0) -> CompGCN:
    encoder = CompGCN(TRIPLETS, SIZE, n_layers=n_layers, dropout=dropout)
    with torch.no_grad():
        encoder.initialise(seeded())
    return encoder


def literal_layer(encoder: CompGCN, layer: int, x: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    w_out, w_in, w_self, w_rel = encoder.by_layer()[layer]
    n_out = [int((TRIPLETS[:, 0] == v).sum()) for v in range(SIZE.n_entities)]
    n_in = [int((TRIPLETS[:, 2] == v).sum()) for v in range(SIZE.n_entities)]
    z = (x * encoder.self_relations[layer]) @ w_self
    for s, relation, o in TRIPLETS:
        share = (n_out[s] * n_in[o]) ** -0.5
        z[o] = z[o] + share * (x[s] * r[relation]) @ w_out
        z[s] = z[s] + share * (x[o] * r[relation + SIZE.n_relations]) @ w_in
    scaled = functional.batch_norm(
        z / 3, None, None, encoder.scale[layer], encoder.shift[layer], training=True
    )
    return scaled.tanh(), r @ w_rel


@torch.no_grad()
def test_layers_are_the_equation_edge_by_edge() -> None:
    encoder = small_encoder()
    x, r = vectors(SIZE.n_entities, SIZE.dim), vectors(2 * SIZE.n_relations, SIZE.dim, seed=2)

    expected = literal_layer(encoder, 1, *literal_layer(encoder, 0, x, r))

    for found, wanted in zip(encoder.encode(x, r, None), expected, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_numbers_are_dropped_in_training_only() -> None:
    encoder = small_encoder(1, dropout=0.5)
    x, r = vectors(SIZE.n_entities, SIZE.dim), vectors(2 * SIZE.n_relations, SIZE.dim)

    asked = [encoder.encode(x, r, None)[0] for _ in range(2)]
    trained = encoder.encode(x, r, seeded())[0]

    assert torch.equal(*asked)
    assert not torch.allclose(trained, asked[0])
