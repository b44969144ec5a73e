"""When to stop, and which epoch was the best."""

from typing import final


@final
class EarlyStopping:
    """Remembers the best score and how long ago it was."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.best_score: float | None = None
        self.best_epoch = 0
        self.n_without_gain = 0

    def observe(self, epoch: int, score: float) -> bool:
        """Take the score of an epoch; return whether none before it was better.

        Of equal scores the later epoch is the best: where a small validation split is solved
        early, the network still learns. Patience asks for a real gain.
        """
        is_gain = self.best_score is None or score > self.best_score
        self.n_without_gain = 0 if is_gain else self.n_without_gain + 1
        is_best = is_gain or score == self.best_score
        if is_best:
            self.best_score, self.best_epoch = score, epoch
        return is_best

    @property
    def is_over(self) -> bool:
        """Whether the patience is used up."""
        return 0 < self.patience <= self.n_without_gain
