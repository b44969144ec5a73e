"""Graphs by name and untrained networks on them, for tests of predictions."""

from collections.abc import Sequence

import numpy as np
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import no_triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.inference.prediction import Predictor
from interstellar.model.path_network import PathNetwork
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.task import build_network
from tests.tiny_graphs import EUROPE

CPU = torch.device("cpu")


def graph_of(rows: Sequence[tuple[str, str, str]], *, n_valid: int = 0) -> KnowledgeGraph:
    """Return a graph of named triplets, the last of them held out for validation."""
    entities = Vocabulary(sorted({name for s, _, o in rows for name in (s, o)}))
    relations = Vocabulary(sorted({r for _, r, _ in rows}))
    ids = [(entities.id(s), relations.id(r), entities.id(o)) for s, r, o in rows]
    triplets = np.array(ids, dtype=np.int32)
    n_train = len(rows) - n_valid
    return KnowledgeGraph(
        name="small",
        entities=entities,
        relations=relations,
        train=triplets[:n_train],
        valid=triplets[n_train:],
        test=no_triplets(),
    )


def europe() -> KnowledgeGraph:
    return graph_of(EUROPE)


def random_graph(n_entities: int = 150, n_triplets: int = 600) -> KnowledgeGraph:
    rng = np.random.default_rng(0)
    rows = {
        (f"e{s}", f"r{r}", f"e{o}")
        for s, r, o in rng.integers(0, [n_entities, 4, n_entities], (n_triplets, 3)).tolist()
    }
    return graph_of(sorted(rows), n_valid=40)


def draw_network(graph: KnowledgeGraph, architecture: str = "ComplEx") -> PathNetwork:
    task = LinkPrediction(graph)
    network = build_network(task, LITERATURE[architecture], dim=8, dropout=0.0)
    network.initialise(torch.Generator().manual_seed(0))
    return network


def predictor_of(graph: KnowledgeGraph, *, temperature: float = 0.5) -> Predictor:
    return Predictor(
        compute_logits=draw_network(graph).logits,
        known=LinkPrediction(graph).known,
        device=CPU,
        temperature=temperature,
    )
