"""What is sent along the edges of a propagation, and how it depends on what it is made of."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import assert_never

import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.model.combinators import activate, combine, hermitian, weigh
from interstellar.model.message_flow import MessageFlow


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

    def with_tensors(self, tensors: Iterable[Tensor | None]) -> "Messages":
        """Return messages made likewise of other tensors."""
        a, b, gate_a, gate_b, attention = tensors
        assert b is not None
        return replace(self, a=a, b=b, gate_a=gate_a, gate_b=gate_b, attention=attention)

    def split(self, n: int) -> "Iterator[Messages]":
        """Yield the messages of n queries of the batch after those of others."""
        columns = [
            repeat(x) if x is None or x.shape[1] == 1 else torch.split(x, n, dim=1)
            for x in self.tensors
        ]
        return (self.with_tensors(part) for part in zip(*columns, strict=False))


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """What each query begins with, and adds at every layer."""

    nodes: Tensor
    """(batch,)."""
    vectors: Tensor
    """(batch, dim)."""
    is_one_query: bool = False
    """Whether all nodes are of one graph that has the nodes of every query."""

    def detach(self) -> "Boundary":
        """Return the same without a gradient."""
        return replace(self, vectors=self.vectors.detach())

    @property
    def at(self) -> tuple[Tensor, Tensor]:
        """Where the vectors are in states, (n_entities, batch or 1, dim)."""
        nodes = self.nodes
        columns = torch.arange(len(nodes), device=nodes.device)
        return nodes, torch.zeros_like(columns) if self.is_one_query else columns

    @property
    def n_columns(self) -> int:
        """How many queries states are of."""
        return 1 if self.is_one_query else len(self.nodes)

    def spread(self, n_entities: int) -> Tensor:
        """Return the vectors at their nodes and 0 elsewhere, (n_entities, batch or 1, dim)."""
        dim = self.vectors.shape[1]
        return self.vectors.new_zeros(n_entities, self.n_columns, dim).index_put(
            self.at, self.vectors
        )

    def numbers(self, n_entities: int) -> Tensor:
        """Return which vector each node has, -1 for none; where there is one query."""
        numbers = torch.arange(len(self.nodes), device=self.nodes.device)
        return numbers.new_full((n_entities,), -1).index_copy(0, self.nodes, numbers)

    def split(self, n: int) -> "Iterator[Boundary]":
        """Yield the boundary of n queries of the batch after that of others."""
        parts = zip(torch.split(self.nodes, n), torch.split(self.vectors, n), strict=True)
        return (Boundary(*part) for part in parts)


def gather(messages: Messages, flow: MessageFlow) -> list[Tensor | None]:
    """Return what each message is made of, (n_messages, …)."""
    places = (flow.sources, flow.relations, flow.sources, flow.relations, flow.edges)
    return [
        None if x is None else x.contiguous().index_select(0, at)
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
