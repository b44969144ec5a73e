"""Softmax over a sample: its formula, its gradients, and the full softmax as its limit."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.model.sampled_softmax import sampled_softmax_loss
from interstellar.model.softmax_loss import EntityTable, LossPlan, softmax_loss

N_ENTITIES, DIM, N_ROWS = 12, 4, 5


def draw(seed: int = 0) -> tuple[Tensor, EntityTable, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(N_ROWS, DIM, generator=generator).double()
    values = torch.randn(N_ENTITIES, DIM, generator=generator).double()
    true = torch.randint(N_ENTITIES, (N_ROWS,), generator=generator)
    return v, EntityTable(values, torch.full_like(values, torch.nan), N_ENTITIES), true


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
def test_loss_and_gradients_are_those_of_the_formula(seed: int, negatives: list[int]) -> None:
    v, table, true = draw(seed)
    drawn = torch.tensor(negatives)

    losses, v_gradient = sampled_softmax_loss(v, table, true, drawn)

    v_leaf, values = v.clone().requires_grad_(), table.values.clone().requires_grad_()
    expected = formula(v_leaf, values, true, drawn)
    expected.sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(losses, expected.detach())
    torch.testing.assert_close(v_gradient, v_leaf.grad)
    torch.testing.assert_close(table.gradient, values.grad)


def test_with_every_entity_drawn_once_it_is_the_full_softmax() -> None:
    v, table, true = draw()
    everyone = torch.arange(N_ENTITIES)

    sampled, _ = sampled_softmax_loss(v, table, true, everyone)
    full, _ = softmax_loss(v, table, true, LossPlan(100))

    torch.testing.assert_close(sampled, full)


def test_the_estimate_of_the_sum_is_right_on_average() -> None:
    v, table, true = draw()
    generator = torch.Generator().manual_seed(3)
    full, _ = softmax_loss(v, table, true, LossPlan(100))

    totals = torch.zeros(N_ROWS, dtype=torch.float64)
    for _ in range(3000):
        negatives = torch.randint(N_ENTITIES, (8,), generator=generator)
        losses, _ = sampled_softmax_loss(v, table, true, negatives)
        totals += torch.exp(losses) / 3000  # Σ exp(logit) / exp(true)

    torch.testing.assert_close(totals, torch.exp(full), rtol=0.05, atol=0.05)


def test_later_calls_add_to_the_gradient_of_the_table() -> None:
    v, table, true = draw()
    negatives = torch.tensor([1, 5, 5, 7])
    sampled_softmax_loss(v, table, true, negatives)
    expected = table.gradient.clone()

    sampled_softmax_loss(v[:2], table, true[:2], negatives)
    sampled_softmax_loss(v[2:], table, true[2:], negatives, is_first=False)

    torch.testing.assert_close(table.gradient, expected)
