"""Tests of the Triton kernels on the CPU, where Triton's interpreter stands in for the compiler.

Not collected by themselves: `test_network_kernels.py` runs them with TRITON_INTERPRET=1, which
must be set before the kernels are imported. Each kernel is held against its plain counterpart.
"""

import pytest
import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.architecture.literature import LITERATURE
from interstellar.model.combinators import activate, hermitian
from interstellar.model.mixed_operator import MixedOperator
from interstellar.model.mixed_operator_kernel import fused_operator
from interstellar.model.network_kernels import (
    SOFTMAX_BLOCK,
    add_n3_slopes,
    fused_hermitian,
    fused_sum,
    turn_into_gradient_,
)
from interstellar.model.path_network import NetworkForm
from interstellar.model.softmax_loss import cross_entropy
from interstellar.training import step_kernels
from interstellar.training.settings import Optimizer
from tests.model.test_mixed_operator import OPERATORS, draw_mixture
from tests.training.test_optimizers import build_optimizer, draw_gradients
from tests.training.test_step import ONE_WAY, TWO_WAY, build_step

GOOD, BAD = torch.tensor(0, dtype=torch.int32), torch.tensor(1, dtype=torch.int32)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same(found: Tensor, expected: Tensor, *inputs: Tensor) -> None:
    """Compare two ways to compute one thing, and their gradients by the inputs."""
    torch.testing.assert_close(found, expected)
    weights = found.detach().cos()
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, weights), torch.autograd.grad(expected, inputs, weights)
    )


@pytest.mark.parametrize("shape", [(1, 2), (5, 3, 8), (70, 50)])
def test_the_complex_product(shape: tuple[int, ...]) -> None:
    a, b = (draw(*shape, seed=seed).requires_grad_() for seed in (0, 1))

    assert_same(fused_hermitian(a, b), hermitian(a, b), a, b)


@pytest.mark.parametrize("activation", [Activation.TANH, Activation.SIGMOID])
@pytest.mark.parametrize("n_rows", [1, 300])
def test_the_activated_sum_of_rows_with_any_stride(activation: Activation, n_rows: int) -> None:
    a = draw(n_rows, 6).requires_grad_()
    b = draw(n_rows, 3, 6, seed=1)[:, 1].requires_grad_()

    found = fused_sum(a, b, is_tanh=activation is Activation.TANH)

    assert_same(found, activate(activation, a + b), a, b)


