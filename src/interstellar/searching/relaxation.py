"""DARTS: a supernet that mixes all options, and learns how much of each (Liu et al. 2019).

The weights of a choice are the softmax of its logits. The logits follow the gradient of the
*training* loss, as the Interstellar paper has it; DARTS itself takes the validation loss. Rate,
momentum and weight decay are those of the DARTS paper.
"""

from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from interstellar.architecture.coordinates import Choice
from interstellar.model.mixture import Mixture
from interstellar.searching.strategy import Weights
from interstellar.searching.supernet import Supernet

LEARNING_RATE, BETAS, WEIGHT_DECAY = 3e-3, (0.5, 0.999), 1e-3


def run_relaxed(
    supernet: Supernet, *, n_epochs: int, is_over: Callable[[], bool] = lambda: False
) -> Weights:
    """Train weights and mixture of a relaxed supernet; return the weights of the options.

    Where the time is over, it stops where it is.
    """
    relaxation = Relaxation(supernet.cell.mixture)
    n_rows = supernet.step.batch_size * (supernet.step.paths.shape[1] // 2)
    for _ in range(n_epochs * supernet.n_steps):
        if is_over():
            break
        relaxation.set_weights()
        supernet.train_step()
        relaxation.learn(n_rows)
    return relaxation.weights_of(supernet.choices)


@final
class Relaxation:
    """The logits of all options, and the optimiser that moves them."""

    def __init__(self, mixture: Mixture) -> None:
        assert mixture.weights.grad is not None, "the supernet is a relaxed one"
        columns = mixture.columns.values()
        is_option = torch.zeros(len(columns), max(c.stop - c.start for c in columns))
        for row, column in zip(is_option, columns, strict=True):
            row[: column.stop - column.start] = 1
        device = mixture.weights.device
        self.mixture = mixture
        self._is_no_option = (is_option == 0).to(device)
        self._places = is_option.flatten().nonzero().squeeze(1).to(device)
        self.logits = torch.zeros(is_option.shape, device=device).requires_grad_()
        """(n_choices, most options), the unused at the end of each row."""
        self._adam = torch.optim.Adam(
            [self.logits], lr=LEARNING_RATE, betas=BETAS, weight_decay=WEIGHT_DECAY
        )

    def compute_weights(self) -> Tensor:
        """Return the softmax of the logits of each choice as a row of the mixture, (1, n)."""
        logits = self.logits.masked_fill(self._is_no_option, -torch.inf)
        return torch.softmax(logits, dim=1).flatten()[self._places].unsqueeze(0)

    @torch.no_grad()
    def set_weights(self) -> None:
        """Mix by the logits as they are, and forget the last gradient."""
        self.mixture.weights.copy_(self.compute_weights())
        assert self.mixture.weights.grad is not None
        self.mixture.weights.grad.zero_()

    def learn(self, n_rows: int) -> None:
        """Move the logits by the gradient that the last step left, of a sum over rows."""
        assert self.mixture.weights.grad is not None
        self._adam.zero_grad()
        self.compute_weights().backward(self.mixture.weights.grad / n_rows)  # type: ignore[no-untyped-call]
        self._adam.step()

    def weights_of(self, choices: Sequence[Choice]) -> Weights:
        """Return the weights of all options; of a choice that nothing reads, equal ones."""
        [weights] = self.compute_weights().tolist()
        columns = self.mixture.columns
        return tuple(
            tuple(weights[columns[c.name]])
            if c.name in columns
            else (1 / len(c.options),) * len(c.options)
            for c in choices
        )
