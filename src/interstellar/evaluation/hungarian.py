"""The one-to-one alignment with the highest sum of cosines."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import fit_chunk_size
from interstellar.evaluation.memory import free_host_bytes
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Similarity
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance
from interstellar.evaluation.stable_matching import NOBODY

DOUBLE_BYTES = 8
PRICING = SinkhornSettings(temperature=0.01, n_rounds=100)


def match_optimally(cosine: Similarity, *, memory_bytes: int | None = None) -> Tensor:
    """Return the column of each row's partner, `NOBODY` where it has none: int64 (n_asking,).

    Among equals the order is arbitrary, and may follow the numbers of entities: shuffle them
    before. A NaN counts as the lowest cosine.

    Args:
        cosine: The cosines of all who are to be matched with each other.
        memory_bytes: What the costs may take; None for three quarters of what is
            free on the host.

    Raises:
        SettingsError: The costs do not fit.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 (a quarter of a second)

    n_asking, n_answering = cosine.shape
    refuse_too_large(n_asking, n_answering, memory_bytes)
    if n_asking > n_answering:  # SciPy would make a copy
        partner_of_column = match_optimally(cosine.turned(), memory_bytes=memory_bytes)
        partner = torch.full((n_asking,), NOBODY)
        partner[partner_of_column] = torch.arange(n_answering)
        return partner
    _, columns = linear_sum_assignment(_costs(cosine, memory_bytes))
    return torch.from_numpy(columns.astype(np.int64))


def refuse_too_large(n_asking: int, n_answering: int, memory_bytes: int | None = None) -> None:
    """Raise if the costs of all pairs do not fit the memory."""
    needed = DOUBLE_BYTES * n_asking * n_answering
    allowed = free_host_bytes() // 4 * 3 if memory_bytes is None else memory_bytes
    if needed > allowed:
        raise SettingsError(
            f"the Hungarian method keeps the costs of all pairs: {n_asking:,} × {n_answering:,} "
            f"take {needed / 2**30:.3g} GiB, and {allowed / 2**30:.3g} GiB may be used. "
            "Choose stable or sinkhorn, which need little memory."
        )


def _costs(cosine: Similarity, memory_bytes: int | None) -> npt.NDArray[np.float64]:
    """Return costs (n_asking, n_answering) whose best assignment is that of the cosines.

    Where all columns are assigned, a price on each changes no assignment's place among the others.
    Those of Sinkhorn are so near to the dual solution that SciPy is done in a fraction of the
    time.
    """
    n_asking, n_answering = cosine.shape
    prices: tuple[Tensor, Tensor] | None = None
    if n_asking == n_answering:
        log_u, log_v = balance(cosine, PRICING, memory_bytes=memory_bytes)
        prices = PRICING.temperature * log_u.double(), PRICING.temperature * log_v.double()
    costs = np.empty((n_asking, n_answering))
    size = fit_chunk_size(FLOAT_BYTES * max(1, n_answering), cosine.device)
    for rows in (slice(start, start + size) for start in range(0, n_asking, size)):
        values = cosine.rows(rows).double()
        if prices is not None:
            values.add_(prices[0][rows].unsqueeze(1)).add_(prices[1])
        costs[rows] = values.neg_().nan_to_num_(nan=2.0).cpu().numpy()
    return costs
