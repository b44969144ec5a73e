"""What the training of a rival can be told besides what every training is told."""

from dataclasses import dataclass
from enum import StrEnum

from interstellar.errors import SettingsError

MAX_LAYERS = 8


class RivalLoss(StrEnum):
    """What a triplet (s, r, o) costs, given the logits φ of its answer o and of wrong ones o′."""

    SOFTMAX = "softmax"
    """−log softmax φ(o) among all entities, or among those drawn."""
    SELF_ADVERSARIAL = "self-adversarial"
    """−log σ(φ(o)) − Σ p(o′) log σ(−φ(o′)), p the softmax of φ(o′) (Sun et al. 2019)."""
    MARGIN = "margin"
    """Mean of [γ − φ(o) + φ(o′)]₊."""
    LIMIT = "limit"
    """[−φ(o) − γ₁]₊ + μ · mean of [γ + φ(o′)]₊: distances under a limit; o′ are the nearest to o
    of those drawn, a twentieth (Sun et al. 2018)."""
    HARD = "hard"
    """log Σ exp(λ φ(o′) / σ) − λ φ(o) / σ, σ the deviation of the φ (Mao et al. 2021). For
    models that learn pairs: o′ are all entities of the other graph."""


HAVE_NO_MARGIN = (RivalLoss.SOFTMAX, RivalLoss.HARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalSettings:
    """The loss of a rival, and its depth."""

    loss: RivalLoss = RivalLoss.SOFTMAX
    margin: float = 1.0
    """γ of the loss; of self-adversarial what distances are taken from."""
    layers: int = 1
    """Of a model with layers."""

    def __post_init__(self) -> None:
        if not isinstance(self.loss, RivalLoss):
            raise SettingsError(
                f"loss is {self.loss!r}, but it must be one of {', '.join(RivalLoss)}. Choose one."
            )
        if type(self.margin) not in (int, float) or not 0 <= self.margin <= 1e6:
            raise SettingsError(
                f"margin is {self.margin!r}, but it must be a number from 0, at most a million. "
                "RotatE has 6 to 24."
            )
        if type(self.layers) is not int or not 1 <= self.layers <= MAX_LAYERS:
            raise SettingsError(
                f"layers is {self.layers!r}, but it must be a whole number from 1 to {MAX_LAYERS}. "
                "Graph convolutions usually have 2."
            )
