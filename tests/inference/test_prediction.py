"""Predictions: what is asked, what is answered, by name and by number, and how it is shown."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation import chunks
from interstellar.inference.prediction import (
    NOBODY,
    Answers,
    Ids,
    Prediction,
    Predictor,
    RunPredictor,
    find_query,
)
from interstellar.tasks.link_prediction import LinkPrediction
from tests.inference.named_runs import linked_run
from tests.inference.small_predictors import europe, predictor_of, random_graph


def answer(entity: str, rank: int, probability: float | None) -> Prediction:
    return Prediction(
        entity=entity,
        label=entity,
        logit=1.5,
        rank=rank,
        probability=probability,
        is_known=probability is None,
    )


def test_names_become_a_query_and_subjects_are_asked_through_the_inverse() -> None:
    graph = europe()
    france, located = graph.entities.id("france"), graph.relations.id("locatedin")

    objects = find_query(graph, subject="france", relation="locatedin", object=None)
    subjects = find_query(graph, subject=None, relation="locatedin", object="france")

    assert objects == (france, located)
    assert subjects == (france, located + len(graph.relations))


@pytest.mark.parametrize(("subject", "object_"), [("france", "europe"), (None, None)])
def test_just_one_end_must_be_given(subject: str | None, object_: str | None) -> None:
    with pytest.raises(SettingsError, match="one end of a triplet"):
        find_query(europe(), subject=subject, relation="locatedin", object=object_)


@pytest.mark.parametrize("name", ["\ud800", "fr\udcffance"])
@pytest.mark.parametrize("place", ["subject", "relation", "object"])
def test_half_a_character_is_refused_in_words(name: str, place: str) -> None:
    asked: Any = {"subject": "france", "relation": "locatedin", "object": None}
    asked |= {"subject": None, "object": name} if place == "object" else {place: name}

    with pytest.raises(SettingsError, match=r"\\ud.*half a character"):
        find_query(europe(), **asked)


def test_a_name_that_is_no_text_is_refused_in_words() -> None:
    unnamed: Any = 7

    with pytest.raises(SettingsError, match="7 was given as entity, but names are text"):
        find_query(europe(), subject=unnamed, relation="locatedin", object=None)


def test_answers_print_as_a_small_table() -> None:
    answers = Answers([answer("spain", 1, 0.51234), answer("a\tb", 2, None)])

    assert str(answers) == "1  spain  0.512\n2  a\\tb   known"
    assert str(Answers()) == "no answers"


def test_answers_that_are_printed_cannot_command_a_terminal() -> None:
    assert str(Answers([answer("a\x9b31m\x1b[0m", 1, None)])) == r"1  a\x9b31m\u001b[0m  known"


def test_of_many_answers_the_first_are_printed() -> None:
    lines = str(Answers(answer("x", rank, 0.1) for rank in range(1, 31))).splitlines()

    assert len(lines) == 21
    assert lines[-1] == "… and 10 more"


def test_answers_are_a_list() -> None:
    asked = RunPredictor(linked_run(), temperature=None)

    found = asked.predict(subject="plain", relation="next", k=3)

    assert isinstance(found, list)
    assert [each.rank for each in found] == [1, 2, 3]
    assert found[0].logit >= found[1].logit >= found[2].logit


def test_answers_print_by_their_labels_where_the_graph_has_them() -> None:
    trained = linked_run(["q1", "q2", "q3", "q4"])
    graph = trained.task.graph
    assert isinstance(graph, KnowledgeGraph)
    labels = {"q1": "Douglas Adams", "q2": "Earth"}
    labelled = replace(graph, entities=Vocabulary(graph.entities.array, labels))
    asked = RunPredictor(replace(trained, task=LinkPrediction(labelled)), temperature=None)

    found = asked.predict(subject="q3", relation="next", k=4, with_known=True)

    assert {each.entity: each.label for each in found} == {"q3": "q3", "q4": "q4", **labels}
    assert "Douglas Adams" in str(found)


def test_the_logit_can_be_read_by_its_old_name_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="score is now called logit"):
        assert answer("spain", 1, 0.5).score == 1.5


def known_objects(graph: KnowledgeGraph, entity: int, relation: int) -> set[int]:
    splits = np.concatenate([graph.train, graph.valid, graph.test])
    rows = with_inverses(splits, len(graph.relations)).tolist()
    return {o for s, r, o in rows if (s, r) == (entity, relation)}


def answer_plainly(
    predictor: Predictor,
    graph: KnowledgeGraph,
    entity: int,
    relation: int,
    k: int,
    *,
    with_known: bool,
) -> list[tuple[int, float, bool]]:
    """Return entity, probability and whether it is known, by sorting Python numbers."""
    asked = torch.tensor([entity]), torch.tensor([relation])
    [logits] = predictor.compute_logits(*asked).double().tolist()
    known = known_objects(graph, entity, relation)
    weights = [np.exp(x / predictor.temperature) for x in logits]
    total = sum(weight for other, weight in enumerate(weights) if other not in known)
    order = sorted(range(len(logits)), key=lambda other: (-logits[other], other))
    return [
        (other, weights[other] / total, other in known)
        for other in order
        if with_known or other not in known
    ][:k]


def ask_all(graph: KnowledgeGraph) -> tuple[Ids, Ids]:
    """Return queries in both directions, some of them twice."""
    rows = with_inverses(graph.train[:30], len(graph.relations)).astype(np.int64)
    rows = np.concatenate([rows, rows[5:15]])
    return rows[:, 0], rows[:, 1]


@pytest.mark.parametrize("with_known", [False, True])
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_answers_are_those_of_a_plain_sort(k: int, with_known: bool) -> None:
    graph = random_graph()
    predictor = predictor_of(graph)
    entities, relations = ask_all(graph)

    [answers] = predictor.answer(entities, relations, k=k, with_known=with_known)

    for row, entity, relation in zip(answers, entities.tolist(), relations.tolist(), strict=True):
        expected = answer_plainly(predictor, graph, entity, relation, k, with_known=with_known)
        n = len(expected)
        assert row["entity"][:n].tolist() == [entity for entity, _, _ in expected]
        assert (row["entity"][n:] == NOBODY).all()
        assert row["is_known"][:n].tolist() == [is_known for _, _, is_known in expected]
        probabilities = [np.nan if is_known else p for _, p, is_known in expected]
        assert row["probability"][:n] == pytest.approx(probabilities, rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("chunk_size", [1, 7])
def test_a_batch_in_small_chunks_gives_the_answers_of_one_by_one(
    chunk_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph()
    predictor = predictor_of(graph)
    entities, relations = ask_all(graph)
    one_by_one = np.concatenate(
        [
            part
            for place in range(len(entities))
            for part in predictor.answer(entities[[place]], relations[[place]], k=5)
        ]
    )
    monkeypatch.setattr("interstellar.inference.prediction.GROUP_SIZE", 9)
    monkeypatch.setattr(chunks, "CPU_BYTES", chunk_size * 4 * len(graph.entities))

    parts = list(predictor.answer(entities, relations, k=5))

    assert len(parts) > 1
    together = np.concatenate(parts)
    assert together["entity"].tolist() == one_by_one["entity"].tolist()
    assert together["probability"] == pytest.approx(one_by_one["probability"], rel=1e-5)


def test_equal_logits_stand_in_the_order_of_their_ids() -> None:
    graph = random_graph()
    predictor = replace(
        predictor_of(graph), compute_logits=lambda s, _: torch.ones(len(s), len(graph.entities))
    )
    entity, relation = 3, 1

    [answers] = predictor.answer(np.array([entity]), np.array([relation]), k=20)

    known = known_objects(graph, entity, relation)
    expected = [other for other in range(len(graph.entities)) if other not in known]
    assert answers["entity"][0].tolist() == expected[:20]


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

    assert (unknown["entity"] == NOBODY).all()
    assert known["is_known"].all()


def test_a_diverged_network_is_refused() -> None:
    predictor = replace(
        predictor_of(europe()), compute_logits=lambda s, _: torch.full((len(s), 5), torch.nan)
    )

    with pytest.raises(DataError, match="diverged"):
        list(predictor.answer(np.array([0]), np.array([0]), k=2))


def test_no_answer_cannot_be_asked_for() -> None:
    with pytest.raises(SettingsError, match="`k` is 0"):
        next(predictor_of(europe()).answer(np.array([0]), np.array([0]), k=0))
