"""The best answers are those of a plain sort, however many queries are asked at once."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.errors import DataError, SettingsError
from interstellar.tasks.prediction import NOBODY, Answers, Ids, Predictor, Query, find_query
from tests.tasks.small_predictors import europe, predictor_of, random_graph


def known_objects(graph: KnowledgeGraph, entity: int, relation: int) -> set[int]:
    splits = np.concatenate([graph.train, graph.valid, graph.test])
    rows = with_inverses(splits, len(graph.relations)).tolist()
    return {o for s, r, o in rows if (s, r) == (entity, relation)}


def answer_plainly(
    predictor: Predictor, graph: KnowledgeGraph, query: Query, k: int, *, with_known: bool
) -> list[tuple[int, float, bool]]:
    """Return entity, probability and whether it is known, by sorting Python numbers."""
    asked = torch.tensor([query.entity]), torch.tensor([query.relation])
    [logits] = predictor.compute_logits(*asked).double().tolist()
    known = known_objects(graph, query.entity, query.relation)
    weights = [np.exp(x / predictor.temperature) for x in logits]
    total = sum(weight for entity, weight in enumerate(weights) if entity not in known)
    order = sorted(range(len(logits)), key=lambda entity: (-logits[entity], entity))
    return [
        (entity, weights[entity] / total, entity in known)
        for entity in order
        if with_known or entity not in known
    ][:k]


def ask_all(graph: KnowledgeGraph) -> tuple[Ids, Ids]:
    """Return queries in both directions, some of them twice."""
    rows = with_inverses(graph.train[:30], len(graph.relations)).astype(np.int64)
    rows = np.concatenate([rows, rows[5:15]])
    return rows[:, 0], rows[:, 1]


def gather(parts: list[Answers], name: str) -> npt.NDArray[Any]:
    return np.concatenate([getattr(part, name) for part in parts])


@pytest.mark.parametrize("with_known", [False, True])
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_answers_are_those_of_a_plain_sort(k: int, with_known: bool) -> None:
    graph = random_graph()
    predictor = predictor_of(graph)
    entities, relations = ask_all(graph)

    [answers] = predictor.answer(entities, relations, k=k, with_known=with_known)

    for row, query in enumerate(map(Query, entities.tolist(), relations.tolist())):
        expected = answer_plainly(predictor, graph, query, k, with_known=with_known)
        n = len(expected)
        assert answers.entities[row, :n].tolist() == [entity for entity, _, _ in expected]
        assert (answers.entities[row, n:] == NOBODY).all()
        assert answers.is_known[row, :n].tolist() == [is_known for _, _, is_known in expected]
        probabilities = [np.nan if is_known else p for _, p, is_known in expected]
        assert answers.probabilities[row, :n] == pytest.approx(probabilities, rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("chunk_size", [1, 7])
def test_a_batch_in_small_chunks_gives_the_answers_of_one_by_one(
    chunk_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph()
    predictor = predictor_of(graph)
    entities, relations = ask_all(graph)
    monkeypatch.setattr("interstellar.tasks.prediction.GROUP_SIZE", 9)

    parts = list(predictor.answer(entities, relations, k=5, chunk_size=chunk_size))

    one_by_one = [
        part
        for place in range(len(entities))
        for part in predictor.answer(entities[[place]], relations[[place]], k=5)
    ]
    assert len(parts) > 1
    assert gather(parts, "entities").tolist() == gather(one_by_one, "entities").tolist()
    expected = pytest.approx(gather(one_by_one, "probabilities"), rel=1e-5)
    assert gather(parts, "probabilities") == expected


def test_equal_logits_stand_in_the_order_of_their_ids() -> None:
    graph = random_graph()
    predictor = replace(
        predictor_of(graph), compute_logits=lambda s, _: torch.ones(len(s), len(graph.entities))
    )
    entity, relation = 3, 1

    [answers] = predictor.answer(np.array([entity]), np.array([relation]), k=20)

    known = known_objects(graph, entity, relation)
    expected = [other for other in range(len(graph.entities)) if other not in known]
    assert answers.entities[0].tolist() == expected[:20]


def test_where_all_are_known_nobody_answers() -> None:
    graph = europe()
    predictor = predictor_of(graph)
    everyone = np.arange(len(graph.entities))
    rows = np.column_stack([np.zeros_like(everyone), np.zeros_like(everyone), everyone])
    graph = replace(graph, train=rows.astype(np.int32))
    predictor = predictor_of(graph)
    asked = np.array([0]), np.array([0])

    [unknown] = predictor.answer(*asked, k=3)
    [known] = predictor.answer(*asked, k=3, with_known=True)

    assert (unknown.entities == NOBODY).all()
    assert known.is_known.all()


def test_a_diverged_network_is_refused() -> None:
    predictor = replace(
        predictor_of(europe()), compute_logits=lambda s, _: torch.full((len(s), 5), torch.nan)
    )

    with pytest.raises(DataError, match="diverged"):
        list(predictor.answer(np.array([0]), np.array([0]), k=2))


def test_names_become_a_query_and_subjects_are_asked_through_the_inverse() -> None:
    graph = europe()
    france, located = graph.entities.id("france"), graph.relations.id("locatedin")

    objects = find_query(graph, subject="france", relation="locatedin", object=None)
    subjects = find_query(graph, subject=None, relation="locatedin", object="france")

    assert objects == Query(france, located)
    assert subjects == Query(france, located + len(graph.relations))


@pytest.mark.parametrize(("subject", "object_"), [("france", "europe"), (None, None)])
def test_just_one_end_must_be_given(subject: str | None, object_: str | None) -> None:
    with pytest.raises(SettingsError, match="one end of a triplet"):
        find_query(europe(), subject=subject, relation="locatedin", object=object_)


def test_no_answer_cannot_be_asked_for() -> None:
    with pytest.raises(SettingsError, match="k is 0"):
        next(predictor_of(europe()).answer(np.array([0]), np.array([0]), k=0))
