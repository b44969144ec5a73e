"""A matrix that is applied once a step, whose own gradient is computed once for all steps.

Autograd by itself would multiply out and add up the gradient of the matrix for every step;
here the inputs and the gradients of all steps are kept and multiplied in one product.
"""

from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional


@final
class RecurrentLink:
    """W x + b for one pass over the steps of paths; made anew for each pass."""

    def __init__(self, linear: nn.Linear) -> None:
        self._inputs: list[Tensor] = []
        self._gradients: list[Tensor] = []
        self._weight, self._bias = _Gather.apply(  # type: ignore[no-untyped-call]
            linear.weight, linear.bias, self._inputs, self._gradients
        )

    def apply(self, x: Tensor) -> Tensor:
        """Return W x + b for one step, (batch, dim)."""
        linked: Tensor = _Apply.apply(  # type: ignore[no-untyped-call]
            x, self._weight, self._bias, self._inputs, self._gradients
        )
        return linked


class _Gather(torch.autograd.Function):
    """Hands the matrix out to all steps; its backward runs when all of theirs have."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        bias: Tensor | None,
        inputs: list[Tensor],
        gradients: list[Tensor],
    ) -> tuple[Tensor, Tensor | None]:
        ctx.inputs, ctx.gradients, ctx.has_bias = inputs, gradients, bias is not None
        ctx.set_materialize_grads(False)
        return weight.view_as(weight), None if bias is None else bias.view_as(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        x, g = torch.cat(ctx.inputs), torch.cat(ctx.gradients)
        ctx.inputs.clear()
        ctx.gradients.clear()
        return g.T @ x, g.sum(dim=0) if ctx.has_bias else None, None, None


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        inputs: list[Tensor],
        gradients: list[Tensor],
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.inputs, ctx.gradients = inputs, gradients
        return functional.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        ctx.inputs.append(x.detach())  # else x, its node and this list would keep each other alive
        ctx.gradients.append(g)
        return g @ weight, None, None, None, None
