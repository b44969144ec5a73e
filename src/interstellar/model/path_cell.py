"""The recurrent cell of an architecture, one step at a time and over whole paths at once.

`step` is the paper's formula. `unroll` computes the same over all steps of a path, but only
what truly reads h_{t-1} step by step (`recur`): the rest, W_1 s, W_4 r and the halves of the
gates that depend on them, is done for all steps in one operation.
"""

from collections.abc import Callable
from typing import Any, assert_never, final, overload

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from interstellar.architecture.architecture import Architecture, Combinator, Source
from interstellar.model.combinators import Gate, activate, activate_sum, combine, weigh

BIASED_LINKS = frozenset({2, 4, 6})
"""The matrices W_i that have a bias when they are trained."""

OPERATORS = ("s", "r", "v")


@final
class CellWeights(nn.Module):
    """The trained matrices W_1 … W_6 and the gates that a cell may use.

    Apart from the cell, so that several cells can share them.
    """

    def __init__(self, dim: int, *, links: frozenset[int], gates: frozenset[str]) -> None:
        super().__init__()
        self.W = nn.ModuleDict(
            {str(i): nn.Linear(dim, dim, bias=i in BIASED_LINKS) for i in sorted(links)}
        )
        self.gates = nn.ModuleDict({name: Gate(dim) for name in sorted(gates)})

    @classmethod
    def of(cls, architecture: Architecture, dim: int) -> "CellWeights":
        """Return just the weights that an architecture uses."""
        macro = architecture.macro
        combinators = zip(OPERATORS, (macro.subject, macro.relation, macro.output), strict=True)
        gates = frozenset(name for name, c in combinators if c is Combinator.GATED)
        return cls(dim, links=architecture.micro.trained, gates=gates)


