"""A step that predicts relations too: its formula, what it goes with, and what refuses it."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import LITERATURE, NAMED
from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.model.relation_loss import add_relation_loss
from interstellar.model.shared_cell import SharedCell
from interstellar.runs.training_run import train_run
from interstellar.training import step as step_module
from interstellar.training.optimizers import FlatParameters
from interstellar.training.presets import LINK_PREDICTION
from interstellar.training.ready_step import ready_step
from interstellar.training.step import StepPlan, TrainingStep
from tests.architecture.strategies import architectures
from tests.runs.small_runs import Stop, small_experiment, weights_of
from tests.training.test_step import (
    DIM,
    N_ENTITIES,
    N_RELATIONS,
    ONE_WAY,
    TWO_WAY,
    WHOLE,
    build_network,
    draw_paths,
    gradients_of,
    gradients_of_formula,
    small_settings,
)

CPU = torch.device("cpu")


def build_single(
    architecture: Architecture, plan: StepPlan = WHOLE, *, n_paths: int = 8, **changes: object
) -> TrainingStep:
    """Return a step of link prediction over single triplets."""
    network = build_network(architecture, TWO_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))
    chosen = small_settings(TWO_WAY, changes)  # type: ignore[arg-type]
    step = TrainingStep(network, draw_paths(n_paths)[:, :3], chosen, plan, parameters)
    step.begin_epoch(torch.arange(n_paths), chosen.learning_rate, dropout_seed=0)
    return step


@settings(max_examples=30)
@given(architecture=architectures, n3=st.sampled_from([0.0, 0.5]))
def test_where_relations_are_predicted_they_are_in_the_gradient_and_in_the_loss(
    architecture: Architecture, n3: float
) -> None:
    step = build_single(architecture, n3=n3, label_smoothing=0.1, relation_prediction=0.5)

    expected_loss, expected = gradients_of_formula(step)
    found = gradients_of(step)

    whole = torch.cat([gradient.flatten() for gradient in expected.values()]).norm()
    for name, gradient in found.items():
        assert float((gradient - expected[name]).norm()) < 1e-3 * float(whole) + 1e-6, name
    step.parameters.gradients.zero_()
    step.compute()
    assert step.loss_sum.item() == pytest.approx(expected_loss, rel=1e-3)


def test_predicted_relations_go_with_sampled_entities() -> None:
    plain = build_single(LITERATURE["ComplEx"], n_negatives=5)
    both = build_single(LITERATURE["ComplEx"], n_negatives=5, relation_prediction=2.0)
    without = gradients_of_formula(build_single(LITERATURE["ComplEx"]))[1]
    with_both = gradients_of_formula(build_single(LITERATURE["ComplEx"], relation_prediction=2.0))[
        1
    ]

    sampled, found = gradients_of(plain), gradients_of(both)

    for name, gradient in found.items():
        torch.testing.assert_close(
            (gradient - sampled[name]).double(),
            with_both[name] - without[name],
            rtol=1e-3,
            atol=1e-5,
        )


@settings(max_examples=15)
@given(architecture=architectures, n_parts=st.integers(2, 8))
def test_a_batch_in_parts_predicts_relations_as_the_whole_batch_does(
    architecture: Architecture, n_parts: int
) -> None:
    whole = build_single(architecture, relation_prediction=0.5)
    step = build_single(architecture, replace(WHOLE, n_parts=n_parts), relation_prediction=0.5)
    kept: list[Tensor] = []
    step.optimizer.update = lambda *_: kept.append(  # type: ignore[method-assign]
        step.parameters.gradients.clone()
    )

    step.compute()

    gradients_of(whole)
    torch.testing.assert_close(kept[0], whole.parameters.gradients, rtol=1e-3, atol=1e-6)


def test_a_relation_whose_loss_is_not_finite_makes_a_bad_step() -> None:
    step = build_single(LITERATURE["ComplEx"], n_paths=1, relation_prediction=0.5)
    asked = step.paths[0, 1] % N_RELATIONS
    with torch.no_grad():
        step.network.relations[(asked + 1) % N_RELATIONS] = torch.inf
    before = step.parameters.values.clone()

    step.compute()

    assert step.bad_step == 1
    assert torch.equal(step.parameters.values, before)


def test_counting_the_work_of_a_step_counts_its_relations() -> None:
    without, with_them = (
        build_single(LITERATURE["ComplEx"], relation_prediction=weight).count_multiply_adds()
        for weight in (0.0, 0.5)
    )

    assert with_them - without == 3 * 8 * 2 * N_RELATIONS * 2 * DIM


def test_memory_that_is_short_for_relations_cuts_the_batch_and_gives_the_same_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free, _ = get_ready()
    free.compute()

    @functools.wraps(add_relation_loss)
    def limited(network: PathNetwork, triplets: Any, weight: float) -> Tensor:
        if len(triplets[0]) > 10:
            raise torch.OutOfMemoryError("a fake limit")
        return add_relation_loss(network, triplets, weight)

    monkeypatch.setattr(step_module, "add_relation_loss", limited)
    limited_step, _ = get_ready()
    limited_step.compute()

    assert (free.plan.n_parts, limited_step.plan.n_parts) == (1, 4)
    torch.testing.assert_close(
        limited_step.parameters.values, free.parameters.values, rtol=1e-3, atol=1e-5
    )


def get_ready(form: NetworkForm = TWO_WAY, n_columns: int = 3) -> tuple[TrainingStep, Any]:
    network = build_network(LITERATURE["RSN"], form)
    chosen = small_settings(form, {"relation_prediction": 0.5, "batch_size": 40})
    paths = draw_paths(40)[:, :n_columns]
    step, compute = ready_step(network, paths, chosen, FlatParameters(network, CPU))
    step.begin_epoch(torch.arange(40), 0.001, dropout_seed=0)
    return step, compute


@pytest.mark.parametrize(
    ("form", "n_columns", "words"),
    [
        (TWO_WAY, 7, r"0\.5 and paths have 3 triplets, .* Set path_length to 1"),
        (ONE_WAY, 3, r"0\.5 and this is an alignment, .* leave relation_prediction out"),
    ],
)
def test_relations_are_predicted_along_single_triplets_of_one_graph_or_not_at_all(
    form: NetworkForm, n_columns: int, words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        get_ready(form, n_columns)


def test_weights_that_architectures_share_predict_no_relations() -> None:
    size = NetworkSize(n_entities=N_ENTITIES, n_relations=N_RELATIONS, dim=DIM)
    network = PathNetwork(SharedCell(SearchSpace().choices(), DIM, CPU), size, TWO_WAY, dropout=0.0)
    chosen = small_settings(TWO_WAY, {"relation_prediction": 0.5})

    with pytest.raises(SettingsError, match="weights are shared by several architectures"):
        ready_step(network, draw_paths(8)[:, :3], chosen, FlatParameters(network, CPU))


def test_a_search_refuses_to_predict_relations_before_it_begins() -> None:
    with pytest.raises(SettingsError, match=r"search also tries paths .* Leave it out, and train"):
        interstellar.search("geography-S1", relation_prediction=0.5, trials=1)


def train_small(out: Path, *, stop_at: int | None = None, **others: Any) -> bytes:
    """Train single triplets of a small graph with a weight of relations; return what is learnt."""
    changes = {"relation_prediction": others.pop("relation_prediction", 0.5)}
    asked = small_experiment(walk=replace(LINK_PREDICTION.walk, length=1), **changes)
    if stop_at is None:
        train_run(asked, out, device=CPU, **others)
        return weights_of(out)
    with pytest.raises(KeyboardInterrupt):
        train_run(asked, out, device=CPU, observer=Stop(stop_at), **others)
    return b""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a run learns that nobody stopped."""
    return train_small(tmp_path_factory.mktemp("whole") / "run")


