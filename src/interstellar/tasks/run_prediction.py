"""Predictions by name from the folder of a run: what is missing, how likely, and why."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.spelling import find_variants, quote_apart
from interstellar.data.triplets import Triplets
from interstellar.errors import SettingsError
from interstellar.tasks.explanation import Explainer, describe_path, list_facts
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.prediction import NOBODY, Predictor, Query, find_query
from interstellar.tasks.run_calibration import find_temperature
from interstellar.tasks.trained_run import TrainedRun


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prediction:
    """One answer to a query, by name."""

    entity: str
    score: float
    """The network's logit."""
    rank: int
    """1 for the highest score; the order of ids decides between equal ones."""
    probability: float | None
    """That this is the missing answer, if one is missing; None for a known answer."""
    is_known: bool
    explanation: "NamedExplanation | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class NamedPath:
    """A path that speaks for an answer, by name; as text `France –neighbor→ Spain`."""

    path: Triplets
    support: float
    """From -1 to 1; `explanation` defines it."""
    _graph: KnowledgeGraph = field(repr=False)

    def __str__(self) -> str:
        """Return the path in words."""
        return describe_path(self.path, self._graph)

    @property
    def triplets(self) -> list[tuple[str, str, str]]:
        """The facts along the path, each as it stands in the graph."""
        return list_facts(self.path, self._graph)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedExplanation:
    """The paths that speak for an answer, those with the most support first."""

    paths: tuple[NamedPath, ...]
    is_complete: bool
    """Whether every path up to the model's length is here."""
    reads_path: bool
    """Whether the network reads more of a path than its last step."""


@final
class RunPredictor:
    """A run of link prediction that can be asked by name.

    Args:
        trained: The opened run.
        temperature: What logits are divided by; None where it could not be fitted.
    """

    def __init__(self, trained: TrainedRun, temperature: float | None) -> None:
        assert isinstance(trained.task, LinkPrediction)
        self.graph: KnowledgeGraph = trained.task.graph
        self.temperature = temperature
        self.predictor = Predictor(
            compute_logits=trained.network.logits,
            known=trained.task.known,
            device=trained.network.objects.device,
            temperature=1.0 if temperature is None else temperature,
        )
        self._trained = trained

    @cached_property
    def explainer(self) -> Explainer:
        """Finds the paths that speak for an answer."""
        length = self._trained.experiment.settings.walk.length
        return Explainer(self._trained.network, self.graph, length=length)

    def predict(
        self,
        *,
        subject: str | None = None,
        relation: str,
        object: str | None = None,
        k: int = 10,
        with_known: bool = False,
        is_explained: bool = False,
    ) -> list[Prediction]:
        """Return the best answers: objects of a subject, or subjects of an object.

        Raises:
            SettingsError: A name is unknown, or not just one end is given.
        """
        query = find_query(self.graph, subject=subject, relation=relation, object=object)
        [answers] = self.predictor.answer(
            np.array([query.entity]), np.array([query.relation]), k=k, with_known=with_known
        )
        columns = (answers.entities, answers.logits, answers.probabilities, answers.is_known)
        rows = zip(*(column[0].tolist() for column in columns), strict=True)
        return [
            Prediction(
                entity=self.graph.entities.name(entity),
                score=logit,
                rank=rank,
                probability=None if math.isnan(probability) else probability,
                is_known=is_known,
                explanation=self._explain(query, entity) if is_explained else None,
            )
            for rank, (entity, logit, probability, is_known) in enumerate(rows, 1)
            if entity != NOBODY
        ]

    def _explain(self, query: Query, entity: int) -> NamedExplanation:
        found = self.explainer.explain(query, entity)
        return NamedExplanation(
            paths=tuple(NamedPath(p.path, p.support, self.graph) for p in found.paths),
            is_complete=found.is_complete,
            reads_path=self.explainer.reads_path,
        )

    def list_lookalikes(self, *, entities: tuple[str, ...], relation: str) -> list[str]:
        """Return a sentence on each name that has others of another case or Unicode form."""
        asked = [(self.graph.entities, name) for name in entities]
        sentences = []
        for vocabulary, name in [*asked, (self.graph.relations, relation)]:
            variants = find_variants(vocabulary, name)
            if variants:
                own, others = quote_apart(name, variants)
                sentences.append(
                    f"{own} was taken as it stands, apart from {others} of another case or "
                    "Unicode form."
                )
        return sentences


def build_predictor(path: Path, trained: TrainedRun) -> RunPredictor:
    """Return a run, opened already, ready to be asked.

    Raises:
        SettingsError: It is not a run of link prediction.
    """
    if not isinstance(trained.task, LinkPrediction):
        raise SettingsError(
            f"{path} is a run of entity alignment, and links are predicted in one graph. "
            "Use `interstellar align`, or give a run of link prediction."
        )
    return RunPredictor(trained, find_temperature(path, trained.task, trained.network))
