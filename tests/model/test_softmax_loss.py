"""The softmax loss, over all entities or a sample, is its formula in values and gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from interstellar.model.embedding_table import EntityTable
from interstellar.model.softmax_loss import (
    LossPlan,
    cross_entropy,
    sampled_softmax_loss,
    softmax_loss,
)

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def draw(
    n_rows: int, n_entities: int, dim: int, *, device: str = "cpu", seed: int = 0
) -> tuple[Tensor, EntityTable, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(n_rows, dim, generator=generator) / dim**0.25
    values = torch.randn(n_entities, dim, generator=generator) / dim**0.25
    true = torch.randint(n_entities, (n_rows,), generator=generator)
    n_rows_of_table = -(-n_entities // 128) * 128
    values = torch.cat([values, torch.zeros(n_rows_of_table - n_entities, dim)]).to(device)
    table = EntityTable(values, torch.full_like(values, torch.nan), n_entities)
    return v.to(device), table, true.to(device)


def reference(
    v: Tensor, table: EntityTable, true: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """The formula of the paper, by autograd in float64."""
    v = v.detach().double().requires_grad_()
    values = table.values[: table.n_entities].double().requires_grad_()
    logits = v @ values.T
    true_logits = logits.gather(1, true.unsqueeze(1)).squeeze(1)
    wanted = (1 - smoothing) * true_logits + smoothing * logits.mean(dim=1)
    loss = (torch.logsumexp(logits, dim=1) - wanted).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    assert v.grad is not None
    assert values.grad is not None
    return loss.detach(), v.grad, values.grad


@given(
    n_rows=st.integers(1, 20),
    n_entities=st.integers(2, 30),
    chunk_rows=st.integers(1, 25),
    seed=st.integers(0, 1000),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
)
def test_loss_and_gradients_equal_the_formula_for_every_chunking(
    n_rows: int, n_entities: int, chunk_rows: int, seed: int, smoothing: float
) -> None:
    v, table, true = draw(n_rows, n_entities, 6, seed=seed)

    loss, v_gradient = softmax_loss(v, table, true, LossPlan(chunk_rows), label_smoothing=smoothing)

    expected_loss, expected_v, expected_table = reference(v, table, true, smoothing)
    torch.testing.assert_close(loss.sum().double(), expected_loss, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(v_gradient.double(), expected_v, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        table.gradient[:n_entities].double(), expected_table, rtol=1e-4, atol=1e-5
    )


def test_smoothed_losses_are_those_of_torch() -> None:
    logits = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    true = torch.tensor([0, 6, 3, 3, 1])

    losses, _ = cross_entropy(logits, true, 0.2)

    expected = functional.cross_entropy(logits, true, reduction="none", label_smoothing=0.2)
    torch.testing.assert_close(losses, expected)


def test_several_calls_add_up_to_one_sum() -> None:
    v, table, true = draw(8, 7, 6)
    whole, _ = softmax_loss(v, table, true, LossPlan(8))
    expected = table.gradient[:7].clone()

    first, _ = softmax_loss(v[:3], table, true[:3], LossPlan(8))
    second, _ = softmax_loss(v[3:], table, true[3:], LossPlan(2), is_first=False)

    torch.testing.assert_close(torch.cat([first, second]), whole)
    torch.testing.assert_close(table.gradient[:7], expected)


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("dim", [64, 256, 512])
@pytest.mark.parametrize("n_entities", [300, 14_541, 40_943])
@pytest.mark.parametrize("chunk_rows", [4096, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fused_loss_is_within_rounding_of_the_formula(
    dim: int, n_entities: int, chunk_rows: int, smoothing: float
) -> None:
    v, table, true = draw(256, n_entities, dim, device="cuda")

    loss, v_gradient = softmax_loss(
        v, table, true, LossPlan(chunk_rows, is_mixed=True), label_smoothing=smoothing
    )

    expected_loss, expected_v, expected_table = reference(v, table, true, smoothing)
    assert abs(loss.double().sum() - expected_loss) < 2e-3 * 256
    assert relative_error(v_gradient, expected_v) < 2e-3
    assert relative_error(table.gradient[:n_entities], expected_table) < 2e-3


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm())


N_ENTITIES, DIM, N_ROWS = 12, 4, 5


def draw_sampled(seed: int = 0) -> tuple[Tensor, EntityTable, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(N_ROWS, DIM, generator=generator).double()
    values = torch.randn(N_ENTITIES, DIM, generator=generator).double()
    true = torch.randint(N_ENTITIES, (N_ROWS,), generator=generator)
    return v, EntityTable(values, torch.zeros_like(values), N_ENTITIES), true


def formula(v: Tensor, values: Tensor, true: Tensor, negatives: Tensor) -> Tensor:
    """log(exp(true) + Σ of negatives other than the true one · n/drawn) − true, by row."""
    weight = len(values) / len(negatives)
    losses = []
    for row, answer in zip(v, true.tolist(), strict=True):
        wrong = [values[i] @ row for i in negatives.tolist() if i != answer]
        total = torch.exp(values[answer] @ row) + weight * sum(map(torch.exp, wrong))
        losses.append(torch.log(total) - values[answer] @ row)
    return torch.stack(losses)


@given(
    seed=st.integers(0, 1000),
    negatives=st.lists(st.integers(0, N_ENTITIES - 1), min_size=1, max_size=20),
)
def test_the_sampled_loss_and_its_gradients_are_those_of_the_formula(
    seed: int, negatives: list[int]
) -> None:
    v, table, true = draw_sampled(seed)
    drawn = torch.tensor(negatives)

    losses, v_gradient = sampled_softmax_loss(v, table, true, drawn)

    v_leaf, values = v.clone().requires_grad_(), table.values.clone().requires_grad_()
    expected = formula(v_leaf, values, true, drawn)
    expected.sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(losses, expected.detach())
    torch.testing.assert_close(v_gradient, v_leaf.grad)
    torch.testing.assert_close(table.gradient, values.grad)


def test_with_every_entity_drawn_once_it_is_the_full_softmax() -> None:
    v, table, true = draw_sampled()
    everyone = torch.arange(N_ENTITIES)

    sampled, _ = sampled_softmax_loss(v, table, true, everyone)
    full, _ = softmax_loss(v, table, true, LossPlan(100))

    torch.testing.assert_close(sampled, full)


def test_the_estimate_of_the_sum_is_right_on_average() -> None:
    v, table, true = draw_sampled()
    generator = torch.Generator().manual_seed(3)
    full, _ = softmax_loss(v, table, true, LossPlan(100))

    totals = torch.zeros(N_ROWS, dtype=torch.float64)
    for _ in range(3000):
        negatives = torch.randint(N_ENTITIES, (8,), generator=generator)
        losses, _ = sampled_softmax_loss(v, table, true, negatives)
        totals += torch.exp(losses) / 3000  # Σ exp(logit) / exp(true)

    torch.testing.assert_close(totals, torch.exp(full), rtol=0.05, atol=0.05)


def test_calls_of_the_sampled_loss_add_to_the_gradient_of_the_table() -> None:
    v, table, true = draw_sampled()
    negatives = torch.tensor([1, 5, 5, 7])
    sampled_softmax_loss(v, table, true, negatives)
    expected = table.gradient.clone()
    table.gradient.zero_()

    sampled_softmax_loss(v[:2], table, true[:2], negatives)
    sampled_softmax_loss(v[2:], table, true[2:], negatives)

    torch.testing.assert_close(table.gradient, expected)
