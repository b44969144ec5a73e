from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from interstellar.data.graph import Task
from interstellar.errors import SettingsError
from interstellar.rivals.among_rows import hard_loss
from interstellar.rivals.building import OF_PAIRS as OF_PAIRS_ALONE
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.gcn_align import GCNAlign
from interstellar.rivals.pair_network import PairNetwork
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_network import TripletLosses
from interstellar.runs.experiment import Experiment
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.tasks.splits import Split
from interstellar.training.defaults import GraphSize
from interstellar.training.rival_defaults import rival_settings
from tests.rivals.small_networks import SIZE, TRIPLETS, losses, seeded

PAIRS = torch.tensor([[0, 3], [1, 4]])
CPU = torch.device("cpu")
OF_PAIRS = pytest.mark.parametrize("rival", [Rival.R_GCN, *OF_PAIRS_ALONE])


def small_experiment(rival: Rival, n_epochs: int, n_entities: int = 60) -> Experiment:
    size = GraphSize(n_entities=2 * n_entities, n_triplets=10 * n_entities)
    settings = rival_settings(rival, Task.ENTITY_ALIGNMENT, size)
    return Experiment(
        data=f"synthetic-alignment:entities={n_entities}",
        architecture=rival,
        seed=0,
        settings=replace(settings, dim=32, max_epochs=n_epochs, validate_every=2),
    )


def small_network(told: TripletLosses) -> PairNetwork:
    encoder = GCNAlign(TRIPLETS, SIZE.n_entities, n_layers=1, dropout=told.dropout)
    network = PairNetwork("GCN-Align", encoder, SIZE, told, n_source=3)
    network.initialise(seeded())
    return network


def test_among_all_entities_the_loss_is_the_mean_of_margins_both_ways() -> None:
    network = small_network(losses(n_negatives=None))
    x, expected = network.subjects, 0.0
    for pair in PAIRS.tolist():
        own = (x[pair[0]] - x[pair[1]]).abs().sum()
        for anchor, partner in (pair, pair[::-1]):
            wrong = [i for i in range(SIZE.n_entities) if i != partner]
            costs = (1 + own - (x[anchor] - x[wrong]).abs().sum(dim=1)).relu()
            expected = expected + costs.sum().item() / SIZE.n_entities / 2

    loss = network.loss(PAIRS, seeded())

    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_drawn_wrong_partners_cost_as_all_do_on_average() -> None:
    few, every = small_network(losses(n_negatives=3)), small_network(losses(n_negatives=None))
    generator = seeded()

    mean = sum(few.loss(PAIRS, generator).item() for _ in range(600)) / 600

    assert mean == pytest.approx(every.loss(PAIRS, generator).item(), rel=0.05)


@pytest.mark.parametrize("loss", RivalLoss)
def test_known_pairs_come_nearer_with_every_loss(loss: RivalLoss) -> None:
    n_negatives = None if loss is RivalLoss.HARD else 4
    network, generator = small_network(losses(loss, n_negatives=n_negatives)), seeded()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)

    def distance() -> float:
        x = network.subjects
        return (x[PAIRS[:, 0]] - x[PAIRS[:, 1]]).abs().sum().item()

    before = distance()
    for _ in range(60):
        optimizer.zero_grad()
        network.loss(PAIRS, generator).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    assert distance() < before / 2


def test_the_loss_of_hard_ones_compares_with_the_other_graph_alone() -> None:
    network = small_network(losses(RivalLoss.HARD, n_negatives=None))
    x = network.subjects

    loss = network.loss(PAIRS, seeded())

    expected = 0.0
    for pair in PAIRS.tolist():
        for anchor, partner in (pair, pair[::-1]):
            others = range(3) if partner < 3 else range(3, 5)
            logits = -(x[anchor] - x[others]).square().sum(dim=1, keepdim=True).T
            costs, _ = hard_loss(logits, torch.tensor([partner - others[0]]))
            expected += costs.item() / 2
    assert loss.item() == pytest.approx(expected, rel=1e-4)


def test_queries_of_triplets_are_refused_with_advice() -> None:
    network = small_network(losses())

    with pytest.raises(SettingsError, match="Align with it"):
        network.logits(torch.tensor([0]), torch.tensor([0]))


def test_settings_that_pairs_do_not_have_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"n3 is 0\.1"):
        small_network(losses(n3=0.1))


@OF_PAIRS
def test_a_training_that_goes_on_ends_with_the_weights_of_one_that_never_stopped(
    rival: Rival, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"

    train_run(small_experiment(rival, 4), whole, device=CPU)
    train_run(small_experiment(rival, 2), parts, device=CPU)
    train_run(small_experiment(rival, 4), parts, device=CPU, resume=True)

    assert (whole / "weights.safetensors").read_bytes() == (
        parts / "weights.safetensors"
    ).read_bytes()
    states = [load_file(run / "state.safetensors") for run in (whole, parts)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())


@OF_PAIRS
def test_partners_are_found_that_no_known_pair_names(rival: Rival, tmp_path: Path) -> None:
    result = train_run(small_experiment(rival, 60, 250), tmp_path / "run", device=CPU)

    by_chance = 0.035
    metrics = result["metrics"]["test"]
    assert metrics is not None
    assert metrics["mrr"] > 3 * by_chance


def test_a_run_opens_with_the_vectors_that_it_was_measured_with(tmp_path: Path) -> None:
    result = train_run(small_experiment(Rival.VR_GCN, 2), tmp_path / "run", device=CPU)

    opened = open_run(tmp_path / "run", device=CPU)

    measured = opened.task.measure(opened.network, Split.TEST).as_dict()
    assert measured == result["metrics"]["test"]


def test_all_entities_are_compared_without_a_vector_of_each_for_each_pair() -> None:
    every, few = (small_network(losses(n_negatives=n)) for n in (None, 3))

    assert every.numbers_a_row == SIZE.n_entities
    assert few.numbers_a_row == 3 * SIZE.dim


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@OF_PAIRS
def test_captured_steps_on_a_card_find_partners_too(rival: Rival, tmp_path: Path) -> None:
    device = torch.device("cuda")

    result = train_run(small_experiment(rival, 60, 250), tmp_path / "run", device=device)

    metrics = result["metrics"]["test"]
    assert metrics is not None
    assert metrics["mrr"] > 0.1