@final
class PathCell(nn.Module):
    """[v_t, h_t] = f(s_t, r_t, h_{t-1}), wired as the architecture says (Definition 1)."""

    def __init__(self, architecture: Architecture, weights: CellWeights) -> None:
        super().__init__()
        self.architecture = architecture
        self.weights = weights

    def step(self, s_t: Tensor, r_t: Tensor, h_prev: Tensor) -> tuple[Tensor, Tensor]:
        """Return v_t and h_t of one step; all of shape (batch, dim)."""
        macro = self.architecture.macro

        O_s = self.subject_operator(self.link(1, s_t), self.link(2, h_prev))

        x_r = choose(macro.relation_source, s_t, h_prev, O_s)
        O_r = self.relation_operator(self.link(3, x_r), self.link(4, r_t))

        x_v = choose(macro.output_source, s_t, h_prev, O_s)
        O_v = self.output_operator(self.link(5, x_v), self.link(6, O_r))

        v_t, h_t = O_v, O_r
        return v_t, h_t

    def unroll(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return v_1 … v_L for whole paths; s and r are (batch, length, dim), h_0 (batch, dim)."""
        macro = self.architecture.macro
        O_r = self.relation_outputs(s, r, h_0)
        h_prev = torch.cat([h_0.unsqueeze(1), O_r[:, :-1]], dim=1)
        O_s = None
        if macro.output_source is Source.SUBJECT_OUTPUT:
            O_s = self.subject_operator(self.link(1, s), self.link(2, h_prev))
        x_v = choose(macro.output_source, s, h_prev, O_s)
        return self.output_operator(self.link(5, x_v), self.link(6, O_r))

    def relation_outputs(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return O_r of every step, (batch, length, dim): the only part that may recur."""
        source = self.architecture.macro.relation_source
        W_4_r = self.link(4, r)
        match source:
            case Source.SUBJECT:
                return self.relation_operator(self.link(3, s), W_4_r)
            case Source.ZERO:
                return self.relation_operator(None, W_4_r)
            case Source.HIDDEN | Source.SUBJECT_OUTPUT:
                return recur(self, s, W_4_r, h_0)
            case _:
                assert_never(source)

    def subject_operator(self, W_1_s: Tensor, W_2_h: Tensor) -> Tensor:
        """Return O_s from its two linked inputs."""
        macro, micro = self.architecture.macro, self.architecture.micro
        O_s = combine(macro.subject, W_1_s, W_2_h, self.gate("s"))
        return activate(micro.subject_activation, O_s)

    def relation_operator(self, W_3_x: Tensor | None, W_4_r: Tensor) -> Tensor:
        """Return O_r from its two linked inputs."""
        macro, micro = self.architecture.macro, self.architecture.micro
        O_r = combine(macro.relation, W_3_x, W_4_r, self.gate("r"))
        return activate(micro.relation_activation, O_r)

    def output_operator(self, W_5_x: Tensor | None, W_6_O_r: Tensor) -> Tensor:
        """Return O_v from its two linked inputs."""
        return combine(self.architecture.macro.output, W_5_x, W_6_O_r, self.gate("v"))

    @overload
    def link(self, i: int, x: Tensor) -> Tensor: ...

    @overload
    def link(self, i: int, x: None) -> None: ...

    def link(self, i: int, x: Tensor | None) -> Tensor | None:
        """Return W_i x; W_i is the identity where it is not trained, and W_i 0 = 0."""
        linear = self.linear(i)
        if x is None or linear is None:
            return x
        linked: Tensor = linear(x)
        return linked

    def linear(self, i: int) -> nn.Linear | None:
        """Return W_i with its bias, or None where it is the identity."""
        if i not in self.architecture.micro.trained:
            return None
        linear = self.weights.W[str(i)]
        assert isinstance(linear, nn.Linear)
        return linear

    def recurrent_link(self, i: int) -> "RecurrentLink | None":
        """Return W_i for use once a step, or None where it is the identity."""
        linear = self.linear(i)
        return None if linear is None else RecurrentLink(linear)

    def gate(self, operator: str) -> Gate | None:
        """Return the gate of operator s, r or v, if it has one."""
        gates = self.weights.gates
        if operator not in gates:
            return None
        gate = gates[operator]
        assert isinstance(gate, Gate)
        return gate


def choose(source: Source, s: Tensor, h_prev: Tensor, O_s: Tensor | None) -> Tensor | None:
    """Return the vector that a connection reads; None is the zero vector."""
    match source:
        case Source.SUBJECT:
            return s
        case Source.HIDDEN:
            return h_prev
        case Source.SUBJECT_OUTPUT:
            return O_s
        case Source.ZERO:
            return None
        case _:
            assert_never(source)


Operator = Callable[[int, Tensor], Tensor]
"""Takes the step t and what waits for the step before; returns the operator's output."""


def recur(cell: PathCell, s: Tensor, W_4_r: Tensor, h_0: Tensor) -> Tensor:
    """Return O_r = h_t of every step, (batch, length, dim)."""
    relation_operator = prepare_operator(cell, W_4_r, is_subject=False)
    subject_operator: Operator | None = None
    if cell.architecture.macro.relation_source is Source.SUBJECT_OUTPUT:
        subject_operator = prepare_operator(cell, cell.link(1, s), is_subject=True)
    h_t, outputs = h_0, []
    for t in range(W_4_r.shape[1]):
        x_r = h_t if subject_operator is None else subject_operator(t, h_t)
        h_t = relation_operator(t, x_r)
        outputs.append(h_t)
    return torch.stack(outputs, dim=1)


def prepare_operator(cell: PathCell, known: Tensor, *, is_subject: bool) -> Operator:
    """Return O_s, whose first input W_1 s is known for all steps, or O_r, whose second W_4 r is."""
    macro, micro = cell.architecture.macro, cell.architecture.micro
    combinator = macro.subject if is_subject else macro.relation
    activation = micro.subject_activation if is_subject else micro.relation_activation
    link, gate = cell.recurrent_link(2 if is_subject else 3), cell.gate("s" if is_subject else "r")
    known_steps = known.unbind(1)  # once: the gradients of slices would each be a whole tensor
    gate_steps: tuple[Tensor, ...] = ()
    gate_link: RecurrentLink | None = None
    if gate is not None:
        known_part: Tensor = gate.W_a(known) if is_subject else gate.W_b(known)
        gate_steps = known_part.unbind(1)
        gate_link = RecurrentLink(gate.W_b if is_subject else gate.W_a)

    def operate(t: int, x: Tensor) -> Tensor:
        waiting = x if link is None else link.apply(x)
        a, b = (known_steps[t], waiting) if is_subject else (waiting, known_steps[t])
        if combinator is Combinator.ADD:
            return activate_sum(activation, a, b)
        if gate_link is None:
            return activate(activation, combine(combinator, a, b))
        return activate(activation, weigh(a, b, gate_link.apply(waiting) + gate_steps[t]))

    return operate


@final
class RecurrentLink:
    """W x + b for one pass over the steps of paths; made anew for each pass.

    Autograd by itself would multiply out and add up the gradient of the matrix for every step;
    here the inputs and the gradients of all steps are kept and multiplied in one product.
    """

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
        ctx: Any, weight: Tensor, bias: Tensor | None, inputs: list[Tensor], gradients: list[Tensor]
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
