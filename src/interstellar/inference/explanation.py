"""Why an answer: the paths of the training graph that speak for it, and how much they do.

A trained network answers a query (s, r, ?) from its weights alone and reads no path then. It
learnt from paths, though: along each of them it was taught to expect every next entity. So a
path from s to the answer a speaks for a as far as knowing the path *is* knowing the answer:

    support = ∇ logit(a | s, r) · ∇ logit(a | path) / (|∇ logit(a | s, r)| |∇ logit(a | path)|)

logit(a | path) is that of a at the path's last step, when the cell has read all steps before.
The gradients are those in the embeddings of entities and relations; the cell's own matrices,
which serve every path, stay as they are. In words: let the network unlearn the path a little,
by the small step of its embeddings that lowers the path's logit most. The answer's own logit
then falls too, by the support as a share of the most that any step of that size takes from it.
1: path and answer stand and fall together. 0: they have nothing in common. Below 0: the path
speaks against the answer.

What it does not say: that the network would answer otherwise had it been trained without the
path (other paths may teach the same), or that the path is a reason in the world. Where the
cell does not read h_{t-1} (`reads_path` is false), it sees only the last step of a path, and
paths with the same last step have the same support.

Listed by support alone, the first paths are often the same path with another first step. So a
path gives way to others as far as it repeats one that is listed before it; see `order_paths`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.architecture.architecture import Source
from interstellar.architecture.canonical_form import canonical_form
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.spelling import quote
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.model.path_network import PathNetwork
from interstellar.paths.path_search import PathSearch

MEANING = "how far the answer's logit falls as the network unlearns the path, at most 1"
CHUNK_SIZE = 512
"""Paths whose gradients are computed at once."""
DIGITS = 5
"""Of supports that are compared; those behind are rounding of float32."""
N_DIVERSE = 25
"""Paths that are chosen for being unlike those before them; all others follow by support."""


@dataclass(frozen=True, slots=True, eq=False)
class SupportingPath:
    """A path that speaks for an answer, by name; as text `france –neighbor→ spain`."""

    path: Triplets
    support: float
    """Above 0 it speaks for the answer, below 0 against it; see `Explanation.meaning`."""
    _graph: KnowledgeGraph = field(repr=False)

    def __str__(self) -> str:
        """Return the path on one line; triplets followed backwards as ←r–."""
        entities, relations = self._graph.entities, self._graph.relations
        words = [_show(entities.name(self.path[0, SUBJECT]))]
        for _, relation, object_ in self.path.tolist():
            name = _show(relations.name(relation % len(relations)))
            arrow = f"←{name}–" if relation >= len(relations) else f"–{name}→"
            words += [arrow, _show(entities.name(object_))]
        return " ".join(words)

    @property
    def triplets(self) -> list[tuple[str, str, str]]:
        """The facts along the path, each as it stands in the graph."""
        entities, relations = self._graph.entities, self._graph.relations
        facts = []
        for subject, relation, object_ in self.path.tolist():
            ends = entities.name(subject), entities.name(object_)
            first, last = ends if relation < len(relations) else ends[::-1]
            facts.append((first, relations.name(relation % len(relations)), last))
        return facts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """The paths that speak for an answer, in the order of `order_paths`."""

    paths: tuple[SupportingPath, ...]
    is_complete: bool
    """Whether every path up to the model's length is here: of very many, some are not followed."""
    reads_path: bool
    """Whether the network reads more of a path than its last step."""
    meaning: str
    """Of the supports, in words."""


