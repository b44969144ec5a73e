"""A trained network as a model of PyKEEN, so that its evaluators and predictions work on ours."""

from typing import final

import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.precision import exact_products
from interstellar.model.path_network import PathNetwork
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.trained_run import TrainedRun

try:
    from pykeen.models import Model
    from pykeen.triples import KGInfo
    from pykeen.typing import InductiveMode
    from pykeen.utils import NoRandomSeedNecessary
except ModuleNotFoundError as error:
    raise SettingsError(
        f"{error.name} is not installed, and this hands a network to PyKEEN. "
        "Run `pip install interstellar-kg[pykeen]`."
    ) from error


@final
class TrainedModel(Model):  # type: ignore[no-untyped-call]
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

    def score_t(
        self,
        hr_batch: Tensor,
        *,
        slice_size: int | None = None,
        mode: InductiveMode | None = None,
        tails: Tensor | None = None,
    ) -> Tensor:
        del slice_size, mode
        return self._score_objects(hr_batch[:, 0], hr_batch[:, 1], tails)

    def score_h(
        self,
        rt_batch: Tensor,
        *,
        slice_size: int | None = None,
        mode: InductiveMode | None = None,
        heads: Tensor | None = None,
    ) -> Tensor:
        del slice_size, mode
        return self._score_objects(rt_batch[:, 1], self.network.inverse(rt_batch[:, 0]), heads)

    def score_hrt(self, hrt_batch: Tensor, *, mode: InductiveMode | None = None) -> Tensor:
        del mode
        return self._score_triplets(hrt_batch[:, 0], hrt_batch[:, 1:2], hrt_batch[:, 2])

    def score_r(
        self,
        ht_batch: Tensor,
        *,
        slice_size: int | None = None,
        mode: InductiveMode | None = None,
        relations: Tensor | None = None,
    ) -> Tensor:
        del slice_size, mode
        if relations is None:
            relations = torch.arange(self.num_relations, device=ht_batch.device)
        return self._score_triplets(
            ht_batch[:, 0], relations.expand(len(ht_batch), -1), ht_batch[:, 1]
        )

    def collect_regularization_term(self) -> Tensor:
        return torch.zeros((), device=self.device)

    def _reset_parameters_(self) -> None:
        raise SettingsError(
            "PyKEEN is about to train a network that is trained already, and would lose it. "
            "Train with `interstellar train`, and give PyKEEN the result."
        )

    def _get_entity_len(self, *, mode: InductiveMode | None) -> int:
        del mode
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

    Its ids are those of `adapters.pykeen_data.to_factories`.
    """
    if not isinstance(trained.task, LinkPrediction):
        raise SettingsError(
            f"{trained.task.graph.name} is a run of entity alignment, and PyKEEN's models answer "
            "queries on one graph. Give a run of link prediction."
        )
    return TrainedModel(trained.network)
