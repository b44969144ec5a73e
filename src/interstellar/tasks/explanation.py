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
"""

from dataclasses import dataclass
from itertools import groupby
from typing import final

import numpy as np
import torch
from torch import Tensor

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.choices import Source
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.spelling import quote
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.model.path_network import PathNetwork
from interstellar.paths.path_search import PathSearch
from interstellar.tasks.prediction import Query

CHUNK_SIZE = 512
"""Paths whose gradients are computed at once."""
DIGITS = 5
"""Of supports that are compared; those behind are rounding of float32."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeakingPath:
    """A path between a query's entity and an answer."""

    path: Triplets
    support: float
    """From -1 to 1: how far the answer falls as the network unlearns the path; see above."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """The paths that speak for an answer, those with the most support first, then the shortest."""

    paths: tuple[SpeakingPath, ...]
    is_complete: bool
    """Whether every path up to the length is here; see `PathSearch`."""


@final
class Explainer:
    """A network and its training graph, ready to say why.

    Args:
        network: One of link prediction.
        graph: What it was trained on.
        length: The most triplets of a path; as long as those it learnt from.
    """

    def __init__(self, network: PathNetwork, graph: KnowledgeGraph, *, length: int) -> None:
        assert network.form.is_two_way, "only networks of link prediction are explained"
        assert not network.form.has_batch_norm
        self._network = network
        self._length = length
        self._search = PathSearch(
            graph.train, n_entities=len(graph.entities), n_relations=len(graph.relations)
        )

    @property
    def reads_path(self) -> bool:
        """Whether the cell reads what the step before handed on."""
        macro = canonical_form(self._network.cell.architecture).macro
        return bool({macro.relation_source, macro.output_source} - {Source.SUBJECT, Source.ZERO})

    def explain(self, query: Query, answer: int) -> Explanation:
        """Return the paths from a query's entity to an answer; the triplet asked for is no path."""
        asked = (query.entity, query.relation, answer)
        found = self._search.find(query.entity, answer, length=self._length, without=asked)
        [own] = self._gradients(np.array([[asked]], dtype=np.int32))
        supports = [
            support
            for _, group in groupby(found.paths, key=len)
            for support in self._supports(np.stack(list(group)), own)
        ]
        order = np.argsort(-np.array(supports).round(DIGITS), kind="stable")
        paths = (SpeakingPath(path=found.paths[i], support=supports[i]) for i in order)
        return Explanation(paths=tuple(paths), is_complete=found.is_complete)

    def _supports(self, paths: Triplets, own: "_Gradients") -> list[float]:
        """Return the support of paths of one length, (n, length, 3)."""
        return [
            support
            for gradients in self._gradients(paths)
            for support in gradients.cosine(own).tolist()
        ]

    def _gradients(self, paths: Triplets) -> "list[_Gradients]":
        """Return the gradients of the last objects' logits, in chunks of paths."""
        starts = range(0, len(paths), CHUNK_SIZE)
        return [self._gradients_at_once(paths[start : start + CHUNK_SIZE]) for start in starts]

    def _gradients_at_once(self, paths: Triplets) -> "_Gradients":
        network = self._network
        device = network.objects.device
        ids = torch.from_numpy(paths.astype(np.int64)).to(device)
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
        of_objects, of_subjects, of_relations = (
            0,
            network.size.n_entities,
            2 * network.size.n_entities,
        )
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


def describe_path(path: Triplets, graph: KnowledgeGraph) -> str:
    """Return a path in words, `France –neighbor→ Spain –locatedin→ Europe`; inverses as ←r–.

    Names that a line cannot hold are shown as `quote` does.
    """
    words = [_show(graph.entities.name(path[0, SUBJECT]))]
    for _, relation, object_ in path.tolist():
        name = _show(graph.relations.name(relation % len(graph.relations)))
        arrow = f"←{name}–" if relation >= len(graph.relations) else f"–{name}→"
        words += [arrow, _show(graph.entities.name(object_))]
    return " ".join(words)


def list_facts(path: Triplets, graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    """Return the triplets of a path by name, each as it stands in the graph."""
    facts = []
    for subject, relation, object_ in path.tolist():
        ends = graph.entities.name(subject), graph.entities.name(object_)
        first, last = ends if relation < len(graph.relations) else ends[::-1]
        facts.append((first, graph.relations.name(relation % len(graph.relations)), last))
    return facts


def _show(name: str) -> str:
    return quote(name)[1:-1]
