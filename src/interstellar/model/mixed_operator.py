"""An operator of a mixed cell: its combinator and its activation are mixtures.

Tensors are (n_networks, rows, dim); matrices (n_networks, dim, dim), so that a product is one
batched product for all networks.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.architecture.search_space import Option
from interstellar.model.combinators import activate, combine, weigh
from interstellar.model.mixture import Mixture


@dataclass(frozen=True, slots=True, eq=False)
class MixedGate:
    """The matrices of g = σ(W_a a + W_b b + bias), for all networks."""

    W_a: Tensor
    W_b: Tensor
    bias: Tensor
    """(n_networks, dim)."""

    def begin(self, x: Tensor, *, is_first: bool) -> Tensor:
        """Return the part of one input in the logit of g, W_a a or W_b b, with the bias."""
        return self.add(self.bias.unsqueeze(1), x, is_first=is_first)

    def add(self, logit: Tensor, x: Tensor, *, is_first: bool) -> Tensor:
        """Return logit + W_a a, or logit + W_b b."""
        return torch.baddbmm(logit, x, self.W_a.mT if is_first else self.W_b.mT)


@dataclass(frozen=True, slots=True, eq=False)
class MixedOperator:
    """One of O_s, O_r and O_v for all networks."""

    mixture: Mixture
    combinator: str
    """The name of the choice of its combinator."""
    activation: str | None
    """The name of the choice of its activation; None for O_v, which has none."""
    gate: MixedGate | None
    """Where gating is in play."""

    def combine(self, a: Tensor | None, b: Tensor) -> Tensor:
        """Return the operator's output from its two linked inputs; a is zero where it is None."""
        logit = None
        if self.gate is not None:
            logit = self.gate.begin(b, is_first=False)
            logit = logit if a is None else self.gate.add(logit, a, is_first=True)
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


def mix_link(
    mixture: Mixture, name: str, W: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the matrix and the bias that W_i comes to for each network.

    w (W x + bias) + (1 − w) x = (w W + (1 − w) I) x + w bias: mixing the matrices is much less
    work than mixing what they give. (In TF32 a product with I rounds x.)
    """
    if name not in mixture.columns:
        return W, bias
    weights = mixture.weights_of(name)
    identity = torch.eye(W.shape[-1], device=W.device, dtype=W.dtype)
    mixed = torch.addcmul(identity * weights[False], W, weights[True])
    return mixed, None if bias is None else bias * weights[True].squeeze(-1)
