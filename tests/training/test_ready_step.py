"""Fitting a step into the memory: a fake limit changes how, but not what."""

import functools
from contextlib import suppress
from typing import Any

import pytest
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.embedding_table import EntityTable
from interstellar.model.path_network import NetworkForm
from interstellar.model.softmax_loss import LossPlan, softmax_loss
from interstellar.training import step as step_module
from interstellar.training.loop import Training
from interstellar.training.optimizers import FlatParameters
from interstellar.training.ready_step import (
    FEWEST_ROWS,
    capture,
    first_plan,
    keeping,
    ready_step,
    smaller_plan,
    uses_mixed_precision,
)
from interstellar.training.settings import Precision
from interstellar.training.step import StepPlan
from tests.training.test_loop import Quiet, build_training
from tests.training.test_step import (
    N_ENTITIES,
    ONE_WAY,
    TWO_WAY,
    build_network,
    draw_paths,
    small_settings,
)

CPU = torch.device("cpu")


def limit_memory(monkeypatch: pytest.MonkeyPatch, *, most_rows: int, error: Exception) -> None:
    """Let the loss fail wherever more than so many rows of logits exist at a time."""

    @functools.wraps(softmax_loss)
    def limited(
        v: torch.Tensor, table: EntityTable, true: torch.Tensor, plan: LossPlan, **others: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if min(len(v), plan.chunk_rows) * table.n_entities > most_rows * N_ENTITIES:
            raise error
        return softmax_loss(v, table, true, plan, **others)

    monkeypatch.setattr(step_module, "softmax_loss", limited)


def train(form: NetworkForm) -> Training:
    training = build_training(
        LITERATURE["RSN"], form, n_paths=150, batch_size=70, max_epochs=2, learning_rate=1e-3
    )
    training.run(Quiet())
    return training


@pytest.mark.parametrize(
    ("form", "most_rows", "plan"),
    [
        (TWO_WAY, 210, StepPlan(LossPlan(210))),
        (TWO_WAY, 110, StepPlan(LossPlan(105))),
        (TWO_WAY, 40, StepPlan(LossPlan(FEWEST_ROWS))),
        (TWO_WAY, 30, StepPlan(LossPlan(FEWEST_ROWS), n_parts=8)),
        (TWO_WAY, 6, StepPlan(LossPlan(FEWEST_ROWS), n_parts=64)),
        (ONE_WAY, 40, StepPlan(LossPlan(FEWEST_ROWS))),
    ],
)
def test_a_step_is_cut_until_it_fits_and_learns_the_same(
    monkeypatch: pytest.MonkeyPatch, form: NetworkForm, most_rows: int, plan: StepPlan
) -> None:
    free = train(form)

    limit_memory(monkeypatch, most_rows=most_rows, error=torch.OutOfMemoryError("a fake limit"))
    limited = train(form)

    assert limited.plan == plan
    for name, expected in free.best_parameters().items():
        torch.testing.assert_close(
            limited.best_parameters()[name], expected, rtol=1e-3, atol=2e-5, msg=name
        )


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")],
)
def test_every_way_of_saying_that_memory_is_used_up_is_understood(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    limit_memory(monkeypatch, most_rows=110, error=error)

    assert train(TWO_WAY).plan == StepPlan(LossPlan(105))


def test_another_error_is_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_memory(monkeypatch, most_rows=110, error=RuntimeError("shapes do not match"))

    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(TWO_WAY)


@pytest.mark.parametrize(("form", "most_rows"), [(TWO_WAY, 0), (ONE_WAY, 31)])
def test_a_step_that_fits_in_no_way_is_an_error_with_advice(
    monkeypatch: pytest.MonkeyPatch, form: NetworkForm, most_rows: int
) -> None:
    limit_memory(monkeypatch, most_rows=most_rows, error=torch.OutOfMemoryError("a fake limit"))

    with pytest.raises(TrainingError, match="Lower the dimension or the batch size"):
        train(form)


@pytest.mark.parametrize("can_split", [True, False])
def test_every_smaller_plan_is_smaller_until_there_is_none(can_split: bool) -> None:
    plans = [first_plan(6144, 40_000, CPU, is_mixed=False)]

    with suppress(TrainingError):
        while len(plans) < 100:
            plans.append(smaller_plan(plans[-1], can_split=can_split))

    sizes = [(plan.loss.chunk_rows, -plan.n_parts) for plan in plans]
    assert sizes == sorted(set(sizes), reverse=True)
    assert plans[-1] == StepPlan(LossPlan(FEWEST_ROWS), n_parts=64 if can_split else 1)


@pytest.mark.parametrize(
    ("n_rows", "n_entities", "chunk_rows"),
    [(1536, 274, 1536), (6144, 40_000, 104), (6144, 10**7, FEWEST_ROWS)],
)
def test_the_first_plan_bounds_the_logits_that_exist_together(
    n_rows: int, n_entities: int, chunk_rows: int
) -> None:
    plan = first_plan(n_rows, n_entities, CPU, is_mixed=False)

    assert plan == StepPlan(LossPlan(chunk_rows))


def test_a_step_is_tried_once_and_leaves_everything_as_it_was() -> None:
    network = build_network(LITERATURE["TransE"], TWO_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))
    before = parameters.values.clone()

    step, compute = ready_step(network, draw_paths(8), small_settings(TWO_WAY, {}), parameters)

    torch.testing.assert_close(parameters.values, before, rtol=0, atol=0)
    step.begin_epoch(torch.arange(8), 0.01, dropout_seed=0)
    compute()
    assert not torch.equal(parameters.values, before)


def test_batch_normalisation_needs_two_paths() -> None:
    network = build_network(LITERATURE["TransE"], ONE_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))

    with pytest.raises(SettingsError, match="at least two in a batch"):
        ready_step(network, draw_paths(1), small_settings(ONE_WAY, {}), parameters)


@pytest.mark.parametrize(
    ("precision", "device", "is_mixed"),
    [
        (Precision.AUTO, "cpu", False),
        (Precision.MIXED, "cuda", True),
        (Precision.AUTO, "cuda", True),
        (Precision.FLOAT32, "cuda", False),
    ],
)
def test_products_are_mixed_only_on_cuda(precision: Precision, device: str, is_mixed: bool) -> None:
    assert uses_mixed_precision(precision, torch.device(device)) is is_mixed


def test_mixed_precision_is_refused_where_there_are_no_kernels_for_it() -> None:
    with pytest.raises(SettingsError, match="cpu has no kernels for it"):
        uses_mixed_precision(Precision.MIXED, torch.device("cpu"))


DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
        ],
    ),
]


@pytest.mark.parametrize("device", DEVICES)
def test_captured_work_is_done_each_time_and_not_before(device: str) -> None:
    total, amount = torch.zeros(2, device=device), torch.ones(2, device=device)

    def add() -> None:
        total.add_(amount)

    work = capture(add, torch.device(device), kept=[total])

    assert total.tolist() == [0.0, 0.0]
    work()
    amount.fill_(10.0)
    work()
    assert total.tolist() == [11.0, 11.0]


def test_what_is_kept_is_as_it_was_before() -> None:
    tensor = torch.arange(3.0)

    with keeping([tensor]):
        tensor.fill_(7)

    assert tensor.tolist() == [0.0, 1.0, 2.0]


def test_a_bound_on_embeddings_that_an_alignment_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"max_norm is 2\.0.*Leave it out"):
        build_training(LITERATURE["RSN"], ONE_WAY, max_norm=2.0)

    build_training(LITERATURE["RSN"], TWO_WAY, max_norm=2.0)
