"""Graphs and trained networks as PyKEEN's own: its evaluators and predictions work on ours."""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import exact_products
from interstellar.model.path_network import PathNetwork
from interstellar.runs.trained_run import TrainedRun
from interstellar.tasks.link_prediction import LinkPrediction

try:
    from pykeen.models import Model
    from pykeen.triples import KGInfo, TriplesFactory
    from pykeen.utils import NoRandomSeedNecessary
except ModuleNotFoundError as error:
    raise SettingsError(
        f"{error.name} is not installed, and this hands something to PyKEEN. "
        "Run `pip install interstellar-kg[pykeen]`."
    ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Factories:
    """The three splits of a graph."""

    train: TriplesFactory
    valid: TriplesFactory
    test: TriplesFactory


def to_factories(graph: KnowledgeGraph) -> Factories:
    """Return the splits of a graph; our ids are PyKEEN's."""
    entity_to_id = {name: row for row, name in enumerate(graph.entities.to_list())}
    relation_to_id = {name: row for row, name in enumerate(graph.relations.to_list())}
    train, valid, test = (
        TriplesFactory(torch.from_numpy(graph.split(split)).long(), entity_to_id, relation_to_id)
        for split in SPLITS
    )
    return Factories(train, valid, test)


@final
class TrainedModel(Model):
    """A network of link prediction that answers as PyKEEN asks.

    PyKEEN's score is our logit. Heads are asked for through the inverse relation, as everywhere
    here, so `score_h` and `score_t` of one triplet differ; `score_hrt` and `score_r` are those of
    its tail. It is trained already: PyKEEN's training loops are refused.
    """

    def __init__(self, network: PathNetwork) -> None:
        size = network.size
        super().__init__(
            triples_factory=KGInfo(size.n_entities, size.n_relations, create_inverse_triples=False),
            random_seed=NoRandomSeedNecessary,  # type: ignore[arg-type]
        )
        self.network = network

    def score_t(self, hr_batch: Tensor, *, tails: Tensor | None = None, **_: Any) -> Tensor:
        return self._score_objects(hr_batch[:, 0], hr_batch[:, 1], tails)

    def score_h(self, rt_batch: Tensor, *, heads: Tensor | None = None, **_: Any) -> Tensor:
        return self._score_objects(rt_batch[:, 1], self.network.inverse(rt_batch[:, 0]), heads)

    def score_hrt(self, hrt_batch: Tensor, **_: Any) -> Tensor:
        return self._score_triplets(hrt_batch[:, 0], hrt_batch[:, 1:2], hrt_batch[:, 2])

    def score_r(self, ht_batch: Tensor, *, relations: Tensor | None = None, **_: Any) -> Tensor:
        if relations is None:
            relations = torch.arange(self.num_relations, device=ht_batch.device)
        relations = relations.expand(len(ht_batch), -1)
        return self._score_triplets(ht_batch[:, 0], relations, ht_batch[:, 1])

    def collect_regularization_term(self) -> Tensor:
        return torch.zeros((), device=self.device)

    def _reset_parameters_(self) -> None:
        raise SettingsError(
            "PyKEEN is about to train a network that is trained already, and would lose it. "
            "Train with `interstellar train`, and give PyKEEN the result."
        )

    def _get_entity_len(self, **_: Any) -> int:
        return self.num_entities

    def _score_objects(self, subjects: Tensor, relations: Tensor, among: Tensor | None) -> Tensor:
        """Return the logits of all entities, (batch, n_entities), or among some of them."""
        with exact_products(self.device):
            logits = self.network.logits(subjects, relations)
        if among is None:
            return logits
        return logits[:, among] if among.ndim == 1 else logits.gather(1, among)

    @torch.no_grad()
    def _score_triplets(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        """Return the logits of objects for several relations of each row, (batch, n)."""
        n_rows, n = relations.shape
        with exact_products(self.device):
            v = self.network.unroll(
                subjects.repeat_interleave(n).unsqueeze(1), relations.reshape(-1, 1)
            ).view(n_rows, n, -1)
            return torch.einsum("bnd,bd->bn", v, self.network.entities[objects])


def to_pykeen(trained: TrainedRun) -> TrainedModel:
    """Return the network of a run of link prediction as a model of PyKEEN.

    Its ids are those of `to_factories`.
    """
    if not isinstance(trained.task, LinkPrediction):
        raise SettingsError(
            f"{trained.task.graph.name} is a run of entity alignment, and PyKEEN's models answer "
            "queries on one graph. Give a run of link prediction."
        )
    return TrainedModel(trained.path_network)
