"""How an operator combines its two inputs (paper, Appendix A.1).

Every function takes and returns tensors of shape (…, dim). A first input that is None stands
for the zero vector, so that nothing is computed with zeros.
"""

from typing import assert_never, final

import torch
from torch import Tensor, nn

from interstellar.architecture.architecture import Activation, Combinator


def combine(
    combinator: Combinator, a: Tensor | None, b: Tensor, gate: "Gate | None" = None
) -> Tensor:
    """Return a ∘ b for the combinator ∘; `gate` holds the matrices of a gated one."""
    match combinator:
        case Combinator.ADD:
            return b if a is None else a + b
        case Combinator.MULTIPLY:
            return torch.zeros_like(b) if a is None else a * b
        case Combinator.HERMITIAN:
            return torch.zeros_like(b) if a is None else hermitian(a, b)
        case Combinator.GATED:
            assert gate is not None, "a gated combinator has a gate"
            return gate.weigh(a, b)
        case _:
            assert_never(combinator)


def hermitian(a: Tensor, b: Tensor) -> Tensor:
    """Multiply as complex numbers, a ⊗ b: first half real, second half imaginary.

    The paper prints a minus sign in the imaginary part (Appendix A.1). We use the plus sign of
    complex multiplication, as ComplEx and the authors' own program do.
    """
    if a.device.type == "cuda":
        from interstellar.model.network_kernels import fused_hermitian  # noqa: PLC0415 (triton)

        return fused_hermitian(*torch.broadcast_tensors(a, b))  # type: ignore[no-untyped-call]
    a_re, a_im = a.chunk(2, dim=-1)
    b_re, b_im = b.chunk(2, dim=-1)
    return torch.cat([a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re], dim=-1)


def adjoint(combinator: Combinator, a: Tensor | None, c: Tensor) -> Tensor:
    """Return the k with (a ∘ b) · c = b · k, plus what does not depend on b; ∘ is not gated."""
    assert combinator is not Combinator.GATED, "what is gated is not linear in b"
    match combinator:
        case Combinator.ADD:
            return c
        case Combinator.MULTIPLY:
            return torch.zeros_like(c) if a is None else a * c
        case Combinator.HERMITIAN:
            return torch.zeros_like(c) if a is None else hermitian(conjugate(a), c)
        case _:
            assert_never(combinator)


def conjugate(a: Tensor) -> Tensor:
    """Return the complex conjugate: the first half is real, the second imaginary."""
    a_re, a_im = a.chunk(2, dim=-1)
    return torch.cat([a_re, -a_im], dim=-1)


@final
class Gate(nn.Module):
    """The gated combinator: g = σ(W_a a + W_b b + bias), result (1 − g) ⊙ a + g ⊙ b.

    The paper lets g weigh the first input and has no bias; the authors' program, which made
    the tables, lets it weigh the second. Each operator has a gate of its own.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.W_a = nn.Linear(dim, dim, bias=False)
        self.W_b = nn.Linear(dim, dim)

    def weigh(self, a: Tensor | None, b: Tensor) -> Tensor:
        """Return the weighed sum of both inputs; a is zero where it is None."""
        if a is None:
            return torch.sigmoid(self.W_b(b)) * b
        return weigh(a, b, self.W_a(a) + self.W_b(b))


def weigh(a: Tensor, b: Tensor, logit_of_gate: Tensor) -> Tensor:
    """Return (1 − g) ⊙ a + g ⊙ b for g = σ(logit_of_gate)."""
    return torch.lerp(a, b, torch.sigmoid(logit_of_gate))


def activate_sum(activation: Activation, a: Tensor, b: Tensor) -> Tensor:
    """Return act(a + b), (batch, dim); one kernel on CUDA."""
    if a.device.type == "cuda" and activation is not Activation.IDENTITY:
        from interstellar.model.network_kernels import fused_sum  # noqa: PLC0415 (triton)

        return fused_sum(a, b, is_tanh=activation is Activation.TANH)
    return activate(activation, a + b)


def activate(activation: Activation, x: Tensor) -> Tensor:
    """Return act(x)."""
    match activation:
        case Activation.IDENTITY:
            return x
        case Activation.TANH:
            return torch.tanh(x)
        case Activation.SIGMOID:
            return torch.sigmoid(x)
        case _:
            assert_never(activation)
