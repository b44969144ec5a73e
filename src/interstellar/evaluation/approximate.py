"""The nearest partners found by a graph of neighbours instead of all products.

Exact lists of n sources take n · n_targets products, which a million entities make too dear. Here a
hierarchy of small-world graphs (HNSW, Malkov and Yashunin 2018, by usearch) is walked towards each
source instead: a few thousand products each, and now and then a neighbour is missed. Cosines of
what is found are exact; how much is found is measured in benchmarks/NOTES.md.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import CSLS_NEIGHBOURS
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.watching import say_how_far

N_LINKS, ADDING, SEARCHING = 16, 128, 128
"""Of each node; and candidates kept while it is added, and while a query is asked."""
RESCORED = 32
"""Nearest by cosine among which the best by CSLS are chosen."""
AT_ONCE = 2**16
"""Vectors added or asked about in one call, which nothing can interrupt."""

Floats = npt.NDArray[np.float32]


def find_nearest_nearly(
    cosine: Similarity, decoding: Decoding, k: int, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Return similarities and columns, (n_sources, k) on the CPU, of the k nearest found.

    Targets are shuffled by `rng`, so that the order of ids never helps between equals.
    """
    assert decoding in {Decoding.COSINE, Decoding.CSLS}
    order = torch.from_numpy(rng.permutation(len(cosine.target)))
    source, target = cosine.source.cpu(), cosine.target.cpu()[order]
    is_csls = decoding is Decoding.CSLS
    values, columns = search(source, target, max(k, RESCORED) if is_csls else k)
    if is_csls:
        backwards, _ = search(target, source, CSLS_NEIGHBOURS)
        r_1 = values[:, :CSLS_NEIGHBOURS].mean(dim=1, keepdim=True)
        r_2 = backwards.mean(dim=1)
        values, places = (2 * values - r_1 - r_2[columns]).sort(dim=1, descending=True)
        columns = columns.gather(1, places)
    return values[:, :k], order[columns[:, :k]]


def search(source: Tensor, target: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return cosines and columns of about the k targets nearest each source, nearest first."""
    k = min(k, len(target))
    values, columns = torch.empty(len(source), k), torch.empty(len(source), k, dtype=torch.long)
    if columns.numel() == 0:
        return values, columns
    index = build_index(target.numpy(), searching=max(SEARCHING, 4 * k))
    for start in range(0, len(source), AT_ONCE):
        say_how_far("searching neighbours", start, len(source), "entities")
        part = source[start : start + AT_ONCE]
        asked = part if len(part) > 1 else part.repeat(2, 1)  # one alone is answered otherwise
        found = index.search(asked.numpy(), k, threads=torch.get_num_threads())
        n, rows = len(part), slice(start, start + len(part))
        columns[rows] = torch.from_numpy(found.keys[:n].astype(np.int64))
        values[rows] = 1 - torch.from_numpy(found.distances[:n])
        for row in start + np.flatnonzero(found.counts[:n] < k):  # parts that nothing links
            values[row], columns[row] = (target @ source[row]).topk(k)
    say_how_far("searching neighbours", len(source), len(source), "entities")
    return values, columns


def build_index(vectors: Floats, *, searching: int) -> Any:
    """Return an index of vectors of length 1, which answers with numbers of rows."""
    index = require_usearch()(
        ndim=vectors.shape[1],
        metric="ip",
        dtype="f32",
        connectivity=N_LINKS,
        expansion_add=ADDING,
        expansion_search=searching,
    )
    for start in range(0, len(vectors), AT_ONCE):
        say_how_far("linking neighbours", start, len(vectors), "entities")
        part = vectors[start : start + AT_ONCE]
        keys = np.arange(start, start + len(part))
        index.add(keys, part, threads=torch.get_num_threads())
    say_how_far("linking neighbours", len(vectors), len(vectors), "entities")
    return index


def require_usearch() -> Any:
    """Return the class of indices, or raise with advice where usearch is not installed."""
    try:
        from usearch.index import Index  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError:
        raise SettingsError(
            "an approximate alignment needs usearch, which is not installed. Install it with "
            '`pip install "interstellar-kg[ann]"`, or leave `approximate` out.'
        ) from None
    return Index
