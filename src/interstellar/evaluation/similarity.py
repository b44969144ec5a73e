"""How alike entities of two graphs are: the decoding from embeddings to similarities.

A decoding gives rows of similarities, one for each query and candidate; ranks and whole
alignments are read off these rows alone.
"""

from enum import StrEnum
from typing import assert_never, final

from torch import Tensor
from torch.nn.functional import normalize

from interstellar.evaluation.chunks import fit_chunk_size, map_chunks

CSLS_NEIGHBOURS = 10
"""k of Conneau et al. 2018, Word translation without parallel data."""

FLOAT_BYTES = 4


class Decoding(StrEnum):
    """From embeddings to similarities."""

    COSINE = "cosine"
    """cos(x, y); 0 where x or y is a zero vector."""
    CSLS = "csls"
    """2 cos(x, y) - r_1(x) - r_2(y): what is near everything is near nothing in particular.

    r_1(x) is the mean cosine of x to its k = 10 nearest candidates, r_2(y) that of y to its k
    nearest sources, the reference entities of the graph that asks.
    """


@final
class Similarity:
    """Similarities between queries and a fixed list of candidates.

    Args:
        candidates: Embeddings (n_candidates, dim).
        sources: Embeddings (n, dim) among which CSLS looks for the nearest of a candidate.
        decoding: From embeddings to similarities.
    """

    def __init__(self, candidates: Tensor, sources: Tensor, decoding: Decoding) -> None:
        self._candidates = normalize(candidates.float(), dim=1)
        self._decoding = decoding
        match decoding:
            case Decoding.COSINE:
                self._r_2 = None
            case Decoding.CSLS:
                self._r_2 = _mean_of_nearest_sources(self._candidates, sources)
            case _:
                assert_never(decoding)

    def rows(self, queries: Tensor) -> Tensor:
        """Return the similarities (batch, n_candidates) of embeddings (batch, dim)."""
        cosine = normalize(queries.float(), dim=1) @ self._candidates.T
        if self._r_2 is None:
            return cosine
        r_1 = _mean_of_highest(cosine)
        return cosine.mul_(2).sub_(r_1.unsqueeze(1)).sub_(self._r_2)


def _mean_of_nearest_sources(candidates: Tensor, sources: Tensor) -> Tensor:
    sources = normalize(sources.float(), dim=1)
    return map_chunks(
        lambda rows: _mean_of_highest(candidates[rows] @ sources.T),
        len(candidates),
        chunk_size=fit_chunk_size(FLOAT_BYTES * len(sources), candidates.device),
        device=candidates.device,
    )


def _mean_of_highest(cosine: Tensor) -> Tensor:
    return cosine.topk(min(CSLS_NEIGHBOURS, cosine.shape[1]), dim=1).values.mean(dim=1)
