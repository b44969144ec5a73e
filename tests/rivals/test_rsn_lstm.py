"""RSN as its authors built it, against its formulas written out place by place."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.model.path_network import NetworkSize
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.rsn_lstm import EPSILON, LstmLayer, SkippingNetwork
from interstellar.rivals.triplet_network import TripletLosses
from interstellar.training.optimizers import FlatParameters
from interstellar.training.presets import LINK_PREDICTION
from interstellar.training.rival_step import ready_rival_step

DIM, N_ENTITIES, N_RELATIONS = 4, 9, 2
LOSSES = TripletLosses(
    loss=RivalLoss.SOFTMAX, margin=1.0, n_negatives=None, label_smoothing=0.0, dropout=0.0, n3=0.0
)


def build(n_entities: int = N_ENTITIES, dim: int = DIM, **changes: Any) -> SkippingNetwork:
    size = NetworkSize(n_entities=n_entities, n_relations=N_RELATIONS, dim=dim)
    network = SkippingNetwork(size, replace(LOSSES, **changes), 2)
    network.initialise(torch.Generator().manual_seed(1))
    return network


def paths_of(n: int = 12, length: int = 3) -> Tensor:
    """Return random rows e_0, r_1, e_1, …"""
    generator = torch.Generator().manual_seed(2)
    row = torch.empty(n, 2 * length + 1, dtype=torch.long)
    row[:, 0::2] = torch.randint(N_ENTITIES, (n, length + 1), generator=generator)
    row[:, 1::2] = torch.randint(2 * N_RELATIONS, (n, length), generator=generator)
    return row


def loss_of(network: SkippingNetwork, paths: Tensor) -> Tensor:
    return network.loss(paths, torch.Generator().manual_seed(0))


def normalise(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    variance, mean = torch.var_mean(x, dim=0, correction=0)
    return (x - mean) / (variance + EPSILON).sqrt() * scale + shift


def step_of(layer: LstmLayer, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    W, U = layer.W.view(4, DIM, DIM), layer.U.view(4, DIM, DIM)
    i, f, o, z = (x @ W[k].T + h @ U[k].T + layer.b[k] for k in range(4))
    c = f.sigmoid() * c + i.sigmoid() * z
    return o.sigmoid() * c, c


def loss_by_formula(network: SkippingNetwork, paths: Tensor) -> Tensor:
    in_scale, in_shift, out_scale, out_shift = network.affine
    nothing = torch.zeros(len(paths), DIM, dtype=network.affine.dtype)
    states = [(nothing, nothing), (nothing, nothing)]
    loss, previous = torch.zeros((), dtype=network.affine.dtype), nothing
    for t in range(paths.shape[1] - 1):
        table = network.relations if t % 2 else network.entities
        x = h = normalise(table[paths[:, t]], in_scale, in_shift)
        for number, layer in enumerate(network.layers):
            assert isinstance(layer, LstmLayer)
            states[number] = step_of(layer, h, *states[number])
            h = states[number][0]
        v = h @ network.S_1.T + previous @ network.S_2.T if t % 2 else h
        v = normalise(v, out_scale, out_shift)
        answers, bias = (
            (network.next_entities, network.entity_bias)
            if t % 2
            else (network.next_relations, network.relation_bias)
        )
        log_p = torch.log_softmax(v @ answers.T + bias, dim=1)
        loss = loss - log_p[torch.arange(len(paths)), paths[:, t + 1]].sum()
        previous = x
    return loss


def test_a_path_costs_what_the_formulas_say_in_values_and_gradients() -> None:
    network, paths = build().double(), paths_of()
    with torch.no_grad():  # nothing is left at 0 or 1
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, dtype=torch.float64))
    trained = [p for p in network.parameters() if p.requires_grad]

    loss, expected = loss_of(network, paths), loss_by_formula(network, paths)

    torch.testing.assert_close(loss, expected)
    pairs = (torch.autograd.grad(each, trained) for each in (loss, expected))
    for gradient, wanted in zip(*pairs, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_a_triplet_is_answered_as_the_first_step_of_a_path_is_learnt() -> None:
    network, paths = build(), paths_of(400, 1)
    with torch.no_grad():
        network.next_relations.zero_()  # what each relation costs is log 2 n_relations
    for _ in range(80):  # until the running means and variances are those of the paths
        loss = loss_of(network, paths)

    logits = network.logits(paths[:, 0], paths[:, 1])

    of_entities = functional.cross_entropy(logits, paths[:, 2], reduction="sum").item()
    of_relations = len(paths) * math.log(2 * N_RELATIONS)
    assert of_entities + of_relations == pytest.approx(loss.item(), rel=1e-3)


def test_other_numbers_of_the_entities_give_the_same_answers() -> None:
    network, other = build(), build()
    order = torch.randperm(N_ENTITIES, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        for name in ("entities", "next_entities", "entity_bias"):
            getattr(other, name)[order] = getattr(network, name)
    ids, relation_ids = torch.arange(4), torch.tensor([0, 1, 2, 3])

    renumbered = other.logits(order[ids], relation_ids)

    torch.testing.assert_close(renumbered[:, order], network.logits(ids, relation_ids))


def test_every_setting_of_the_loss_is_obeyed() -> None:
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"dropout": 0.5},
        {"n3": 0.1},
        {"label_smoothing": 0.1},
        {"n_negatives": 3},
        {"n_negatives": 3, "loss": RivalLoss.SELF_ADVERSARIAL},
        {"n_negatives": 3, "loss": RivalLoss.MARGIN},
        {"n_negatives": 3, "loss": RivalLoss.MARGIN, "margin": 2.0},
    )

    found = {round(loss_of(build(**each), paths_of()).item(), 3) for each in changes}

    assert len(found) == len(changes)


def test_all_entities_drawn_once_cost_what_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = paths_of()
    monkeypatch.setattr(torch, "randint", lambda n, _shape, **_: torch.arange(n))

    drawn = loss_of(build(n_negatives=N_ENTITIES), paths)

    torch.testing.assert_close(drawn, loss_of(build(), paths))


def test_a_ring_is_learnt() -> None:
    n = 12
    network = build(n, dim=16, dropout=0.1)
    ids = torch.arange(n)
    rows = [torch.stack([ids, 0 * ids, (ids + 1) % n, 0 * ids, (ids + 2) % n], 1)]
    rows += [torch.stack([ids, 0 * ids + 2, (ids - 1) % n, 0 * ids + 2, (ids - 2) % n], 1)]
    settings = replace(LINK_PREDICTION, batch_size=24, learning_rate=0.02, gradient_norm=2.0)
    parameters = FlatParameters(network, torch.device("cpu"))
    step, compute = ready_rival_step(network, torch.cat(rows), settings, parameters)

    for epoch in range(60):
        step.begin_epoch(torch.arange(2 * n), 0.02, epoch)
        compute()

    answers = network.logits(ids, torch.zeros(n, dtype=torch.long)).argmax(dim=1)
    assert answers.tolist() == [(i + 1) % n for i in range(n)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_captured_steps_are_those_of_the_cpu() -> None:
    values = []
    for device in (torch.device("cpu"), torch.device("cuda")):
        network = build()
        settings = replace(LINK_PREDICTION, batch_size=12, learning_rate=0.01)
        parameters = FlatParameters(network, device)
        step, compute = ready_rival_step(network, paths_of().to(device), settings, parameters)
        step.begin_epoch(torch.arange(12, device=device), 0.01, 0)
        compute()
        values.append(parameters.values.cpu())

    torch.testing.assert_close(values[0], values[1], rtol=1e-3, atol=1e-3)
