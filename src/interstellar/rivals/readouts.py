"""How a query's vector v meets the vectors of objects: by product, or by distance."""

import torch
from torch import Tensor

EPSILON = 1e-12


def products(v: Tensor, objects: Tensor) -> Tensor:
    """Return v · o for all pairs, (n, objects)."""
    return v @ objects.T


def own_products(v: Tensor, objects: Tensor) -> Tensor:
    """Return v · o of each row."""
    return (v * objects).sum(dim=-1)


def distances(v: Tensor, objects: Tensor, norm: float) -> Tensor:
    """Return ‖v − o‖ for all pairs, (n, objects)."""
    return torch.cdist(v, objects, p=norm, compute_mode="donot_use_mm_for_euclid_dist")


def own_distances(v: Tensor, objects: Tensor, norm: float) -> Tensor:
    """Return ‖v − o‖ of each row."""
    lengths: Tensor = torch.linalg.vector_norm(v - objects, ord=norm, dim=-1)
    return lengths


def complex_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the real and the imaginary parts, which are the halves of a vector."""
    real, imaginary = x.chunk(2, dim=-1)
    return real, imaginary


def moduli(real: Tensor, imaginary: Tensor) -> Tensor:
    """Return |z|, whose gradient at 0 is 0."""
    return (real.square() + imaginary.square()).clamp_min(EPSILON).sqrt()
