"""Sums of moduli, block by block, against the formula."""

import pytest
import torch
from torch import Tensor

from interstellar.rivals import pair_moduli
from interstellar.rivals.pair_moduli import blocks, sum_moduli

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def draw(n: int, dim: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, dim, generator=generator, dtype=torch.double)


def literal(q: Tensor, o: Tensor) -> Tensor:
    z = torch.complex(*(q.unsqueeze(1) - o.unsqueeze(0)).chunk(2, dim=2))
    return z.abs().sum(dim=2)


@pytest.fixture(autouse=True, params=[1, 8, 24, 2**17])
def _any_size_of_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_moduli, "NUMBERS_AT_ONCE", request.param)


@pytest.mark.parametrize(("n", "m", "dim"), [(1, 1, 2), (3, 5, 4), (6, 1, 8), (0, 3, 4)])
def test_sums_are_those_of_the_formula(n: int, m: int, dim: int) -> None:
    q, o = draw(n, dim, 0), draw(m, dim, 1)

    torch.testing.assert_close(sum_moduli(q, o), literal(q, o))


def test_gradients_are_those_of_the_formula() -> None:
    q, o = (draw(n, 6, seed).requires_grad_() for seed, n in enumerate((3, 4)))

    assert torch.autograd.gradcheck(sum_moduli, (q, o))


def test_equal_vectors_have_no_gradient() -> None:
    q, o = (torch.ones(2, 4, requires_grad=True) for _ in range(2))

    sum_moduli(q, o).sum().backward()  # type: ignore[no-untyped-call]

    assert q.grad is not None
    assert not q.grad.any()


def test_blocks_cover_every_pair_once() -> None:
    counts = torch.zeros(5, 7)
    for rows, columns in blocks(5, 7, 4):
        counts[rows, columns] += 1

    assert (counts == 1).all()


@pytest.mark.gpu
@needs_cuda
def test_the_kernels_are_the_formula_on_a_card() -> None:
    q, o = (draw(n, 70, seed).requires_grad_() for seed, n in enumerate((33, 50)))
    on_card = [x.detach().float().cuda().requires_grad_() for x in (q, o)]

    found, expected = sum_moduli(*on_card), literal(q, o)

    torch.testing.assert_close(found.double().cpu(), expected, rtol=1e-4, atol=1e-4)
    weights = expected.detach().cos()
    gradients = torch.autograd.grad(found, on_card, weights.float().cuda())
    of_formula = torch.autograd.grad(expected, (q, o), weights)
    for a, b in zip(gradients, of_formula, strict=True):
        torch.testing.assert_close(a.double().cpu(), b, rtol=1e-3, atol=1e-4)
