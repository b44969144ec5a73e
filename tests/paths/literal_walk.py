"""The biased walk word for word: one path at a time, the weight of every candidate computed.

Slow and independent of `interstellar.paths.biased_walk`, which is tested against it and measured
against it (`benchmarks/walk.py`).
"""

import random
from collections import defaultdict
from collections.abc import Iterator

from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkRule, WalkSettings

Path = tuple[int, ...]
"""e_0, r_1, e_1, r_2, e_2 and so on."""


class LiteralWalk:
    """Walks on dictionaries and sets."""

    def __init__(self, graph: WalkGraph, settings: WalkSettings) -> None:
        self.settings = settings
        self.n_first = graph.n_first
        self.seeds = set() if graph.seeds is None else set(graph.seeds.nonzero()[0].tolist())
        self.edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for s, r, o in graph.triplets().tolist():
            self.edges[s].append((r, o))
        self.edge_sets = {s: set(edges) for s, edges in self.edges.items()}
        self.neighbours = {s: {o for _, o in edges} for s, edges in self.edges.items()}

    def sample(self, triplet: Path, rng: random.Random) -> Path:
        """Return one path that starts with `triplet`."""
        path = triplet
        for _ in range(1, self.settings.length):
            candidates = self.edges[path[-1]]
            weights = [self.weight(path, *candidate) for candidate in candidates]
            path += rng.choices(candidates, weights)[0]
        return path

    def probabilities(self, triplet: Path) -> Iterator[tuple[Path, float]]:
        """Yield every path that starts with `triplet`, and how likely it is."""
        yield from self._continue(triplet, 1.0)

    def weight(self, path: Path, relation: int, entity: int) -> float:
        """Return the weight of one candidate for the next step of `path`."""
        match self.settings.rule:
            case WalkRule.PROGRAM:
                return self._program_weight(path, relation, entity)
            case WalkRule.PAPER:
                return self._paper_weight(path, entity)

    def _continue(self, path: Path, probability: float) -> Iterator[tuple[Path, float]]:
        if len(path) == 2 * self.settings.length + 1:
            yield path, probability
            return
        candidates = self.edges[path[-1]]
        weights = [self.weight(path, *candidate) for candidate in candidates]
        for candidate, weight in zip(candidates, weights, strict=True):
            yield from self._continue(path + candidate, probability * weight / sum(weights))

    def _program_weight(self, path: Path, relation: int, entity: int) -> float:
        alpha, beta = self.settings.depth_bias, self.settings.cross_bias
        weight = 1.0
        if beta is not None:
            weight *= beta if entity in self.seeds else 1 - beta
        if len(path) >= 5:
            weight *= 1 - alpha if (relation, entity) in self.edge_sets[path[0]] else alpha
        return weight

    def _paper_weight(self, path: Path, entity: int) -> float:
        alpha, beta = self.settings.depth_bias, self.settings.cross_bias
        previous, current = path[-3], path[-1]
        is_near = entity == previous or entity in self.neighbours[previous]
        weight = 1 - alpha if is_near else alpha
        if beta is not None:
            assert self.n_first is not None
            crosses = (current < self.n_first) != (entity < self.n_first)
            weight *= beta if crosses else 1 - beta
        return weight
