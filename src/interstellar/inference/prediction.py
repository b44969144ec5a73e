"""Which entities complete a triplet, how likely they are, and why: by number and by name.

A query is an entity and a relation; subjects are asked for through the inverse relation, whose id
is that of the relation plus n_relations. Answers stand in the order of their logits, the highest
first, equal ones in the order of their ids; a rank is just the place in that order, from 1 on,
since nothing is measured with it.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.spelling import find_name, find_variants, quote, quote_apart
from interstellar.data.vocabulary import UNKNOWN, Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.chunks import exact_products, fit_chunk_size, spread_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES, ComputeLogits, find_highest
from interstellar.inference.explanation import Explainer, Explanation
from interstellar.inference.propagation_explanation import PropagationExplainer
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.printable import printable
from interstellar.rivals.network import for_many
from interstellar.runs.trained_run import TrainedRun, find_temperature
from interstellar.tasks.link_prediction import LinkPrediction

NOBODY = -1
"""The entity where a query has fewer answers than were asked for."""
GROUP_SIZE, GROUP_ANSWERS = 2**13, 2**20
"""Most queries among which equal ones are put together, and the most answers they may have."""
N_SHOWN = 20
"""Answers of a list that are shown as text."""

Ids: TypeAlias = npt.NDArray[np.int64]

ANSWER = np.dtype(
    [("entity", "i4"), ("logit", "f4"), ("probability", "f4"), ("is_known", np.bool_)]
)
"""One answer by number. Probabilities are among all entities that are not known to answer; NaN
for those that are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictor:
    """A network that can be asked, and what is known already."""

    compute_logits: ComputeLogits
    known: KnownAnswers
    device: torch.device
    temperature: float = 1.0
    """Logits are divided by it before they become probabilities."""

    def answer(
        self, entities: Ids, relations: Ids, *, k: int, with_known: bool = False
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield the best k answers to the queries, group after group, in the order of the queries.

        Each group is an array (n_queries, k) of `ANSWER`, best first, with fewer columns where
        there are fewer entities. Answers that some split of the graph names are left out unless
        `with_known`.
        """
        if k < 1:
            raise SettingsError(
                f"`k` is {k}, but at least one answer must be asked for. Choose 1 or more."
            )
        k = min(k, self.known.n_entities)
        group_size = max(1, min(GROUP_SIZE, GROUP_ANSWERS // k))
        for start in range(0, len(entities), group_size):
            group = slice(start, start + group_size)
            keys = entities[group] * (2 * self.known.n_relations) + relations[group]
            _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
            asked = entities[group][firsts], relations[group][firsts]
            yield self._answer_distinct(*asked, k, with_known=with_known)[numbers]

    def _answer_distinct(
        self, entities: Ids, relations: Ids, k: int, *, with_known: bool
    ) -> npt.NDArray[Any]:
        # Room for all at first: answers kept one by one would lie between the logits of chunks in
        # the heap, and no chunk would find the place of the one before.
        answers = np.empty((len(entities), k), ANSWER)

        def compute(chunk: slice) -> bool:
            self._fill(answers[chunk], entities[chunk], relations[chunk], with_known=with_known)
            return True

        chunk_size = fit_chunk_size(FLOAT_BYTES * self.known.n_entities, self.device)
        with exact_products(self.device):
            list(spread_chunks(compute, len(entities), chunk_size=chunk_size, device=self.device))
        return answers

    @torch.no_grad()
    def _fill(
        self, answers: npt.NDArray[Any], entities: Ids, relations: Ids, *, with_known: bool
    ) -> None:
        logits = self.compute_logits(self._send(entities), self._send(relations))
        rows, objects = self.known.look_up(entities, relations)
        known = self._send(rows), self._send(objects)
        if not with_known:
            logits[known] = -torch.inf
        ids = find_highest(logits, answers.shape[1])
        highest = logits.gather(1, ids)
        logits[known] = -torch.inf
        is_nobody = highest == -torch.inf
        is_known = (logits.gather(1, ids) == -torch.inf) & ~is_nobody
        probabilities = (
            torch.log_softmax(logits.div_(self.temperature), dim=1).gather(1, ids).exp_()
        )
        if probabilities.masked_fill_(is_known | is_nobody, 0).isnan().any():
            raise DataError(
                "the network's logits are not numbers, so it has no answers: training diverged. "
                "Train anew with a smaller learning rate."
            )
        answers["entity"] = ids.masked_fill_(is_nobody, NOBODY).cpu()
        answers["logit"] = highest.cpu()
        answers["probability"] = probabilities.masked_fill_(is_known | is_nobody, torch.nan).cpu()
        answers["is_known"] = is_known.cpu()

    def _send(self, ids: Ids | npt.NDArray[np.int32]) -> Tensor:
        return torch.from_numpy(ids.astype(np.int64, copy=False)).to(self.device)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prediction:
    """One answer to a query, by name."""

    entity: str
    label: str
    """What people call it, where the graph has labels; otherwise its name."""
    logit: float
    rank: int
    """1 for the highest logit; the order of ids decides between equal ones."""
    probability: float | None
    """That this is the missing answer, if one is missing; None for a known answer."""
    is_known: bool
    explanation: Explanation | None = None

    @property
    def shown(self) -> str:
        """The label as it is printed: on one line, shortened where it is very long."""
        return quote(self.label)[1:-1]

    @property
    def score(self) -> float:
        """The logit by its old name."""
        warnings.warn(
            "Prediction.score is now called logit; the old name goes in version 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.logit


@final
class Answers(list[Prediction]):
    """The answers to one query, best first: a list that shows as a table."""

    def __repr__(self) -> str:
        """Return rank, label and probability of the first answers, one on a line."""
        if not self:
            return "no answers"
        first = self[:N_SHOWN]
        rank_width = max(len(str(each.rank)) for each in first)
        width = max(len(each.shown) for each in first)
        lines = []
        for each in first:
            probability = "known" if each.probability is None else f"{each.probability:.3f}"
            lines.append(f"{each.rank:>{rank_width}}  {each.shown:<{width}}  {probability}")
        if len(self) > N_SHOWN:
            lines.append(f"… and {len(self) - N_SHOWN:,} more")
        return "\n".join(lines)


@final
class RunPredictor:
    """A network of link prediction that can be asked by name."""

    def __init__(self, trained: TrainedRun, temperature: float | None) -> None:
        assert isinstance(trained.task, LinkPrediction)
        self.graph: KnowledgeGraph = trained.task.graph
        self.temperature = temperature
        """What logits are divided by; None where it could not be fitted."""
        self.predictor = Predictor(
            compute_logits=for_many(trained.network).logits,
            known=trained.task.known,
            device=trained.network.device,
            temperature=1.0 if temperature is None else temperature,
        )
        self._trained = trained

    @cached_property
    def explainer(self) -> Explainer | PropagationExplainer:
        """Finds the paths that speak for an answer."""
        if isinstance(self._trained.network, PropagationNetwork):
            return PropagationExplainer(self._trained.network, self.graph)
        length = self._trained.experiment.settings.walk.length
        return Explainer(self._trained.path_network, self.graph, length=length)

    def predict(
        self,
        *,
        subject: str | None = None,
        relation: str,
        object: str | None = None,
        k: int = 10,
        with_known: bool = False,
        is_explained: bool = False,
    ) -> Answers:
        """Return the best answers: objects of a subject, or subjects of an object."""
        query = find_query(self.graph, subject=subject, relation=relation, object=object)
        asked = (np.array([number]) for number in query)
        [[best]] = self.predictor.answer(*asked, k=k, with_known=with_known)
        explain = partial(self.explainer.explain, *query) if is_explained else None
        return self.name_answers(best, explain)

    def name_answers(
        self, best: npt.NDArray[Any], explain: Callable[[int], Explanation] | None = None
    ) -> Answers:
        """Return the answers to one query, an array (k,) of `ANSWER`, by name."""
        return Answers(
            Prediction(
                entity=self.graph.entities.name(entity),
                label=self.graph.entities.label(entity),
                logit=logit,
                rank=rank,
                probability=None if math.isnan(probability) else probability,
                is_known=is_known,
                explanation=None if explain is None else explain(entity),
            )
            for rank, (entity, logit, probability, is_known) in enumerate(best.tolist(), 1)
            if entity != NOBODY
        )

    def list_isolated(self, *names: str | None) -> list[str]:
        """Return a sentence on each entity that a propagation sees nothing of."""
        network, entities = self._trained.network, self.graph.entities
        if not isinstance(network, PropagationNetwork):
            return []
        ids = {name: entities.id(name) for name in names if name is not None}
        return [
            f"{quote(name)} stands in no known triplet, so nothing but the relation speaks for "
            "these answers."
            for name, i in ids.items()
            if i != UNKNOWN and not bool((network.graph.sources == i).any())
        ]

    def list_lookalikes(self, *names: str | None, relation: str) -> list[str]:
        """Return a sentence on each name that has others of another case or Unicode form."""
        asked = [(self.graph.entities, name) for name in names if name is not None]
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


def build_predictor(
    path: Path, trained: TrainedRun, asked: TrainedRun | None = None, *, is_kept: bool = True
) -> RunPredictor:
    """Return a run of link prediction ready to be asked; `asked` is the run on another graph.

    A temperature that had to be fitted is kept in the folder, if it may be.
    """
    if not isinstance(trained.task, LinkPrediction):
        raise SettingsError(
            f"{path} is a run of entity alignment, and links are predicted in one graph. "
            "Use `interstellar align`, or give a run of link prediction."
        )
    temperature = find_temperature(path, trained.task, trained.network, is_kept=is_kept)
    return RunPredictor(asked or trained, temperature)


def find_query(
    graph: KnowledgeGraph, *, subject: str | None, relation: str, object: str | None
) -> tuple[int, int]:
    """Return the entity and relation that names stand for; an object asks the inverse relation."""
    if (subject is None) == (object is None):
        found = "neither subject nor object" if subject is None else "both subject and object"
        raise SettingsError(
            f"{found} were given, but one end of a triplet is known and the other asked for. "
            "Give a subject to ask for objects, or an object to ask for subjects."
        )
    relation_id = _find(graph.relations, relation, kind="relation")
    if object is not None:
        relation_id += len(graph.relations)
    return _find(graph.entities, subject if object is None else object, kind="entity"), relation_id


def _find(vocabulary: Vocabulary, name: str | None, *, kind: str) -> int:
    if not isinstance(name, str):
        raise SettingsError(
            f"{name!r} was given as {kind}, but names are text. Give it as the data has it."
        )
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise SettingsError(
            f'"{printable(name)}" holds half a character (a lone surrogate), which no name of a '
            "graph can. Give the name as UTF-8."
        )
    return find_name(vocabulary, name, kind=kind)