@pytest.mark.parametrize(
    ("n_columns", "n_padded"),
    [
        (1, 1),
        (100, 128),
        (SOFTMAX_BLOCK, SOFTMAX_BLOCK + 128),
        (SOFTMAX_BLOCK + 8, SOFTMAX_BLOCK + 128),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_loss_and_its_gradient_in_place(
    n_columns: int, n_padded: int, scale: float, smoothing: float
) -> None:
    logits = draw(4, n_padded).mul_(scale).half()
    true = torch.tensor([0, n_columns - 1, n_columns // 2, 0])
    expected_losses, expected = cross_entropy(logits[:, :n_columns].float(), true, smoothing)
    losses = torch.empty(4)

    turn_into_gradient_(logits, true, losses, n_columns, smoothing)

    torch.testing.assert_close(losses, expected_losses, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits[:, :n_columns].float(), expected, rtol=1e-3, atol=1e-4)
    assert (logits[:, n_columns:] == 0).all()


@pytest.mark.parametrize("kind", Optimizer)
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_optimizers(kind: Optimizer, weight_decay: float, max_norm: float | None) -> None:
    fused, plain = (
        build_optimizer(kind, weight_decay=weight_decay, max_norm=max_norm) for _ in range(2)
    )

    for gradient in draw_gradients(plain, n_steps=3):
        for optimizer in (fused, plain):
            optimizer.parameters.gradients.copy_(gradient)
            optimizer.n_updates += 1
        step_kernels.update_(fused, torch.tensor(2.0), GOOD)
        plain.update(torch.tensor(2.0), torch.tensor(False))

    torch.testing.assert_close(fused.parameters.values, plain.parameters.values)
    torch.testing.assert_close(fused.state_tensors(), plain.state_tensors())
    assert not fused.parameters.gradients.any()


def test_only_gradients_of_entities_that_the_loss_sets_anew_are_not_cleared() -> None:
    step = build_step(LITERATURE["RSN"], TWO_WAY)
    step.optimizer.n_updates += 1
    gradients = step.parameters.gradients.fill_(1.0)
    n_entity_numbers = step.parameters.n_entity_numbers

    step_kernels.update_(step.optimizer, torch.tensor(1.0), GOOD)

    assert gradients[:n_entity_numbers].all()
    assert not gradients[n_entity_numbers:].any()


def test_a_sampled_softmax_adds_to_gradients_so_that_all_are_cleared() -> None:
    step = build_step(LITERATURE["RSN"], TWO_WAY, n_negatives=3)
    step.optimizer.n_updates += 1
    step.parameters.gradients.fill_(1.0)

    step_kernels.update_(step.optimizer, torch.tensor(1.0), GOOD)

    assert not step.parameters.gradients.any()


@pytest.mark.parametrize("kind", Optimizer)
def test_optimizers_stand_still_where_the_step_is_bad(kind: Optimizer) -> None:
    optimizer = build_optimizer(kind, weight_decay=0.1, max_norm=0.001)
    optimizer.n_updates += 1
    state = [optimizer.parameters.values, *optimizer.state_tensors().values()]
    before = [tensor.clone() for tensor in state]
    optimizer.parameters.gradients.fill_(torch.nan)

    step_kernels.update_(optimizer, torch.tensor(1.0), BAD)

    assert all(torch.equal(now, kept) for now, kept in zip(state, before, strict=True))
    assert not optimizer.parameters.gradients.any()


@pytest.mark.parametrize(("n_rows", "n_ways", "half"), [(3, 1, 1), (40, 2, 25)])
def test_the_gradient_of_n3_touches_only_rows_that_were_read(
    n_rows: int, n_ways: int, half: int
) -> None:
    table, gradient = draw(2, n_rows, n_ways * 2 * half)
    counts = torch.arange(n_rows).remainder(3).float()
    before = gradient.clone()
    z = table.double().view(n_rows, n_ways, 2, half)
    slopes = 0.7 * counts.view(-1, 1, 1, 1) * z * z.square().sum(dim=2, keepdim=True).sqrt()

    add_n3_slopes(table, gradient, counts, 0.7, half)

    torch.testing.assert_close(gradient, (before + slopes.flatten(1)).float())
    assert torch.equal(gradient[::3], before[::3])


def test_batches_are_gathered_in_the_order_of_the_epoch() -> None:
    step = build_step(LITERATURE["RSN"], TWO_WAY, n_paths=21)
    step.begin_epoch(torch.randperm(21), 0.01, dropout_seed=0)

    for n_done in range(step.n_steps):
        step.n_done.fill_(n_done)
        for found, expected in zip(step_kernels.gather_batch(step), step.gather(), strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("form", [ONE_WAY, TWO_WAY], ids=["clipped", "not clipped"])
@pytest.mark.parametrize("n_rows", [24, 1500])
def test_losses_are_accounted_for(
    form: NetworkForm, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alignment settings clip gradients, those of link prediction do not."""
    monkeypatch.setattr(step_kernels, "N_SUMS", 4)  # programs, which are interpreted one by one
    fused, plain = (build_step(LITERATURE["RSN"], form) for _ in range(2))
    losses = draw(4, n_rows)
    losses[2, 7] = torch.nan

    for some in losses:
        for step in (fused, plain):
            step.parameters.gradients.copy_(draw(len(step.parameters.gradients)))
        factor, is_bad = step_kernels.account(fused, some)
        expected, is_expected_bad = plain.account(some)
        torch.testing.assert_close(factor, expected)
        assert bool(is_bad) is bool(is_expected_bad)

    for step in (fused, plain):
        counts = (step.n_done, step.bad_step, step.optimizer.n_updates)
        assert [int(count) for count in counts] == [4, 3, 3]
    torch.testing.assert_close(fused.loss_sum, plain.loss_sum, equal_nan=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("has_first", [True, False], ids=["both", "second only"])
def test_mixed_operators(seed: int, has_first: bool) -> None:
    mixture = draw_mixture(seed, device="cpu", dtype=torch.float32)

    for combinator, activation in OPERATORS:
        options = mixture.options[combinator]
        if not options:
            continue
        a, b, logit = (x.requires_grad_() for x in draw(3, 7, 2, 10))
        operator = MixedOperator(mixture, combinator, activation, gate=None)
        inputs = (a if has_first else None, b, logit if Combinator.GATED in options else None)
        found, expected = fused_operator(operator, *inputs), operator.combine_gated(*inputs)
        torch.testing.assert_close(found, expected)
        there = [x for x in inputs if x is not None]
        gradients = (
            torch.autograd.grad(y, there, found.detach().cos(), materialize_grads=True)
            if y.requires_grad
            else tuple(map(torch.zeros_like, there))
            for y in (found, expected)
        )
        torch.testing.assert_close(*gradients)