def test_relations_that_are_predicted_change_what_is_learnt(tmp_path: Path, whole: bytes) -> None:
    without = train_small(tmp_path / "without", relation_prediction=0.0)
    again = train_small(tmp_path / "again")

    assert again == whole != without


@pytest.mark.parametrize("n_steps", [1, 18])
def test_a_run_that_was_stopped_goes_on_to_the_same_weights(
    tmp_path: Path, whole: bytes, n_steps: int
) -> None:
    train_small(tmp_path / "run", stop_at=n_steps)

    assert train_small(tmp_path / "run", resume=True) == whole


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["ComplEx", "RSN", "Interstellar-EN-DE"])
def test_a_captured_step_does_what_one_on_the_cpu_does(name: str) -> None:
    on_cpu, on_cuda = (captured(NAMED[name], torch.device(device)) for device in ("cpu", "cuda"))

    torch.testing.assert_close(on_cuda, on_cpu, rtol=1e-3, atol=1e-4)


def captured(architecture: Architecture, device: torch.device) -> Tensor:
    """Return what a network has learnt after three steps."""
    network = build_network(architecture, TWO_WAY)
    changes: Any = {"relation_prediction": 0.5, "precision": "float32", "learning_rate": 0.01}
    paths = draw_paths(24)[:, :3].contiguous().to(device)
    parameters = FlatParameters(network, device)
    step, compute = ready_step(network, paths, small_settings(TWO_WAY, changes), parameters)
    step.begin_epoch(torch.arange(24, device=device), 0.01, dropout_seed=0)
    for _ in range(step.n_steps):
        compute()
    learnt = [p.detach().cpu().flatten() for p in network.parameters()]
    return torch.cat(learnt)
