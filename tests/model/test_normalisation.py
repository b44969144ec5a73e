"""Batch normalisation of all steps at once against torch's layer, step by step."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from interstellar.model.normalisation import OutputNorm, StepNorms

DIM = 4


def draw(n: int, length: int, *, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    s, r = torch.randn(2, n, length, DIM, generator=generator, dtype=torch.float64)
    return (3 * s + 1).requires_grad_(), (r - 2).requires_grad_()


def step_norms(*, seed: int = 0) -> StepNorms:
    norms = StepNorms(DIM).double()
    nn.init.uniform_(norms.affine, 0.5, 2, generator=torch.Generator().manual_seed(seed))
    return norms


def layer(scale: Tensor, shift: Tensor) -> nn.BatchNorm1d:
    norm = nn.BatchNorm1d(DIM).double()
    norm.weight.data.copy_(scale)
    norm.bias.data.copy_(shift)
    return norm


@given(n=st.integers(2, 9), length=st.integers(1, 5), seed=st.integers(0, 1000))
def test_every_step_has_statistics_of_its_own_and_all_share_scale_and_shift(
    n: int, length: int, seed: int
) -> None:
    s, r = draw(n, length, seed=seed)
    norms = step_norms(seed=seed)
    s_scale, s_shift, r_scale, r_shift = norms.affine.detach()
    of_s, of_r = layer(s_scale, s_shift), layer(r_scale, r_shift)

    found_s, found_r = norms.normalise(s, r)

    expected_s = torch.stack([of_s(s[:, t]) for t in range(length)], dim=1)
    expected_r = torch.stack([of_r(r[:, t]) for t in range(length)], dim=1)
    torch.testing.assert_close(found_s, expected_s)
    torch.testing.assert_close(found_r, expected_r)


def test_gradients_are_those_of_torchs_layer_applied_step_by_step() -> None:
    s, r = draw(6, 3, seed=1)
    norms = step_norms()
    of_s = layer(*norms.affine.detach()[:2])
    weights = torch.randn(6, 3, DIM, generator=torch.Generator().manual_seed(2)).double()

    found_s, _ = norms.normalise(s, r)
    s_gradient, affine_gradient = torch.autograd.grad((found_s * weights).sum(), [s, norms.affine])

    expected = torch.stack([of_s(s[:, t]) for t in range(3)], dim=1)
    (expected * weights).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(s_gradient, s.grad)
    torch.testing.assert_close(affine_gradient[0], of_s.weight.grad)
    torch.testing.assert_close(affine_gradient[1], of_s.bias.grad)
    assert affine_gradient[2:].abs().max() == 0


@given(n=st.integers(2, 20), seed=st.integers(0, 1000))
def test_outputs_of_all_steps_are_normalised_together(n: int, seed: int) -> None:
    v, _ = draw(n, 1, seed=seed)
    v = v.detach().squeeze(1)
    norm = OutputNorm(DIM).double()
    nn.init.uniform_(norm.affine, 0.5, 2, generator=torch.Generator().manual_seed(seed))

    found = norm.normalise(v)

    torch.testing.assert_close(found, layer(*norm.affine.detach())(v))
