"""Networks of single triplets: they learn, and go on where they were."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import interstellar as ist
from interstellar.data.graph import Task
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.catalogue import Rival, rivals_for
from interstellar.rivals.triplet_network import TripletNetwork, cubes, drop
from tests.rivals.test_score import LOSSES, SINGLE, build

SMALL: Any = {"dim": 8, "epochs": 4, "progress": False}


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve places in a circle."""
    path = tmp_path_factory.mktemp("circle") / "circle.tsv"
    lines = [
        f"{i}\t{name}\t{(i + step) % 12}\n"
        for name, step in (("one", 1), ("two", 2), ("back", 11))
        for i in range(12)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("rival", SINGLE)
def test_a_line_of_places_is_learnt(rival: Rival) -> None:
    """Relation 0 leads one place on, 1 two places; 2 and 3 lead back."""
    forward = [(i, step - 1, i + step) for step in (1, 2) for i in range(10 - step)]
    triplets = torch.tensor([*forward, *((o, r + 2, s) for s, r, o in forward)])
    size = NetworkSize(n_entities=10, n_relations=2, dim=16)
    network = TripletNetwork(rival, build(rival, size), size, replace(LOSSES, dropout=0.0))
    generator = torch.Generator().manual_seed(0)
    network.initialise(generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)

    for _ in range(120):
        optimizer.zero_grad()
        network.loss(triplets, generator).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    answers = network.logits(triplets[:, 0], triplets[:, 1]).argmax(dim=1)
    assert torch.equal(answers, triplets[:, 2])


@pytest.mark.parametrize("rival", [Rival.TUCKER, Rival.CONVE, Rival.TRANSD])
def test_who_goes_on_ends_with_the_weights_and_statistics_of_who_never_stopped(
    rival: Rival, circle: Path, tmp_path: Path
) -> None:
    ist.train(circle, rival, out=tmp_path / "whole", **SMALL)
    ist.train(circle, rival, out=tmp_path / "halves", **(SMALL | {"epochs": 2}))
    ist.train(circle, rival, out=tmp_path / "halves", resume=True, **SMALL)

    whole, halves = (load_file(tmp_path / x / "state.safetensors") for x in ("whole", "halves"))

    assert torch.equal(whole["parameters"], halves["parameters"])


def test_dropped_numbers_are_zero_and_the_others_larger() -> None:
    found = drop(torch.ones(1000), 0.25, torch.Generator().manual_seed(0))

    assert sorted(set(found.tolist())) == pytest.approx([0, 4 / 3])
    assert 150 < int((found == 0).sum()) < 350
    assert drop(torch.ones(3), 0.25, None).tolist() == [1, 1, 1]


def test_n3_adds_up_cubes() -> None:
    assert cubes(torch.tensor([[1.0, -2.0, 0.5]])).item() == 1 + 8 + 0.125


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize(
    ("data", "rival"),
    [
        *(("synthetic:entities=60", rival) for rival in rivals_for(Task.LINK_PREDICTION)),
        *(("synthetic-alignment:entities=60", r) for r in (Rival.BOOTEA, Rival.TRANSD)),
    ],
)
def test_captured_steps_on_a_card_learn_too(data: str, rival: Rival) -> None:
    first, *_, last = losses_of(data, rival, "cuda")

    assert last < first


def losses_of(data: str, rival: Rival, device: str) -> list[float]:
    """Return the loss of each epoch of a training."""
    model = ist.train(data, rival, dim=16, epochs=12, device=device, progress=False)
    lines = (model.path / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [event["loss"] for event in map(json.loads, lines) if "loss" in event]
