"""Batch normalisation, whose running statistics are saved with a run as its weights are."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

MOMENTUM = 0.1


@final
class BatchNorm(nn.Module):
    """x ← (x − mean) / √variance · weight + bias, each of its own channel, (n, channels, …)."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))
        self.mean = nn.Parameter(torch.zeros(n_channels), requires_grad=False)
        self.variance = nn.Parameter(torch.ones(n_channels), requires_grad=False)

    def initialise(self) -> None:
        """Begin anew."""
        for parameter in (self.weight, self.variance):
            parameter.fill_(1.0)
        for parameter in (self.bias, self.mean):
            parameter.zero_()

    def normalise(self, x: Tensor, *, is_training: bool) -> Tensor:
        """Take the statistics of a batch, and note them down; or those noted down.

        A single number has no variance: a batch of one is normalised as in an answer.
        """
        return functional.batch_norm(
            x,
            self.mean,
            self.variance,
            self.weight,
            self.bias,
            training=is_training and x.numel() > x.shape[1],
            momentum=MOMENTUM,
        )
