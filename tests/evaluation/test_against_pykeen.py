"""Filtered ranks and metrics against PyKEEN's `RankBasedEvaluator`, on the same logits.

Raw ranks are not compared: in PyKEEN 1.11.1 the evaluator raises an error with `filtered=False`.
"""

import numpy as np
import pytest
import torch
from pykeen.datasets import UMLS, Dataset, Kinships, Nations
from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults
from pykeen.models import ComplEx, DistMult, Model, TransE

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import with_inverses
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.ranks import rank_objects
from tests.evaluation.pykeen_graphs import NAME_BY_KEY, as_graph, logits_of
from tests.evaluation.small_rankings import CPU


@pytest.mark.parametrize("model_class", [DistMult, ComplEx, TransE])
@pytest.mark.parametrize("dataset_class", [Nations, UMLS, Kinships])
def test_ranks_and_metrics_are_pykeens(
    dataset_class: type[Dataset], model_class: type[DistMult | ComplEx | TransE]
) -> None:
    dataset = dataset_class()
    model = model_class(triples_factory=dataset.training, embedding_dim=16, random_seed=0)

    ours = rank_both_directions(dataset, model)

    ranks, results = rank_with_pykeen(dataset, model)
    np.testing.assert_array_equal(ours, ranks)
    for side, part in zip(("tail", "head"), np.split(ours, 2), strict=True):
        assert_same_metrics(part, results, side)
    assert_same_metrics(ours, results, "both")


@pytest.mark.parametrize("dataset_class", [Nations, UMLS, Kinships])
def test_ranks_are_pykeens_where_many_logits_are_equal(dataset_class: type[Dataset]) -> None:
    dataset = dataset_class()
    model = DistMult(triples_factory=dataset.training, embedding_dim=4, random_seed=0)
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(weights.mul(3).round())  # small whole numbers: products are exact

    ours = rank_both_directions(dataset, model)

    ranks, results = rank_with_pykeen(dataset, model)
    assert (ours % 1 == 0.5).mean() > 0.2, "there must be ties"
    np.testing.assert_array_equal(ours, ranks)
    assert_same_metrics(ours, results, "both")


def rank_both_directions(
    dataset: Dataset, model: Model
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return our ranks: all tails, then all heads."""
    graph = as_graph(dataset)
    n_relations = len(graph.relations)
    ranks = rank_objects(
        logits_of(model, n_relations),
        with_inverses(graph.test, n_relations),
        KnownAnswers.of(graph),
        n_entities=len(graph.entities),
        device=CPU,
    )
    return ranks.numpy()


def rank_with_pykeen(
    dataset: Dataset, model: Model
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], RankBasedMetricResults]:
    """Return the ranks in the same order, and the metrics."""
    assert dataset.validation is not None
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    results = evaluator.evaluate(
        model,
        dataset.testing.mapped_triples,
        batch_size=64,
        device=CPU,
        use_tqdm=False,
        additional_filter_triples=[
            dataset.training.mapped_triples,
            dataset.validation.mapped_triples,
        ],
    )
    assert isinstance(results, RankBasedMetricResults)
    sides = [np.concatenate(evaluator.ranks[side, "realistic"]) for side in ("tail", "head")]
    return np.concatenate(sides), results


def assert_same_metrics(
    ranks: np.ndarray[tuple[int], np.dtype[np.float64]], results: RankBasedMetricResults, side: str
) -> None:
    ours = Metrics.of(torch.from_numpy(ranks)).as_dict()
    theirs = {key: results.get_metric(f"{side}.realistic.{NAME_BY_KEY[key]}") for key in ours}
    assert ours == pytest.approx(theirs, rel=1e-6)
