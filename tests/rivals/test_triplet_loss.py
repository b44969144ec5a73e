"""The losses of triplets on numbers that were worked out by hand."""

import math

import pytest
import torch

from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_loss import among_all, among_drawn, pick_nearest

OWN = torch.tensor([1.0, -2.0])
WRONG = torch.tensor([[0.0, 3.0], [-1.0, -math.inf]])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_softmax_of_drawn_answers_lets_each_stand_for_as_many() -> None:
    loss = among_drawn(OWN, WRONG, RivalLoss.SOFTMAX, margin=0, n_entities=20)

    first = math.log(math.exp(1) + 10 * (1 + math.exp(3))) - 1
    second = math.log(math.exp(-2) + 10 * math.exp(-1)) + 2
    assert loss.item() == pytest.approx(first + second)


def test_self_adversarial_weighs_wrong_answers_by_how_likely_they_seem() -> None:
    loss = among_drawn(OWN, WRONG, RivalLoss.SELF_ADVERSARIAL, margin=0, n_entities=20)

    p = math.exp(3) / (1 + math.exp(3))
    of_wrong = -(1 - p) * math.log(sigmoid(0)) - p * math.log(sigmoid(-3))
    first = -math.log(sigmoid(1)) + of_wrong
    second = -math.log(sigmoid(-2)) - math.log(sigmoid(1))
    assert loss.item() == pytest.approx((first + second) / 2)


def test_a_margin_is_asked_for_between_the_answer_and_each_wrong_one() -> None:
    loss = among_drawn(OWN, WRONG, RivalLoss.MARGIN, margin=0.5, n_entities=20)

    assert loss.item() == pytest.approx((0 + 2.5) / 2 + (1.5 + 0) / 2)


@pytest.mark.parametrize(
    "loss", [x for x in RivalLoss if x not in (RivalLoss.LIMIT, RivalLoss.HARD)]
)
def test_what_was_drawn_and_is_the_answer_moves_nothing(loss: RivalLoss) -> None:
    wrong = torch.full((2, 1), -math.inf, requires_grad=True)
    own = OWN.clone().requires_grad_()

    among_drawn(own, wrong, loss, margin=0.5, n_entities=1).backward()  # type: ignore[no-untyped-call]

    assert own.grad is not None
    assert bool(own.grad.isfinite().all())


def test_labels_are_smoothed_over_all_entities() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0]])

    loss = among_all(logits, torch.tensor([0]), 0.3)

    p = torch.log_softmax(logits[0], 0)
    assert loss.item() == pytest.approx((-0.7 * p[0] - 0.1 * p.sum()).item())


def test_distances_are_asked_to_be_under_one_limit_or_above_another() -> None:
    """Of true ones γ₁ is 0.01; wrong ones, at least γ away, weigh 0.2 for each of ten."""
    loss = among_drawn(OWN, WRONG, RivalLoss.LIMIT, margin=1.5, n_entities=20)

    first = 0 + 2.0 * (1.5 + 4.5) / 2
    second = (2 - 0.01) + 2.0 * 0.5 / 2
    assert loss.item() == pytest.approx(first + second)


def test_wrong_answers_are_picked_from_near_the_right_one() -> None:
    answers = torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    angles = torch.linspace(0, math.pi / 2, 40)
    drawn = torch.stack([angles.cos(), angles.sin()], dim=1)

    picked = pick_nearest(torch.arange(80.0).view(2, 40), answers, drawn)

    assert picked.sort(dim=1).values.tolist() == [[0, 1], [78, 79]]
