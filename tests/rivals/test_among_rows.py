"""Losses among all rows of a table, in chunks."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.model.softmax_loss import cross_entropy
from interstellar.rivals import among_rows as module
from interstellar.rivals.among_rows import RowLoss, among_rows, hard_loss


def arguments() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    v, table, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((5, 3), (7, 3), (7,))
    )
    return v, table, bias, torch.tensor([0, 6, 2, 2, 5])


def smoothed(smoothing: float) -> RowLoss:
    return partial(cross_entropy, label_smoothing=smoothing)


@pytest.mark.parametrize("at_once", [1, 15, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_chunks_give_the_cross_entropy_of_torch(
    at_once: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ON_CPU", at_once)
    v, table, bias, answers = arguments()

    loss = among_rows(v, table, bias, answers, smoothed(smoothing))

    logits = v @ table.T + bias
    expected = functional.cross_entropy(logits, answers, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, expected)


def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ON_CPU", 15)
    v, table, bias, answers = arguments()

    def triple(v: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        return 3 * among_rows(v, table, bias, answers, smoothed(0.1))

    assert torch.autograd.gradcheck(triple, (v, table, bias))


def literal_hard_loss(logits: Tensor, answers: Tensor) -> Tensor:
    """The authors' equation of one row after another; their γ − φ(o) + φ(o′) is standardised."""
    total = logits.new_zeros(())
    for row, answer in zip(logits, answers.tolist(), strict=True):
        gaps = 3.0 - row[answer] + row
        mean, deviation = gaps.mean().detach(), gaps.std(correction=0).detach()
        wrong = torch.cat([gaps[:answer], gaps[answer + 1 :]])
        total = total + torch.logsumexp(30 * (wrong - mean) / deviation + 10, dim=0)
    return total


def test_the_loss_of_hard_ones_is_the_authors_with_the_same_gradients() -> None:
    v, table, bias, answers = arguments()
    logits = (v @ table.T + bias).detach().requires_grad_()
    literal_hard_loss(logits, answers).backward()  # type: ignore[no-untyped-call]

    _, gradient = hard_loss(logits.detach().clone(), answers)

    assert logits.grad is not None
    torch.testing.assert_close(gradient, logits.grad)


def test_the_loss_of_hard_ones_by_hand() -> None:
    losses, _ = hard_loss(torch.tensor([[0.0, 2.0, -2.0]]), torch.tensor([2]), 1.0)

    deviation = math.sqrt(8 / 3)
    expected = math.log(1 + math.exp(2 / deviation)) + 2 / deviation
    assert losses.item() == pytest.approx(expected)


def test_wrong_ones_that_are_far_from_the_best_count_for_nothing() -> None:
    _, gradient = hard_loss(torch.tensor([[3.0, 2.0, -5.0, 0.0]]), torch.tensor([3]))

    assert gradient[0, 0].item() == pytest.approx(-gradient[0, 3].item(), rel=1e-3)
    assert abs(gradient[0, 2].item()) < 1e-12
