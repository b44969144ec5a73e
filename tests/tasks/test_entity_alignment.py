"""Entity alignment is read from the subject table by cosine."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.architecture.literature import LITERATURE
from interstellar.data.graph import GraphPair
from interstellar.data.loading import load
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.similarity import Decoding
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.splits import Split
from interstellar.tasks.task import build_network, task_for

COSINE = Decoding.COSINE


def load_pair() -> GraphPair:
    graph = load("synthetic-alignment:entities=60")
    assert isinstance(graph, GraphPair)
    return graph


def draw_subjects(graph: GraphPair) -> Tensor:
    return torch.randn(graph.n_entities, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("split", Split)
@pytest.mark.parametrize("candidates", Candidates)
def test_metrics_are_those_of_cosines_counted_by_hand(split: Split, candidates: Candidates) -> None:
    graph = load_pair()
    subjects = draw_subjects(graph)
    pairs = graph.valid if split is Split.VALID else graph.test
    reference = np.concatenate([graph.valid, graph.test])[:, 1].tolist()
    everyone = range(len(graph.target.entities))
    rivals = reference if candidates is Candidates.REFERENCE else everyone

    metrics = EntityAlignment(graph).measure_decoded(subjects, split, candidates, COSINE)

    unit = functional.normalize(subjects.double(), dim=1)
    first, second = unit.tensor_split([len(graph.source.entities)])
    cosines = (first @ second.T).tolist()
    ranks = [1 + sum(cosines[a][c] > cosines[a][b] for c in rivals) for a, b in pairs.tolist()]
    assert metrics.n == len(pairs)
    assert metrics.mean_rank == pytest.approx(sum(ranks) / len(ranks))


def test_only_the_subject_table_and_only_its_directions_count() -> None:
    graph = load_pair()
    task = EntityAlignment(graph)
    network = build_network(task, LITERATURE["RSN"], dim=6, dropout=0.3)
    network.initialise(torch.Generator().manual_seed(1))
    before = task.measure(network, Split.TEST)

    network.entities.data.zero_()
    network.one_way_subjects.data.mul_(torch.rand(graph.n_entities, 1) + 0.1)

    assert task.measure(network, Split.TEST) == before


@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("candidates", Candidates)
def test_partners_with_the_same_embedding_are_all_found(
    decoding: Decoding, candidates: Candidates
) -> None:
    graph = load_pair()
    task = EntityAlignment(graph)
    subjects = draw_subjects(graph)
    pairs = np.concatenate([graph.train, graph.valid, graph.test])
    for a, b in graph.joint_pairs(pairs).tolist():
        subjects[b] = 2 * subjects[a]

    measure = task.measure_matched if decoding.is_one_to_one else task.measure_decoded
    metrics = measure(subjects, Split.TEST, candidates, decoding)

    assert (metrics.hits_at_1, metrics.n) == (1, len(graph.test))


def test_embeddings_that_are_all_alike_find_nobody() -> None:
    """Ties stand at the mean of their places, so that the order of ids never helps."""
    graph = load_pair()
    subjects = torch.ones(graph.n_entities, 6)

    metrics = EntityAlignment(graph).measure_decoded(
        subjects, Split.TEST, Candidates.REFERENCE, COSINE
    )

    assert metrics.hits_at_1 == 0
    assert metrics.mean_rank == (len(graph.valid) + len(graph.test) + 1) / 2


def test_two_graphs_are_for_alignment_in_one_way_with_batch_norm() -> None:
    task = task_for(load_pair())

    assert isinstance(task, EntityAlignment)
    assert task.form.has_batch_norm
    assert not task.form.is_two_way
