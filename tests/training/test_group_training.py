"""Training together: each member as it would be alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import ZERO_OUTPUT
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.model.network_group import NetworkGroup
from interstellar.model.path_network import NetworkSize, PathNetwork
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.group_step import GroupStep
from interstellar.training.group_training import (
    GroupMember,
    can_train_together,
    train_together,
)
from interstellar.training.loop import Training
from interstellar.training.presets import default_settings
from interstellar.training.settings import Metric, Precision, TrainingSettings
from tests.training.test_loop import Quiet
from tests.training.test_step import ONE_WAY, TWO_WAY

CPU = torch.device("cpu")
SETTINGS = replace(
    default_settings("link-prediction", "geography-S3"),
    dim=8,
    batch_size=512,
    max_epochs=3,
    validate_every=1,
    metric=Metric.MRR,
    precision=Precision.FLOAT32,
)

pytestmark = pytest.mark.slow
SIZE = NetworkSize(n_entities=300, n_relations=2, dim=8)


@cache
def geography() -> tuple[Task, Tensor]:
    task = task_for(interstellar.load("geography-S3"))
    table = sample_paths(WalkGraph.of(task.graph), SETTINGS.walk, seed=0, device=CPU)
    return task, torch.from_numpy(table.array)


def draw_architectures(n: int, *, seed: int = 0) -> list[Architecture]:
    rng = np.random.default_rng(seed)
    return [SearchSpace().sample(rng) for _ in range(n)]


def measure_valid(network: PathNetwork) -> dict[str, float]:
    return geography()[0].measure(network, Split.VALID).as_dict()


class Recording:
    """Measures a network, and keeps what it looked like at each validation."""

    def __init__(self, *scores: float) -> None:
        """Give scores for networks to earn, one after the other; none: measure them."""
        self._scores = scores
        self.seen: dict[Architecture, list[dict[str, Tensor]]] = {}

    def __call__(self, network: PathNetwork) -> dict[str, float]:
        seen = self.seen.setdefault(network.cell.architecture, [])
        seen.append({name: p.detach().cpu().clone() for name, p in network.named_parameters()})
        return {"mrr": self._scores[len(seen) - 1]} if self._scores else measure_valid(network)


def build_for(settings: TrainingSettings) -> Callable[[Architecture], PathNetwork]:
    task, _ = geography()
    return lambda a: build_network(task, a, dim=settings.dim, dropout=settings.dropout)


def together(
    architectures: list[Architecture],
    settings: TrainingSettings = SETTINGS,
    *,
    device: torch.device = CPU,
    **others: Any,
) -> list[GroupMember]:
    _, paths = geography()
    arguments: dict[str, Any] = {"build": build_for(settings), "measure": measure_valid}
    return train_together(architectures, paths.to(device), settings, seed=1, **(arguments | others))


def alone(
    architecture: Architecture,
    settings: TrainingSettings = SETTINGS,
    *,
    device: torch.device = CPU,
    measure: Callable[[PathNetwork], dict[str, float]] = measure_valid,
) -> Training:
    network = build_for(settings)(architecture)
    paths = geography()[1].to(device)
    training = Training(network, paths, settings, seed=1, measure=measure)
    training.run(Quiet())
    return training


def assert_same(found: Recording, expected: Recording, *, tolerance: float) -> None:
    """Every validated epoch of every network has the same tables."""
    assert found.seen.keys() == expected.seen.keys()
    for architecture, epochs in found.seen.items():
        for ours, theirs in zip(epochs, expected.seen[architecture], strict=True):
            for name in ("entities", "relations"):
                torch.testing.assert_close(ours[name], theirs[name], rtol=0, atol=tolerance)


def test_members_of_a_diverse_group_are_what_they_are_alone() -> None:
    architectures = [*draw_architectures(4), LITERATURE["TransE"], LITERATURE["RSN"]]
    found, expected = Recording(), Recording()

    members = together(architectures, measure=found)

    for member, architecture in zip(members, architectures, strict=True):
        progress = alone(architecture, measure=expected).progress
        assert member.architecture == architecture
        assert member.failure is None
        assert member.n_epochs == progress.n_epochs == len(member.curve)
        assert member.score == max(member.curve)
        # Logits that differ by rounding alone change places, and ranks with them.
        assert member.score == pytest.approx(progress.best_score, abs=0.01)
    assert_same(found, expected, tolerance=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{"dropout": 0.3}, {"weight_decay": 0.01}, {"gradient_norm": 5.0}, {"validate_every": 2}],
    ids=lambda changes: next(iter(changes)),
)
def test_every_setting_acts_as_it_does_alone(changes: dict[str, Any]) -> None:
    settings = replace(SETTINGS, **changes)
    architectures = draw_architectures(3, seed=5)
    found, expected = Recording(), Recording()

    together(architectures, settings, measure=found)
    for architecture in architectures:
        alone(architecture, settings, measure=expected)

    assert_same(found, expected, tolerance=1e-5)


def test_a_member_stops_early_and_knows_its_best_epoch_as_it_does_alone() -> None:
    settings = replace(SETTINGS, patience=2, max_epochs=6)
    [architecture] = draw_architectures(1)
    scores = (0.1, 0.3, 0.3, 0.2, 0.5, 0.6)

    [member] = together([architecture], settings, measure=Recording(*scores))

    progress = alone(architecture, settings, measure=Recording(*scores)).progress
    assert (member.n_epochs, member.best_epoch) == (progress.n_epochs, progress.best_epoch)
    assert (member.n_epochs, member.best_epoch, member.score) == (4, 3, 0.3)
    assert member.curve == [0.1, 0.3, 0.3, 0.2]
    assert member.valid == {"mrr": 0.3}


def test_a_member_that_explodes_is_given_up_and_disturbs_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    architectures = draw_architectures(4, seed=2)
    expected = together(architectures)
    copy_from = NetworkGroup.copy_from

    def poison(group: NetworkGroup, networks: list[PathNetwork]) -> None:
        copy_from(group, networks)
        group.values[2, 5] = torch.nan

    monkeypatch.setattr(NetworkGroup, "copy_from", poison)

    members = together(architectures)

    assert members[2].score is None
    assert members[2].n_epochs == 0
    assert members[2].curve == []
    assert "not a finite number at step" in str(members[2].failure)
    assert (members[2].valid, members[2].best_epoch) == ({}, 0)
    assert "of epoch 1" in str(members[2].failure)
    assert [m for k, m in enumerate(members) if k != 2] == expected[:2] + expected[3:]


def test_parameters_that_became_infinite_in_the_last_step_are_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    update = GroupStep.update

    def spoil(step: GroupStep, factor: float) -> None:
        update(step, factor)
        if step.moments.n_updates == 2 * step.n_steps:
            step.group.values[0, 0] = torch.inf

    monkeypatch.setattr(GroupStep, "update", spoil)

    spoilt, sound = together(draw_architectures(2))

    assert "of epoch 2" in str(spoilt.failure)
    assert (spoilt.n_epochs, len(spoilt.curve)) == (1, 1)
    assert sound.failure is None


def test_a_member_is_ended_when_it_is_asked_for_and_the_others_go_on() -> None:
    architectures = draw_architectures(4, seed=3)
    asked: list[tuple[int, int]] = []

    def stop_all_but_one(number: int, curve: list[float]) -> bool:
        asked.append((number, len(curve)))
        return number != 1

    found, expected = Recording(), Recording()
    members = together(architectures, should_stop=stop_all_but_one, measure=found)

    alone(architectures[1], measure=expected)
    assert [member.n_epochs for member in members] == [1, 3, 1, 1]
    assert asked == [(0, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)]
    found.seen = {architectures[1]: found.seen[architectures[1]]}
    assert_same(found, expected, tolerance=1e-5)


def test_each_validation_is_told_with_the_members_that_are_left() -> None:
    told: list[tuple[int, int]] = []

    together(
        draw_architectures(3),
        replace(SETTINGS, max_epochs=5, validate_every=2),
        should_stop=lambda number, _: number == 0,
        on_epoch=lambda epoch, n_active: told.append((epoch, n_active)),
    )

    assert told == [(2, 2), (4, 2), (5, 2)]


def test_when_all_are_over_nothing_more_is_trained() -> None:
    told: list[int] = []

    members = together(
        draw_architectures(2),
        should_stop=lambda *_: True,
        on_epoch=lambda epoch, _: told.append(epoch),
    )

    assert told == [1]
    assert [member.n_epochs for member in members] == [1, 1]


def test_networks_whose_output_is_always_zero_can_be_trained() -> None:
    found, expected = Recording(), Recording()

    together([ZERO_OUTPUT], measure=found)
    alone(ZERO_OUTPUT, measure=expected)

    assert_same(found, expected, tolerance=1e-5)


def test_nobody_is_trained_in_no_time() -> None:
    assert together([]) == []


@pytest.mark.parametrize(
    ("changes", "can"),
    [
        ({}, True),
        ({"dropout": 0.5}, True),
        ({"precision": Precision.AUTO}, True),
        ({"precision": Precision.MIXED}, False),
        ({"n_negatives": 10}, False),
        ({"batch_size": 100_000}, False),
    ],
)
def test_what_can_be_trained_together(changes: dict[str, Any], can: bool) -> None:
    assert can_train_together(replace(SETTINGS, **changes), TWO_WAY, SIZE) is can


def test_alignment_cannot_be_trained_together() -> None:
    assert not can_train_together(SETTINGS, ONE_WAY, SIZE)


def test_what_cannot_be_trained_together_is_refused() -> None:
    with pytest.raises(SettingsError, match="Train one by one"):
        together(draw_architectures(1), replace(SETTINGS, n_negatives=3))


def test_a_metric_that_is_not_measured_is_refused() -> None:
    with pytest.raises(SettingsError, match="metric is mrr, but on this data there are n only"):
        together(draw_architectures(1), measure=lambda _: {"n": 1.0})


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_on_cuda_a_group_is_what_its_members_are_alone(dropout: float) -> None:
    settings = replace(SETTINGS, dropout=dropout, max_epochs=2)
    architectures = draw_architectures(12)
    found, expected = Recording(), Recording()
    cuda = torch.device("cuda")

    together(architectures, settings, device=cuda, measure=found)
    for architecture in architectures:
        alone(architecture, settings, device=cuda, measure=expected)

    assert_same(found, expected, tolerance=1e-3)