@final
class Explainer:
    """A network of link prediction and its training graph, ready to say why.

    Its paths have at most `length` triplets: as many as those it learnt from.
    """

    def __init__(self, network: PathNetwork, graph: KnowledgeGraph, *, length: int) -> None:
        assert network.form.is_two_way, "only networks of link prediction are explained"
        assert not network.form.has_batch_norm
        self._network = network
        self._graph = graph
        self._length = length
        self._search = PathSearch(
            graph.train, n_entities=len(graph.entities), n_relations=len(graph.relations)
        )

    @property
    def reads_path(self) -> bool:
        """Whether the cell reads what the step before handed on."""
        macro = canonical_form(self._network.cell.architecture).macro
        return bool({macro.relation_source, macro.output_source} - {Source.SUBJECT, Source.ZERO})

    def explain(self, entity: int, relation: int, answer: int) -> Explanation:
        """Return the paths from a query's entity to an answer; the triplet asked for is no path."""
        asked = (entity, relation, answer)
        found = self._search.find(entity, answer, length=self._length, without=asked)
        own = self._gradients(np.array([[asked]], dtype=np.int32))
        supports: list[float] = []
        for _, group in groupby(found.paths, key=len):
            paths = np.stack(list(group))
            for start in range(0, len(paths), CHUNK_SIZE):
                gradients = self._gradients(paths[start : start + CHUNK_SIZE])
                supports += gradients.cosine(own).tolist()
        return Explanation(
            paths=tuple(
                SupportingPath(found.paths[place], supports[place], self._graph)
                for place in order_paths(found.paths, supports)
            ),
            is_complete=found.is_complete,
            reads_path=self.reads_path,
            meaning=MEANING,
        )

    def _gradients(self, paths: Triplets) -> "_Gradients":
        """Return the gradients of the last objects' logits for paths (n, length, 3)."""
        network = self._network
        ids = torch.from_numpy(paths.astype(np.int64)).to(network.objects.device)
        subject_ids, relation_ids, last = ids[..., SUBJECT], ids[..., RELATION], ids[:, -1, OBJECT]
        inverse_ids = network.inverse(relation_ids)
        s = torch.cat([network.subjects[subject_ids], network.objects[subject_ids]])
        r = torch.cat([network.relations[relation_ids], network.relations[inverse_ids]])
        s, r = s.detach().requires_grad_(), r.detach().requires_grad_()
        with torch.enable_grad():
            v = torch.cat(network.cell.unroll(s, r, s[:, 0])[:, -1].chunk(2), dim=-1)
            logits = (v * network.entities.detach()[last]).sum()
            of_s, of_r = torch.autograd.grad(logits, (s, r), materialize_grads=True)
        v_1, v_2 = v.detach().unsqueeze(1).chunk(2, dim=-1)
        n = network.size.n_entities
        of_objects, of_subjects, of_relations = 0, n, 2 * n
        uses = (
            (of_objects + last.unsqueeze(1), v_1),
            (of_subjects + last.unsqueeze(1), v_2),
            (of_subjects + subject_ids, of_s[: len(ids)]),
            (of_objects + subject_ids, of_s[len(ids) :]),
            (of_relations + relation_ids, of_r[: len(ids)]),
            (of_relations + inverse_ids, of_r[len(ids) :]),
        )
        keys, values = zip(*uses, strict=True)
        return _Gradients(torch.cat(keys, dim=1), torch.cat(values, dim=1))


@dataclass(frozen=True, slots=True)
class _Gradients:
    """For each path the embeddings it uses, some of them twice, and their gradients."""

    keys: Tensor
    """(batch, n_uses); equal numbers are the same row of the same table."""
    values: Tensor
    """(batch, n_uses, dim)"""

    def cosine(self, other: "_Gradients") -> Tensor:
        """Return the cosines, (batch,); 0 where either is zero."""
        norms = (self.dot(self) * other.dot(other)).sqrt()
        return self.dot(other) / norms.clamp(min=torch.finfo(norms.dtype).tiny)

    def dot(self, other: "_Gradients") -> Tensor:
        """Return the products over all embeddings, (batch,)."""
        is_same = self.keys.unsqueeze(2) == other.keys.unsqueeze(1)
        products = self.values.double() @ other.values.double().transpose(1, 2)
        return (products * is_same).sum(dim=(1, 2))


def order_paths(paths: Sequence[Triplets], supports: Sequence[float]) -> list[int]:
    """Return the places of the paths in the order they are listed: much support, no repetition.

    First comes the path with the most support, then always the one with the most support left
    when the share of its steps that it has in common with a path before it (with the one of which
    it repeats most) is taken off. Steps are the same where they join the same two entities. Of
    equal ones the shorter comes first. So `N_DIVERSE` are chosen; the others follow by support.
    """
    rounded = np.array(supports).round(DIGITS)
    by_support = np.argsort(-rounded, kind="stable").tolist()
    if not by_support:
        return []
    steps, lengths = _number_steps(paths), np.array([len(path) for path in paths])
    repeated = np.zeros(len(paths))
    chosen: list[int] = []
    for _ in range(min(N_DIVERSE, len(paths))):
        left = rounded - repeated
        left[chosen] = -np.inf
        chosen.append(int(left.argmax()))
        n_common = (np.isin(steps, steps[chosen[-1]]) & (steps >= 0)).sum(axis=1)
        repeated = np.maximum(repeated, n_common / lengths)
    return chosen + [place for place in by_support if place not in chosen]


def _number_steps(paths: Sequence[Triplets]) -> npt.NDArray[np.int64]:
    """Return a number for the two entities of each step, (n, longest); -1 after a path's end."""
    numbers = np.full((len(paths), max(map(len, paths))), -1, dtype=np.int64)
    for place, path in enumerate(paths):
        ends = np.sort(path[:, [SUBJECT, OBJECT]].astype(np.int64), axis=1)
        numbers[place, : len(path)] = ends[:, 0] << 32 | ends[:, 1]
    return numbers


def _show(name: str) -> str:
    return quote(name)[1:-1]
