"""Batch normalisation over the steps of paths."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-5


@final
class StepNorms(nn.Module):
    """Normalises subjects and relations, each step over the batch; steps share scale and shift.

    One call for all steps: a path of L vectors is taken as one vector of L·dim channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.affine = nn.Parameter(torch.empty(4, dim))
        """Scale and shift of subjects, scale and shift of relations."""

    def normalise(self, s: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (batch, length, dim), with every step's statistics its own."""
        length, dim = s.shape[1:]
        affine = self.affine.unsqueeze(1).expand(4, length, dim).reshape(4, length * dim)
        s_scale, s_shift, r_scale, r_shift = affine.unbind()
        return (
            normalise(s.flatten(1), s_scale, s_shift).view_as(s),
            normalise(r.flatten(1), r_scale, r_shift).view_as(r),
        )


@final
class OutputNorm(nn.Module):
    """Normalises the outputs of all steps together."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.affine = nn.Parameter(torch.empty(2, dim))
        """Scale and shift."""

    def normalise(self, v: Tensor) -> Tensor:
        """Return v, (rows, dim), normalised over the rows."""
        scale, shift = self.affine.unbind()
        return normalise(v, scale, shift)


def normalise(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x, (rows, channels), with mean 0 and variance 1 in every channel, scaled and shifted.

    The statistics are always those of the batch: alignment is read from the embeddings, so
    that nothing is normalised after training.
    """
    return functional.batch_norm(
        x, None, None, weight=scale, bias=shift, training=True, eps=EPSILON
    )
