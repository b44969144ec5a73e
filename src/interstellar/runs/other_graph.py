"""Another graph for a network that was trained: entities it never saw, relations that it knows."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from interstellar.data.findings import Findings
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.loading import Source
from interstellar.data.spelling import quote
from interstellar.data.triplets import RELATION, Triplets
from interstellar.data.vocabulary import UNKNOWN, Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.runs.grown_graph import read_whole

N_NAMED = 5


def read_other_graph(source: Source | KnowledgeGraph, relations: Vocabulary) -> KnowledgeGraph:
    """Return a graph with the ids of known relations; without splits of its own, all are facts."""
    if isinstance(source, KnowledgeGraph):
        return with_relations(source, relations)
    findings = Findings()
    graph = read_whole(source, findings)
    findings.raise_faults()
    if not isinstance(graph, KnowledgeGraph):
        raise SettingsError(
            f"{source} is no single graph, but links are predicted in one. Give one graph."
        )
    return with_relations(graph, relations)


def with_relations(graph: KnowledgeGraph, relations: Vocabulary) -> KnowledgeGraph:
    """Return a graph whose relations are numbered as in a vocabulary that has them all."""
    ids = relations.ids(graph.relations.array)
    unknown = [quote(graph.relations.name(i)) for i in (ids == UNKNOWN).nonzero()[0].tolist()]
    if unknown:
        more = f" and {len(unknown) - N_NAMED:,} more" if len(unknown) > N_NAMED else ""
        raise DataError(
            f"{graph.name} has relations that the run does not know: "
            f"{', '.join(unknown[:N_NAMED])}{more}. What they mean was never learnt. Leave their "
            "triplets out, or train on a graph that has them."
        )
    train, valid, test = (renumber(graph.split(name), ids) for name in SPLITS)
    return replace(graph, relations=relations, train=train, valid=valid, test=test)


def renumber(triplets: Triplets, ids: npt.NDArray[np.int32]) -> Triplets:
    """Return triplets with other ids of their relations."""
    renumbered: Triplets = triplets.copy()
    renumbered[:, RELATION] = ids[triplets[:, RELATION]]
    return renumbered
