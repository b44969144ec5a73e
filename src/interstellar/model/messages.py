"""What is sent along the edges of a propagation, and how it depends on what it is made of."""

from dataclasses import dataclass
from typing import assert_never

import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.model.combinators import activate, combine, hermitian, weigh
from interstellar.model.propagation_graph import DegreeBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Messages:
    """What is sent: m = α act(a[source] ∘ b[relation])."""

    b: Tensor
    """(2 · n_relations, batch or 1, dim)."""
    combinator: Combinator | None = None
    """None where b is the message, whatever node sends it."""
    activation: Activation = Activation.IDENTITY
    a: Tensor | None = None
    """(n_entities, batch, dim)."""
    gate_a: Tensor | None = None
    """The part of the gate's logit that goes with a; likewise `gate_b`."""
    gate_b: Tensor | None = None
    attention: Tensor | None = None
    """α, (n_edges, batch)."""

    @property
    def tensors(self) -> tuple[Tensor | None, ...]:
        """What a gradient is for."""
        return self.a, self.b, self.gate_a, self.gate_b, self.attention


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """What each query begins with, and adds at every layer."""

    nodes: Tensor
    """(batch,)."""
    vectors: Tensor
    """(batch, dim)."""

    def spread(self, n_entities: int) -> Tensor:
        """Return the vectors at their nodes and 0 elsewhere, (n_entities, batch, dim)."""
        n, dim = self.vectors.shape
        state = self.vectors.new_zeros(n_entities, n, dim)
        return state.index_put((self.nodes, torch.arange(n, device=state.device)), self.vectors)


def message(messages: Messages, block: DegreeBlock) -> Tensor:
    """Return the messages of a block of edges, (nodes, degree, batch, dim)."""
    return combine_parts(messages, gather(messages, block))


def gather(messages: Messages, block: DegreeBlock) -> list[Tensor | None]:
    """Return for each edge of a block what its message is made of, (nodes, degree, …)."""
    places = (block.sources, block.relations, block.sources, block.relations, block.edges)
    return [
        None if x is None else x.index_select(0, at.flatten()).view(*at.shape, *x.shape[1:])
        for x, at in zip(messages.tensors, places, strict=True)
    ]


def combine_parts(form: Messages, parts: list[Tensor | None]) -> Tensor:
    """Return α act(a ∘ b) of what was gathered."""
    m, attention = activate(form.activation, combine_two(form, parts)), parts[-1]
    return m if attention is None else m * attention.unsqueeze(-1)


def combine_two(form: Messages, parts: list[Tensor | None]) -> Tensor:
    """Return a ∘ b of what was gathered, or b alone."""
    a, b, gate_a, gate_b, _ = parts
    assert b is not None
    if form.combinator is None or a is None:
        return b
    if form.combinator is Combinator.GATED:
        assert gate_a is not None
        assert gate_b is not None
        return weigh(a, b.expand_as(a), gate_a + gate_b)
    return combine(form.combinator, a, b.expand_as(a))


def differentiate(form: Messages, parts: list[Tensor | None], slope: Tensor) -> list[Tensor | None]:
    """Return the gradient by each part, the slope being that by the messages."""
    a, b, gate_a, gate_b, attention = parts
    assert b is not None
    m, of_attention = activate(form.activation, combine_two(form, parts)), None
    if attention is not None:
        of_attention = (slope * m).sum(dim=-1)
        slope = slope * attention.unsqueeze(-1)
    match form.activation:
        case Activation.TANH:
            slope = slope * (1 - m * m)
        case Activation.SIGMOID:
            slope = slope * m * (1 - m)
    match form.combinator:
        case None | Combinator.ADD:
            return [slope, slope, None, None, of_attention]
        case Combinator.MULTIPLY:
            assert a is not None
            return [slope * b, slope * a, None, None, of_attention]
        case Combinator.HERMITIAN:
            assert a is not None
            of_two = [hermitian(slope, conjugate(x)) for x in (b.expand_as(a), a)]
            return [*of_two, None, None, of_attention]
        case Combinator.GATED:
            assert a is not None
            assert gate_a is not None
            assert gate_b is not None
            g = torch.sigmoid(gate_a + gate_b)
            of_gate = slope * (b - a) * g * (1 - g)
            return [slope * (1 - g), slope * g, of_gate, of_gate, of_attention]
        case _:
            assert_never(form.combinator)


def conjugate(x: Tensor) -> Tensor:
    """Return complex vectors with the sign of their second, imaginary half turned."""
    re, im = x.chunk(2, dim=-1)
    return torch.cat([re, -im], dim=-1)
