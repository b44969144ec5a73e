"""PyKEEN's own small sets and models, in our terms."""

import numpy as np
import torch
from pykeen.datasets import Dataset
from pykeen.models import Model
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.evaluation.ranks import ComputeLogits

NAME_BY_KEY = {
    "mrr": "inverse_harmonic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
    "mean_rank": "arithmetic_mean_rank",
    "n": "count",
}
"""What PyKEEN calls our metrics."""


def as_graph(dataset: Dataset) -> KnowledgeGraph:
    """Return the set with the same ids."""
    assert dataset.validation is not None
    return KnowledgeGraph(
        name=type(dataset).__name__,
        entities=Vocabulary([str(i) for i in range(dataset.num_entities)]),
        relations=Vocabulary([str(i) for i in range(dataset.num_relations)]),
        train=as_triplets(dataset.training.mapped_triples),
        valid=as_triplets(dataset.validation.mapped_triples),
        test=as_triplets(dataset.testing.mapped_triples),
    )


def as_triplets(mapped: Tensor) -> Triplets:
    """Return PyKEEN's (head, relation, tail), which is our order."""
    return mapped.numpy().astype(np.int32)


def logits_of(model: Model, n_relations: int) -> ComputeLogits:
    """Return a function that asks PyKEEN's model, for heads where the relation is an inverse.

    Queries must stand as `with_inverses` leaves them: all inverses last.
    """

    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        n_forward = int((relations < n_relations).sum())
        forward = torch.stack([subjects, relations], dim=1)[:n_forward]
        inverse = torch.stack([relations - n_relations, subjects], dim=1)[n_forward:]
        if n_forward == len(subjects):
            return model.score_t(forward)
        if n_forward == 0:
            return model.score_h(inverse)
        return torch.cat([model.score_t(forward), model.score_h(inverse)])

    return compute_logits
