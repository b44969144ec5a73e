"""Several networks of one architecture as one, whose logits are the sum of theirs.

Everything in a cell is done number by number or by a matrix. So networks of dimension d side by
side are one network of dimension K · d with block-diagonal matrices. The halves of ⊗ stay halves:
first the real parts of all, then the imaginary ones.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.model.path_network import PathNetwork


@torch.no_grad()
def join(architecture: Architecture, networks: Sequence[PathNetwork]) -> PathNetwork:
    """Return networks of an architecture as one network.

    Where entities are aligned by the cosine of their embeddings, each has the same say in it.
    """
    first = networks[0]
    size = replace(first.size, dim=len(networks) * first.size.dim)
    joined = PathNetwork.of(architecture, size, first.form, first.dropout)
    for parameter in joined.parameters():
        parameter.zero_()
    for k, network in enumerate(networks):
        place = places(k, len(networks), first.size.dim)
        for name, whole in joined.named_parameters():
            part: Tensor = network.get_parameter(name)
            if name == "one_way_subjects":
                part = functional.normalize(part)
            _put(whole, part.to(whole), place, is_square=name.endswith("weight"))
    return joined


def places(k: int, n_networks: int, dim: int) -> Tensor:
    """Return where the numbers of the k-th network stand in an embedding of the joined one."""
    half = torch.arange(dim // 2)
    real = k * (dim // 2) + half
    return torch.cat([real, n_networks * (dim // 2) + real])


def _put(whole: Tensor, part: Tensor, place: Tensor, *, is_square: bool) -> None:
    """Write a member's parameter to its place in that of all, in each table side by side."""
    if is_square:
        whole[place.unsqueeze(1), place] = part
        return
    dim = len(place)
    for table in range(part.shape[-1] // dim):
        start = table * (whole.shape[-1] * dim // part.shape[-1])
        whole[..., start + place] = part[..., table * dim : (table + 1) * dim]
