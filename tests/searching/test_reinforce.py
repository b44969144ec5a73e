"""Tests of reinforcement learning: what scores teach it, and that its LSTM is torch's."""

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.architecture.search_space import Point, SearchSpace
from interstellar.errors import SettingsError
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import (
    Parameters,
    RecurrentPolicy,
    ReinforceSearch,
    ReinforceSettings,
)
from tests.searching.fake_judge import architectures_of, plant, scored, scores_of, search

SPACE = SearchSpace()


def test_the_first_score_is_the_baseline_and_moves_nothing() -> None:
    told, untold = ReinforceSearch(SPACE, 0), ReinforceSearch(SPACE, 0)
    told.tell(told.ask().number, scored(0.9))
    untold.ask()

    assert [told.ask() for _ in range(5)] == [untold.ask() for _ in range(5)]


def test_a_failed_trial_counts_as_score_zero() -> None:
    failed, zero = ReinforceSearch(SPACE, 0), ReinforceSearch(SPACE, 0)

    for strategy, worst in ((failed, None), (zero, 0.0)):
        for k in range(20):
            strategy.tell(strategy.ask().number, scored(worst if k % 2 else 0.7))

    assert failed.answer() == zero.answer()
    assert failed.ask() == zero.ask()


@pytest.mark.parametrize("seed", range(5))
def test_an_option_that_always_beats_the_others_becomes_the_answer(seed: int) -> None:
    strategy = ReinforceSearch(SPACE, seed)
    for _ in range(60):
        proposal = strategy.ask()
        [architecture] = architectures_of([proposal])
        is_trained = 3 in architecture.micro.trained
        strategy.tell(proposal.number, scored(1.0 if is_trained else 0.0))

    assert 3 in strategy.answer().micro.trained


def test_an_entropy_bonus_keeps_it_exploring() -> None:
    def count_distinct(entropy_weight: float) -> int:
        settings = ReinforceSettings(learning_rate=0.01, entropy_weight=entropy_weight)
        strategy = ReinforceSearch(SPACE, 0, settings)
        proposals = search(SPACE, strategy, plant(SPACE, 0), 150)
        return len(set(architectures_of(proposals[-50:])))

    assert count_distinct(0.3) > 2 * count_distinct(0.0)


def test_it_beats_random_search_on_planted_scores() -> None:
    gains = []
    for seed in range(3):
        score = plant(SPACE, seed)
        strategy = ReinforceSearch(SPACE, seed)
        learnt = scores_of(search(SPACE, strategy, score, 120), score)
        drawn = scores_of(search(SPACE, RandomSearch(SPACE, seed), score, 120), score)
        gains.append(sum(learnt[-20:]) / 20 - sum(drawn) / 120)
        assert max(learnt) > max(drawn)

    assert min(gains) > 0.25


@pytest.mark.parametrize(
    ("name", "value"), [("dim", 0), ("learning_rate", 0.0), ("baseline_decay", 1.0)]
)
def test_settings_that_cannot_learn_are_refused(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=f"{name}={value}"):
        ReinforceSettings(**{name: value})  # type: ignore[arg-type]


POLICY = RecurrentPolicy((4, 1, 3, 2), 5)
ORDER_OF_TORCH = (0, 1, 3, 2)  # torch has i, f, g, o where the policy has i, f, o, g


def draw_parameters(seed: int) -> Parameters:
    rng = np.random.default_rng(seed)
    return {name: 10 * value for name, value in POLICY.initialise(rng).items()}


def unroll_by_torch(parameters: dict[str, Tensor], point: Point) -> list[Tensor]:
    """Return the log-probabilities of each step, by torch's own LSTM cell."""
    cell = {name: reorder(parameters[name]) for name in ("W", "U", "b")}
    h, c = torch.zeros(1, 5).double(), torch.zeros(1, 5).double()
    row, start, log_p = 0, 0, []
    for size, taken in zip(POLICY.sizes, point, strict=True):
        x = parameters["E"][row : row + 1]
        h, c = torch.lstm_cell(
            x, (h, c), cell["W"], cell["U"], cell["b"], torch.zeros_like(cell["b"])
        )
        logits = (
            parameters["V"][start : start + size] @ h[0] + parameters["a"][start : start + size]
        )
        log_p.append(torch.log_softmax(logits, 0))
        row, start = 1 + start + taken, start + size
    return log_p


def reorder(stacked: Tensor) -> Tensor:
    parts = stacked.chunk(4)
    return torch.cat([parts[i] for i in ORDER_OF_TORCH])


@pytest.mark.parametrize("point", [(0, 0, 0, 0), (3, 0, 2, 1), (1, 0, 0, 1)])
@pytest.mark.parametrize(("advantage", "entropy_weight"), [(1.0, 0.0), (-0.3, 0.0), (0.2, 0.7)])
def test_the_gradient_is_that_of_autograd(
    point: Point, advantage: float, entropy_weight: float
) -> None:
    parameters = draw_parameters(0)
    tensors = {name: torch.tensor(v, requires_grad=True) for name, v in parameters.items()}
    log_p = unroll_by_torch(tensors, point)
    log_likelihood = sum(step[taken] for step, taken in zip(log_p, point, strict=True))
    entropy = -sum((step.exp() * step).sum() for step in log_p)
    torch.as_tensor(advantage * log_likelihood + entropy_weight * entropy).backward()  # type: ignore[no-untyped-call]

    gradient = POLICY.gradient(
        parameters, point, advantage=advantage, entropy_weight=entropy_weight
    )

    for name, tensor in tensors.items():
        assert tensor.grad is not None
        np.testing.assert_allclose(gradient[name], tensor.grad.numpy(), atol=1e-12)


def test_probabilities_are_those_of_torch() -> None:
    point = (2, 0, 1, 1)
    parameters = draw_parameters(1)

    steps = POLICY.unroll(parameters, lambda i, _: point[i])

    tensors = {name: torch.tensor(value) for name, value in parameters.items()}
    for step, log_p in zip(steps, unroll_by_torch(tensors, point), strict=True):
        np.testing.assert_allclose(step.log_p, log_p.numpy(), atol=1e-12)


def test_first_draws_are_near_uniform() -> None:
    parameters = POLICY.initialise(np.random.default_rng(0))

    steps = POLICY.unroll(parameters, lambda *_: 0)

    for step, size in zip(steps, POLICY.sizes, strict=True):
        np.testing.assert_allclose(np.exp(step.log_p), 1 / size, atol=0.1)


def test_huge_parameters_neither_overflow_nor_give_nan() -> None:
    parameters = {name: 1e4 * value for name, value in draw_parameters(2).items()}

    gradient = POLICY.gradient(parameters, (0, 0, 0, 0), advantage=1.0, entropy_weight=0.1)

    assert all(np.isfinite(value).all() for value in gradient.values())


def test_following_takes_the_likeliest_option_at_each_step() -> None:
    parameters = draw_parameters(3)

    point = POLICY.follow(parameters)

    steps = POLICY.unroll(parameters, lambda i, _: point[i])
    assert point == tuple(int(step.log_p.argmax()) for step in steps)
