"""An operator of a shared cell: its combinator and its activation are mixtures.

Tensors are (batch, dim), or for all steps of paths (batch, length, dim).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.architecture.search_space import Option
from interstellar.model.combinators import Gate, activate, combine, weigh
from interstellar.model.mixture import Mixture


@dataclass(frozen=True, slots=True, eq=False)
class MixedOperator:
    """One of O_s, O_r and O_v."""

    mixture: Mixture
    combinator: str
    """The name of the choice of its combinator."""
    activation: str | None
    """The name of the choice of its activation; None for O_v, which has none."""
    gate: Gate | None
    """Where gating is in play."""

    def combine(self, a: Tensor | None, b: Tensor) -> Tensor:
        """Return the operator's output from its two linked inputs; a is zero where it is None."""
        logit: Tensor | None = None
        if self.gate is not None:
            logit = self.gate.W_b(b) if a is None else self.gate.W_a(a) + self.gate.W_b(b)
        return self.combine_gated(a, b, logit)

    def combine_gated(self, a: Tensor | None, b: Tensor, logit: Tensor | None) -> Tensor:
        """Return the operator's output where the logit of the gate is known."""
        mixture = self.mixture
        if is_fused(mixture, b):
            from interstellar.model.mixed_operator_kernel import (  # noqa: PLC0415 (triton)
                fused_operator,
            )

            return fused_operator(self, a, b, logit)
        parts: dict[Option, Tensor] = {
            option: combine_option(option, a, b, logit)
            for option in mixture.options[self.combinator]
        }
        combined = required(mixture.mix(self.combinator, parts))
        if self.activation is None:
            return combined
        activated: dict[Option, Tensor] = {
            option: activate_option(option, combined) for option in mixture.options[self.activation]
        }
        return required(mixture.mix(self.activation, activated))


def combine_option(option: Option, a: Tensor | None, b: Tensor, logit: Tensor | None) -> Tensor:
    """Return a ∘ b for one combinator."""
    assert isinstance(option, Combinator)
    if option is not Combinator.GATED:
        return combine(option, a, b)
    assert logit is not None, "a gated combinator has a gate"
    return torch.sigmoid(logit) * b if a is None else weigh(a, b, logit)


def activate_option(option: Option, x: Tensor) -> Tensor:
    """Return act(x) for one activation."""
    assert isinstance(option, Activation)
    return activate(option, x)


def is_fused(mixture: Mixture, b: Tensor) -> bool:
    """Return whether there is a kernel for it: not where the weights of options are learnt."""
    return b.is_cuda and b.dtype is torch.float32 and not mixture.weights.requires_grad


def required(mixed: Tensor | None) -> Tensor:
    """Return what must be there: an operator always computes something."""
    assert mixed is not None
    return mixed


def mix_link(mixture: Mixture, name: str, linear: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Return the matrix and the bias that W_i comes to.

    w (W x + bias) + (1 − w) x = (w W + (1 − w) I) x + w bias: mixing the matrices is much less
    work than mixing what they give. (In TF32 a product with I rounds x.)
    """
    assert isinstance(linear, nn.Linear)
    W, bias = linear.weight, linear.bias
    if name not in mixture.columns:
        return W, bias
    weights = mixture.weights_of(name)
    identity = torch.eye(len(W), device=W.device, dtype=W.dtype)
    mixed = torch.addcmul(identity * weights[False], W, weights[True])
    return mixed, None if bias is None else bias * weights[True]
