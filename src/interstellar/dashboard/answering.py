"""A trained run that answers many questions in one pass on the device.

Questions are plain values; what is wrong with one is its answer, and the others are answered.
Nothing is written into the run.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias, final

import numpy as np
import torch

from interstellar.dashboard.listing import has_links
from interstellar.dashboard.questions import (
    Answers,
    AnyQuestion,
    Likeness,
    Link,
    LinkQuestion,
    Links,
    Partner,
    PartnerQuestion,
    Partners,
    Question,
    Way,
)
from interstellar.data.spelling import find_name
from interstellar.data.vocabulary import Vocabulary
from interstellar.device import find_device
from interstellar.errors import InterstellarError, SettingsError
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.matching import list_nearest
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.inference.prediction import RunPredictor, build_predictor, find_query
from interstellar.randomness import spawn
from interstellar.runs.trained_run import TrainedRun, open_run
from interstellar.tasks.entity_alignment import EntityAlignment

Outcome: TypeAlias = Answers | InterstellarError


@final
class LinkModel:
    """A run of link prediction."""

    way = Way.PREDICT

    def __init__(self, predictor: RunPredictor) -> None:
        self._asked = predictor

    def answer(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the answer to each question, in their order."""
        outcomes: dict[int, Outcome] = {}
        groups: dict[bool, list[tuple[int, LinkQuestion, tuple[int, int]]]] = {}
        for i, question in enumerate(questions):
            try:
                asked = _require_kind(question, LinkQuestion)
                query = find_query(
                    self._asked.graph,
                    subject=asked.subject,
                    relation=asked.relation,
                    object=asked.object,
                )
                groups.setdefault(asked.with_known, []).append((i, asked, query))
            except InterstellarError as error:
                outcomes[i] = error
        for with_known, group in groups.items():
            outcomes |= self._answer_group(group, with_known=with_known)
        return [outcomes[i] for i in range(len(questions))]

    def _answer_group(
        self, group: list[tuple[int, LinkQuestion, tuple[int, int]]], *, with_known: bool
    ) -> dict[int, Outcome]:
        entities, relations = np.array([query for _, _, query in group]).T
        k = max(asked.k for _, asked, _ in group)
        predictor = self._asked.predictor
        passes = predictor.answer(entities, relations, k=k, with_known=with_known)
        rows = (row for found in passes for row in found)
        return {i: self._name(asked, row) for (i, asked, _), row in zip(group, rows, strict=True)}

    def _name(self, question: LinkQuestion, row: np.ndarray) -> Links:
        answers = tuple(
            Link(
                entity=each.entity,
                label=each.label,
                rank=each.rank,
                score=each.logit,
                probability=each.probability,
                known=each.is_known,
            )
            for each in self._asked.name_answers(row[: question.k])
        )
        return Links(query=question, answers=answers, temperature=self._asked.temperature)


@final
class PartnerModel:
    """A run of entity alignment.

    As with `align`, pairs that were given are answered as known, and all others are compared with
    each other alone.
    """

    way = Way.ALIGN

    def __init__(self, trained: TrainedRun, task: EntityAlignment) -> None:
        self._graph = task.graph
        self._embeddings = task.tables(trained.path_network.subjects)
        seeds = task.graph.train
        sides = (task.graph.source, task.graph.target)
        self._given = (dict(seeds.tolist()), dict(seeds[:, ::-1].tolist()))
        """Of each side, the partner of who has one."""
        self._open = tuple(
            np.setdiff1d(np.arange(len(side.entities)), seeds[:, i]) for i, side in enumerate(sides)
        )
        self._similarity = cache(self._compute_similarity)

    def answer(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the answer to each question, in their order."""
        outcomes: dict[int, Outcome] = {}
        groups: dict[tuple[int, Likeness], list[tuple[int, PartnerQuestion, int]]] = {}
        for i, question in enumerate(questions):
            try:
                asked = _require_kind(question, PartnerQuestion)
                side = 0 if asked.target is None else 1
                entity = self._find(asked, side)
            except InterstellarError as error:
                outcomes[i] = error
                continue
            if entity in self._given[side]:
                outcomes[i] = self._name(asked, [(self._given[side][entity], 1.0)], is_known=True)
            else:
                groups.setdefault((side, asked.decode), []).append((i, asked, entity))
        for (side, decode), group in groups.items():
            outcomes |= self._answer_group(group, side, decode)
        return [outcomes[i] for i in range(len(questions))]

    def _find(self, question: PartnerQuestion, side: int) -> int:
        name = question.source if side == 0 else question.target
        assert name is not None
        return find_name(self._vocabulary(side), name, kind="entity")

    def _vocabulary(self, side: int) -> Vocabulary:
        return (self._graph.source, self._graph.target)[side].entities

    def _answer_group(
        self, group: list[tuple[int, PartnerQuestion, int]], side: int, decode: Likeness
    ) -> dict[int, Outcome]:
        similarity = self._similarity(decode)
        similarity = similarity if side == 0 else similarity.turned()
        rows = np.searchsorted(self._open[side], [entity for _, _, entity in group])
        device = similarity.device
        everyone = torch.arange(similarity.shape[1], device=device)
        asked = similarity.take(torch.from_numpy(rows).to(device), everyone)
        k = max(question.k for _, question, _ in group)
        values, columns = list_nearest(asked, k, spawn(0, "ties between partners"))
        values = values.exp() if decode is Likeness.SINKHORN else values
        ids = self._open[1 - side][columns.numpy()]
        return {
            i: self._name(question, list(zip(partners, scores, strict=True))[: question.k])
            for (i, question, _), partners, scores in zip(
                group, ids.tolist(), values.tolist(), strict=True
            )
        }

    def _compute_similarity(self, decode: Likeness) -> Similarity:
        first, second = (
            table[torch.from_numpy(ids).to(table.device)]
            for table, ids in zip(self._embeddings, self._open, strict=True)
        )
        return rescore(first, second, Decoding(str(decode)))

    def _name(
        self, question: PartnerQuestion, found: list[tuple[int, float]], *, is_known: bool = False
    ) -> Partners:
        others = self._vocabulary(1 if question.target is None else 0)
        answers = tuple(
            Partner(
                entity=others.name(entity),
                label=others.label(entity),
                rank=rank,
                score=score,
                known=is_known,
            )
            for rank, (entity, score) in enumerate(found, 1)
        )
        return Partners(query=question, answers=answers)


AnsweringModel: TypeAlias = LinkModel | PartnerModel


def open_model(folder: Path, device: str) -> AnsweringModel:
    """Return a finished run ready to be asked."""
    if has_links(folder):
        raise SettingsError(
            f"{folder.name} holds links to other places, and those are not followed here. "
            "Copy the files themselves into the folder."
        )
    trained = open_run(folder, find_device(device))
    if isinstance(trained.task, EntityAlignment):
        return PartnerModel(trained, trained.task)
    return LinkModel(build_predictor(folder, trained, is_kept=False))


def _require_kind(question: Question, kind: type[AnyQuestion]) -> AnyQuestion:
    if isinstance(question, kind):
        return question
    is_link = kind is LinkQuestion
    found, way = ("link prediction", "predict") if is_link else ("entity alignment", "align")
    raise SettingsError(f"this is a run of {found}. Ask /{way}.")
