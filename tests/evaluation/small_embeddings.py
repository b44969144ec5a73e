"""Embeddings of two graphs, and what decodings are by definition."""

import torch
from torch import Tensor

from interstellar.evaluation.similarity import Similarity


def noisy_pair(
    n: int, *, dim: int = 16, noise: float = 1.0, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Return two noisy views of the same embeddings, entity i of one being i of the other.

    Like trained ones they have a direction in common, in which some are hubs.
    """
    generator = torch.Generator().manual_seed(seed)
    common = torch.randn(n, dim, generator=generator) + 0.8 * torch.randn(dim, generator=generator)
    first, second = (common + noise * torch.randn(n, dim, generator=generator) for _ in range(2))
    return first, second


def draw_cosine(n_asking: int, n_answering: int, *, dim: int = 6, seed: int = 0) -> Similarity:
    generator = torch.Generator().manual_seed(seed)
    asking = torch.randn(n_asking, dim, generator=generator)
    answering = torch.randn(n_answering, dim, generator=generator)
    return Similarity.cosine(asking, answering)


def tied_cosine(n_asking: int, n_answering: int, *, seed: int = 0) -> Similarity:
    """Return cosines that are exact, and many of them equal."""
    generator = torch.Generator().manual_seed(seed)
    asking = torch.randn(n_asking, 4, generator=generator).sign()
    answering = torch.randn(n_answering, 4, generator=generator).sign()
    return Similarity.cosine(asking, answering)


def literal_log_plan(cosine: Tensor, *, temperature: float, n_rounds: int) -> Tensor:
    """Return Sinkhorn's plan by a plain loop over logarithms, in float64."""
    log_plan = cosine.double() / temperature
    for _ in range(n_rounds):
        log_plan = log_plan - log_plan.logsumexp(dim=1, keepdim=True)
        log_plan = log_plan - log_plan.logsumexp(dim=0, keepdim=True)
    return log_plan
