"""Link prediction measures filtered ranks in both directions, as counted by hand."""

import numpy as np
import pytest
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.triplets import with_inverses
from interstellar.model.path_network import PathNetwork
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.tasks.task import build_network, task_for


def load_graph(name: str = "synthetic:entities=60") -> KnowledgeGraph:
    graph = load(name)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def draw_network(task: LinkPrediction) -> PathNetwork:
    network = build_network(task, LITERATURE["ComplEx"], dim=8, dropout=0.0)
    network.initialise(torch.Generator().manual_seed(0))
    return network


def ranks_by_hand(graph: KnowledgeGraph, network: PathNetwork, split: Split) -> list[float]:
    """One query at a time: known answers other than the true one are left out."""
    n_relations = len(graph.relations)
    splits = [with_inverses(graph.split(name), n_relations) for name in ("train", "valid", "test")]
    known = {tuple(row) for row in np.concatenate(splits).tolist()}
    ranks = []
    for s, r, o in with_inverses(graph.split(split), n_relations).tolist():
        [logits] = network.logits(torch.tensor([s]), torch.tensor([r])).tolist()
        rivals = [x for e, x in enumerate(logits) if e != o and (s, r, e) not in known]
        better = sum(x > logits[o] for x in rivals)
        ranks.append(1 + better + sum(x == logits[o] for x in rivals) / 2)
    return ranks


@pytest.mark.parametrize("split", Split)
def test_metrics_are_those_of_ranks_counted_by_hand(split: Split) -> None:
    graph = load_graph()
    task = LinkPrediction(graph)
    network = draw_network(task)

    metrics = task.measure(network, split)

    ranks = ranks_by_hand(graph, network, split)
    assert metrics.n == 2 * len(graph.split(split)) == len(ranks)
    assert metrics.mean_rank == pytest.approx(sum(ranks) / len(ranks))
    assert metrics.mrr == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
    assert metrics.hits_at_10 == pytest.approx(sum(rank <= 10 for rank in ranks) / len(ranks))


@pytest.mark.parametrize(("name", "has_answers"), [("geography-S1", True), ("synthetic", False)])
def test_average_precision_is_measured_where_the_set_names_its_answers(
    name: str, has_answers: bool
) -> None:
    task = LinkPrediction(load_graph(name if has_answers else "synthetic:entities=60"))

    metrics = task.measure(draw_network(task), Split.TEST)

    assert (metrics.auc_pr is not None) is has_answers


def test_one_graph_is_for_link_prediction_in_two_ways_without_batch_norm() -> None:
    task = task_for(load_graph())

    assert isinstance(task, LinkPrediction)
    assert task.form.is_two_way
    assert not task.form.has_batch_norm


def test_measuring_changes_nothing() -> None:
    task = LinkPrediction(load_graph())
    network = draw_network(task)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}

    first, second = task.measure(network, Split.VALID), task.measure(network, Split.VALID)

    assert first == second
    assert all(torch.equal(before[name], now) for name, now in network.state_dict().items())
