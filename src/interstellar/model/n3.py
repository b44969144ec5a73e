"""The regulariser N3 (Lacroix, Usunier and Obozinski 2018), which keeps embeddings short.

N(x) = Σ |z|³ over the complex coordinates z of an embedding, whose halves are the real and the
imaginary parts, as ⊗ takes them. Its gradient is 3 |z| z. Every step (s, r, o) of a path costs
weight · (N(s) + N(r) + N(o)), with both embeddings of s and o, and r⁻¹ too, if there are two ways.
"""

import torch
from torch import Tensor

from interstellar.model.path_network import SUBJECTS, PathNetwork


@torch.no_grad()
def add_n3_gradient(
    network: PathNetwork, subjects: Tensor, relations: Tensor, objects: Tensor, weight: float
) -> None:
    """Add the gradient of what the steps of some paths cost; all ids are (batch, length)."""
    half = network.size.dim // 2
    for table, ids in rows_read(network, subjects, relations, objects).items():
        parameter = network.get_parameter(table)
        assert parameter.grad is not None
        add_slopes(parameter.grad, parameter, ids, weight, half)


def rows_read(
    network: PathNetwork, subjects: Tensor, relations: Tensor, objects: Tensor
) -> dict[str, Tensor]:
    """Return the rows of each table that some paths read, a row as often as it is read."""
    if network.form.is_two_way:
        relations = torch.cat([relations, network.inverse(relations)])
        return {"entities": torch.cat([subjects, objects]), "relations": relations}
    return {SUBJECTS: subjects, "entities": objects, "relations": relations}


def add_slopes(gradient: Tensor, table: Tensor, ids: Tensor, weight: float, half: int) -> None:
    """Add weight · 3 |z| z to the gradient of a table's rows, as often as `ids` has them.

    A row is one embedding or several; the real part of each has `half` numbers.
    """
    ids = ids.reshape(-1)
    if table.device.type == "cuda":  # nothing may wait for the number of rows there
        from interstellar.model.network_kernels import add_n3_slopes  # noqa: PLC0415 (triton)

        counts = torch.zeros(len(table), device=table.device)
        counts.index_add_(0, ids, torch.ones_like(ids, dtype=counts.dtype))
        add_n3_slopes(table, gradient, counts, 3 * weight, half)
        return
    rows, n_read = ids.unique(return_counts=True)  # type: ignore[no-untyped-call]
    z = table.index_select(0, rows).view(len(rows), -1, 2, half)
    real, imaginary = z.unbind(2)
    lengths = (real * real).addcmul_(imaginary, imaginary).sqrt_()  # a norm over 2 numbers is slow
    slopes = lengths.mul_((3 * weight * n_read).view(-1, 1, 1)).unsqueeze(2) * z
    gradient.index_add_(0, rows, slopes.flatten(1))
