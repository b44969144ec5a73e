"""A graph as a propagation reads it: edges by the node they reach, and which are left out."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from interstellar.architecture.propagation import LeftOut
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, with_inverses
from interstellar.model.edge_segments import Segments
from interstellar.model.message_flow import MessageFlow

CHUNK = 64
"""Runs of edges that are added up one after the other."""


@final
class PropagationGraph:
    """Edges (source, relation, target) in the order of their targets; inverses are edges too.

    All tensors are on one device. Edge e has the place e in every tensor of edges.
    """

    def __init__(self, triplets: Triplets, *, n_entities: int, n_relations: int) -> None:
        edges = with_inverses(triplets, n_relations).astype(np.int64)
        keys = (edges[:, OBJECT], edges[:, RELATION], edges[:, SUBJECT])
        edges = edges[np.lexsort(keys[::-1])]  # the last key counts first
        self.n_entities = n_entities
        self.n_relations = n_relations
        """Without inverses; the inverse of r is r + n_relations."""
        sources, relations, targets = torch.from_numpy(edges.T.copy())
        self.sources, self.relations, self.targets = sources, relations, targets
        self.starts = _starts(targets, n_entities)
        """The edges that reach node v are `starts[v]` to `starts[v + 1] - 1`."""

    @classmethod
    def of_edges(
        cls, edges: tuple[Tensor, Tensor, Tensor], *, n_entities: int, n_relations: int
    ) -> "PropagationGraph":
        """Return the graph of edges (source, relation, target) in any order, inverses not added."""
        sources, relations, targets = edges
        keys = (targets * (2 * n_relations) + relations) * max(1, n_entities) + sources
        order = torch.argsort(keys)
        graph = object.__new__(cls)
        graph.n_entities, graph.n_relations = n_entities, n_relations
        graph.sources, graph.relations, graph.targets = (column[order] for column in edges)
        graph.starts = _starts(graph.targets, n_entities)
        return graph

    def to(self, device: torch.device) -> "PropagationGraph":
        """Return the graph on a device."""
        if device == self.device:
            return self
        moved = object.__new__(PropagationGraph)
        moved.n_entities, moved.n_relations = self.n_entities, self.n_relations
        for name in ("sources", "relations", "targets", "starts"):
            setattr(moved, name, getattr(self, name).to(device))
        return moved

    @property
    def n_edges(self) -> int:
        """Inverses included."""
        return len(self.sources)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        device: torch.device = self.sources.device
        return device

    def all_edges(self) -> "Edges":
        """Return all edges, none left out."""
        return Edges(self, None)

    def edges_without(self, batch: Tensor, rule: LeftOut) -> "Edges":
        """Return the edges without those that give the triplets of a batch, (n, 3), away.

        Relations of the batch from n_relations on are inverses. No size depends on the batch.
        """
        groups = self._triplet_groups if rule is LeftOut.TRIPLETS else self._pair_groups
        s, r, o = batch.T
        n = self.n_relations
        back = torch.where(r < n, r + n, r - n)
        wanted = torch.cat([self._keys(s, r, o, rule), self._keys(o, back, s, rule)])
        return Edges(self, ~groups.find(wanted))

    def _keys(self, s: Tensor, r: Tensor, o: Tensor, rule: LeftOut) -> Tensor:
        pairs = s * self.n_entities + o
        return pairs * (2 * self.n_relations) + r if rule is LeftOut.TRIPLETS else pairs

    @cached_property
    def _triplet_groups(self) -> "EdgeGroups":
        keys = self._keys(self.sources, self.relations, self.targets, LeftOut.TRIPLETS)
        return EdgeGroups.of(keys)

    @cached_property
    def _pair_groups(self) -> "EdgeGroups":
        return EdgeGroups.of(
            self._keys(self.sources, self.relations, self.targets, LeftOut.BETWEEN)
        )

    @cached_property
    def triplets(self) -> tuple[Tensor, int]:
        """For each edge the number of the triplet that it or its inverse is; how many there are."""
        n, ends = self.n_relations, (self.sources, self.targets)
        is_inverse = self.relations >= n
        subjects, objects = torch.where(is_inverse, torch.stack(ends[::-1]), torch.stack(ends))
        keys = self._keys(subjects, self.relations % n, objects, LeftOut.TRIPLETS)
        distinct, numbers = torch.unique(keys, return_inverse=True)
        return numbers, len(distinct)

    @cached_property
    def leaving(self) -> tuple[Tensor, Tensor]:
        """Where the edges that leave each node begin, the last end included, and these edges."""
        sources, edges = torch.sort(self.sources, stable=True)
        return _starts(sources, self.n_entities), edges

    @cached_property
    def outgoing(self) -> "OutgoingEdges":
        """The same edges by the node they leave."""
        return OutgoingEdges.of(self)

    @cached_property
    def flow(self) -> MessageFlow:
        """Which messages reach which nodes, where a node sends the same to all; for the CPU."""
        return self._flow(self.sources * (2 * self.n_relations) + self.relations)

    @cached_property
    def flow_of_edges(self) -> MessageFlow:
        """The same, where each edge has a message of its own."""
        return self._flow(torch.arange(self.n_edges))

    def _flow(self, keys: Tensor) -> MessageFlow:
        return MessageFlow.of((self.sources, self.relations, self.targets), self.starts, keys)

    @cached_property
    def segments(self) -> Segments:
        """The edges that reach each node, in segments."""
        return Segments.of(self.starts)

    @cached_property
    def incoming(self) -> tuple[Tensor, Tensor, Tensor]:
        """Starts, sources and relations as int32, which kernels read."""
        return self.starts.int(), self.sources.int(), self.relations.int()

    @cached_property
    def most_incoming(self) -> int:
        """How many edges reach the node that most reach."""
        return int(self.starts.diff().max()) if self.n_entities else 0


@dataclass(frozen=True, slots=True, eq=False)
class EdgeGroups:
    """Edges that are found by a common key."""

    keys: Tensor
    """Ascending, each once; the last one is no edge's."""
    group_of_edge: Tensor

    @classmethod
    def of(cls, keys: Tensor) -> "EdgeGroups":
        """Put edges with equal keys together."""
        distinct, group_of_edge = torch.unique(keys, return_inverse=True)
        nobodys = distinct.new_full((1,), torch.iinfo(torch.int64).max)
        return cls(torch.cat([distinct, nobodys]), group_of_edge)

    def find(self, wanted: Tensor) -> Tensor:
        """Return for each edge whether its key is among the wanted ones."""
        places = torch.searchsorted(self.keys, wanted)
        found = torch.where(self.keys[places] == wanted, places, len(self.keys) - 1)
        is_wanted = torch.zeros_like(self.keys, dtype=torch.bool).index_fill_(0, found, value=True)
        return is_wanted[self.group_of_edge]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutgoingEdges:
    """Edges by source and relation, int32: a run is the edges of a segment with one relation.

    Sums over the edges of a relation are taken in runs, then in chunks of runs, then whole: in
    the same order every time.
    """

    segments: Segments
    """The places of each node's edges in the tensors of edges here."""
    edges: Tensor
    """Which edge of the graph each is; targets and relations likewise."""
    targets: Tensor
    relations: Tensor
    numbers: Tensor
    """The number of each edge among those that reach its target, from 0."""
    run_ends: Tensor
    """Of the last edge of a run the run's place by relation, else -1."""
    chunk_starts: Tensor
    """Chunk i has the runs at the places `chunk_starts[i]` to `chunk_starts[i + 1] - 1`."""
    chunks_of_relation: Tensor
    """Relation r has the chunks `chunks_of_relation[r]` to `chunks_of_relation[r + 1] - 1`."""
    n_runs: int

    @classmethod
    def of(cls, graph: PropagationGraph) -> "OutgoingEdges":
        """Sort the edges of a graph anew."""
        n_relations = 2 * graph.n_relations
        keys, edges = torch.sort(graph.sources * n_relations + graph.relations, stable=True)
        segments = Segments.of(_starts(keys // n_relations, graph.n_entities))
        is_first = torch.cat([keys.new_ones(1), keys.diff()]).bool()[: len(keys)]
        is_first[segments.firsts[segments.ends > segments.firsts].long()] = True
        run_starts = is_first.nonzero().flatten()
        relations, by_relation = torch.sort(keys[run_starts] % n_relations, stable=True)
        last = torch.cat([run_starts[1:], run_starts.new_tensor([len(keys)])]) - 1
        run_ends = torch.full_like(edges, -1)
        run_ends[last[by_relation]] = torch.arange(len(relations), device=keys.device)
        chunk_starts, chunks = cut_into_chunks(_starts(relations, n_relations))
        parts = {
            "edges": edges,
            "targets": graph.targets[edges],
            "relations": graph.relations[edges],
            "numbers": edges - graph.starts[graph.targets[edges]],
            "run_ends": run_ends,
            "chunk_starts": chunk_starts,
            "chunks_of_relation": chunks,
        }
        whole = {name: part.int() for name, part in parts.items()}
        return cls(segments=segments, n_runs=len(relations), **whole)


def cut_into_chunks(starts: Tensor) -> tuple[Tensor, Tensor]:
    """Return where chunks of each group begin, the last end included, and each group's chunks."""
    n_chunks = -(-starts.diff() // CHUNK)
    chunks = torch.cat([n_chunks.new_zeros(1), n_chunks.cumsum(0)])
    numbers = torch.arange(int(chunks[-1]), device=starts.device)
    group = torch.repeat_interleave(n_chunks)
    begins = starts[group] + CHUNK * (numbers - chunks[group])
    return torch.cat([begins, starts[-1:]]), chunks


@final
class Edges:
    """The edges of one call: all of a graph's, or those that are kept."""

    def __init__(
        self, graph: PropagationGraph, kept: Tensor | None, scales: Tensor | None = None
    ) -> None:
        """Take edges of a graph; of a part of a larger graph the scales are given."""
        self.graph = graph
        self._scales = scales
        self.kept = kept
        """For each edge whether it is there, or None where all are."""

    def without_some(self, share: float, generator: torch.Generator) -> "Edges":
        """Return these without a random share of the triplets, each with its inverse."""
        numbers, n = self.graph.triplets
        drawn = torch.rand(n, generator=generator, device=numbers.device) >= share
        kept = drawn[numbers]
        return Edges(self.graph, kept if self.kept is None else kept & self.kept)

    @cached_property
    def kept_bytes(self) -> Tensor | None:
        """The same as bytes, which kernels read."""
        return None if self.kept is None else self.kept.view(torch.uint8)

    @cached_property
    def degrees(self) -> Tensor:
        """How many edges reach each node, (n_entities,)."""
        starts = self.graph.starts
        if self.kept is None:
            return starts.diff()
        n_before = torch.cat([starts.new_zeros(1), self.kept.cumsum(0)])
        return n_before[starts].diff()

    @cached_property
    def scales(self) -> Tensor:
        """The log-degree of each node, the boundary counted in, over the mean of all; float64."""
        if self._scales is not None:
            return self._scales
        logs = (self.degrees + 1).double().log()
        return logs / logs.mean().clamp(min=1e-6)

    @cached_property
    def flow(self) -> MessageFlow:
        """Which messages reach which nodes, where a node sends the same to all; for the CPU."""
        return self.graph.flow.keeping(self.kept)

    @cached_property
    def flow_of_edges(self) -> MessageFlow:
        """The same, where each edge has a message of its own."""
        return self.graph.flow_of_edges.keeping(self.kept)


def _starts(ascending: Tensor, n: int) -> Tensor:
    """Return where each of the numbers 0 … n begins in an ascending list of them."""
    return torch.searchsorted(ascending, torch.arange(n + 1, device=ascending.device))
