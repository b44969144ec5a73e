import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.data.triplets import with_inverses
from interstellar.rivals.dual_amn import DualAMN, past_proxies
from tests.rivals.small_networks import SIZE, TRIPLETS, seeded, vectors


def small_encoder(n_layers: int = 2, dropout: float = 0.0) -> DualAMN:
    encoder = DualAMN(TRIPLETS, SIZE, n_layers=n_layers, dropout=dropout)
    with torch.no_grad():
        encoder.initialise(seeded())
        encoder.shift.normal_(generator=seeded(3))
    return encoder


def edges_to(entity: int) -> list[tuple[int, int]]:
    both = with_inverses(TRIPLETS, SIZE.n_relations)
    return [(s, r) for s, r, o in both.tolist() if o == entity]


def literal_layers(x: Tensor, r: Tensor, attention: Tensor) -> Tensor:
    """One entity and one edge after another, each mirrored by a matrix."""
    states = [x]
    for a in attention:
        rows = []
        for entity in range(SIZE.n_entities):
            near = edges_to(entity)
            shares = torch.tensor([(a @ r[relation]).item() for _, relation in near]).softmax(0)
            total = torch.zeros(SIZE.dim)
            for (other, relation), share in zip(near, shares, strict=True):
                mirror = torch.eye(SIZE.dim) - 2 * torch.outer(r[relation], r[relation])
                total += share * (mirror @ x[other])
            rows.append(total.tanh())
        x = torch.stack(rows)
        states.append(x)
    return torch.cat(states, dim=1)


@torch.no_grad()
def test_layers_are_the_equation_edge_by_edge() -> None:
    encoder, x = small_encoder(), vectors(SIZE.n_entities, SIZE.dim)
    r, attention = functional.normalize(encoder.relations), encoder.attention[:2]

    torch.testing.assert_close(
        encoder.along_edges(x, r, attention), literal_layers(x, r, attention)
    )


@torch.no_grad()
def test_halves_begin_with_the_means_of_entities_and_of_relations() -> None:
    encoder, x = small_encoder(), vectors(SIZE.n_entities, SIZE.dim)
    n, dim = SIZE.n_entities, SIZE.dim

    means = torch.zeros(2, n, dim)
    for entity in range(n):
        near = edges_to(entity)
        means[0, entity] = torch.stack([x[entity], *(x[other] for other, _ in near)]).mean(dim=0)
        if near:
            means[1, entity] = torch.stack([encoder.relations[r] for _, r in near]).mean(dim=0)

    r = functional.normalize(encoder.relations)
    halves = []
    for i, start in enumerate(means.tanh()):
        h = literal_layers(start, r, encoder.attention[2 * i : 2 * i + 2])
        proxies, gate = (w.chunk(2)[i] for w in (encoder.proxies, encoder.gates))
        beta = torch.softmax(functional.cosine_similarity(h[:, None], proxies[None], dim=-1), 1)
        q = h - torch.stack([sum_of(share, proxies) for share in beta])
        g = torch.sigmoid(q @ gate + encoder.shift[i])
        halves.append(g * h + (1 - g) * q)
    torch.testing.assert_close(encoder.encode_entities(x, None), torch.cat(halves, dim=1))


def sum_of(shares: Tensor, proxies: Tensor) -> Tensor:
    return (shares.unsqueeze(1) * proxies).sum(dim=0)


@torch.no_grad()
def test_a_gate_that_is_open_lets_the_vector_through() -> None:
    h, proxies = vectors(3, 4), vectors(2, 4, seed=2)
    shut, opened = (torch.full((4,), x) for x in (-100.0, 100.0))

    torch.testing.assert_close(past_proxies(h, proxies, torch.zeros(4, 4), opened), h)
    assert not torch.allclose(past_proxies(h, proxies, torch.zeros(4, 4), shut), h)


def test_all_weights_are_learnt() -> None:
    encoder = small_encoder()
    entities = vectors(SIZE.n_entities, SIZE.dim).requires_grad_()

    encoder.encode_entities(entities, None).square().sum().backward()  # type: ignore[no-untyped-call]

    gradients = [entities.grad, *(p.grad for p in encoder.parameters())]
    assert all(each is not None and bool(each.abs().sum() > 0) for each in gradients)


@torch.no_grad()
def test_training_drops_numbers_of_what_comes_out() -> None:
    encoder, x = small_encoder(dropout=0.5), vectors(SIZE.n_entities, SIZE.dim)

    whole, dropped = encoder.encode_entities(x, None), encoder.encode_entities(x, seeded())

    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])


@torch.no_grad()
def test_an_entity_without_triplets_has_a_vector_too() -> None:
    lonely = np.array([[0, 0, 1]], dtype=np.int32)
    encoder = DualAMN(lonely, SIZE, n_layers=1, dropout=0.0)
    encoder.initialise(seeded())

    found = encoder.encode_entities(vectors(SIZE.n_entities, SIZE.dim), None)

    assert bool(found.isfinite().all())
