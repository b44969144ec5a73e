"""Tests of the kernels of rivals on the CPU, where Triton's interpreter is the compiler.

Not collected by themselves: `test_pair_moduli_kernel.py` runs them with TRITON_INTERPRET=1.
"""

import pytest
import torch
from torch import Tensor

from interstellar.rivals.pair_moduli import sum_moduli
from interstellar.rivals.pair_moduli_kernel import fused_slopes, fused_sums


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("n", "m", "dim"), [(1, 1, 2), (20, 35, 70), (16, 16, 64), (3, 0, 4)])
def test_sums_of_moduli_and_their_gradient(n: int, m: int, dim: int) -> None:
    q, o = draw(n, dim, seed=0).requires_grad_(), draw(m, dim, seed=1).requires_grad_()
    expected = sum_moduli(q, o)
    g = draw(m, n, seed=2).T  # of any stride

    of_q, of_o = torch.autograd.grad(expected, (q, o), g)

    q, o = q.detach(), o.detach()
    torch.testing.assert_close(fused_sums(q, o), expected.detach())
    torch.testing.assert_close(fused_slopes(q, o, g), of_q)
    torch.testing.assert_close(fused_slopes(o, q, g.T), of_o)


def test_equal_vectors_have_no_gradient() -> None:
    q = torch.ones(2, 4)

    assert not fused_slopes(q, q, torch.ones(2, 2)).any()
