"""The training loop: epochs, validation, early stopping, and what resuming needs."""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, TypeAlias, final

import torch
from torch import Tensor

from interstellar.errors import SettingsError, TrainingError
from interstellar.randomness import derive_key
from interstellar.rivals.network import Network
from interstellar.training.settings import TrainingSettings
from interstellar.training.state import OneDevice, Snapshot, State
from interstellar.training.step import StepPlan, TrainingStep
from interstellar.training.threads import fitting_threads

Measure: TypeAlias = Callable[[Network], Mapping[str, float]]
"""Returns the metrics of a network on the validation split, and as `n` how many ranks it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochReport:
    """What is known of one epoch."""

    epoch: int
    """Counted from 1."""
    loss: float
    valid: dict[str, float] | None
    """Metrics; None where the epoch was not validated."""
    is_best: bool
    train_seconds: float
    valid_seconds: float
    step_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far training has come; JSON-able."""

    n_epochs: int = 0
    is_over: bool = False
    best_epoch: int = 0
    best_score: float | None = None
    n_without_gain: int = 0
    reports: list[EpochReport] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Progress":
        reports = [EpochReport(**report) for report in values["reports"]]
        return cls(**{**values, "reports": reports})

    @property
    def step_ms(self) -> float:
        """The median time of a training step, optimiser included."""
        return statistics.median(r.step_ms for r in self.reports) if self.reports else 0.0

    @property
    def seconds(self) -> float:
        """Time spent in training and validation."""
        return sum(r.train_seconds + r.valid_seconds for r in self.reports)


MANY_RANKS = 1000
"""From as many on, a validation is taken to tell whether a network has gained."""


@final
class EarlyStopping:
    """Remembers the best score and how long ago it was.

    The noise of a score that is the mean of n ranks goes with 1/√n, and so does the time that a
    network which still learns needs to gain more than that. Hence where a validation has fewer
    than `MANY_RANKS`, the patience lasts √(MANY_RANKS / n) times as long.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.best_score: float | None = None
        self.best_epoch = 0
        self.n_without_gain = 0
        self.n_ranks: float = MANY_RANKS

    def observe(self, epoch: int, score: float, n_ranks: float = MANY_RANKS) -> bool:
        """Take the score of an epoch; return whether none before it was better.

        Of equal scores the later epoch is the best: where a small validation split is solved
        early, the network still learns. Patience asks for a real gain.
        """
        self.n_ranks = n_ranks
        is_gain = self.best_score is None or score > self.best_score
        self.n_without_gain = 0 if is_gain else self.n_without_gain + 1
        is_best = is_gain or score == self.best_score
        if is_best:
            self.best_score, self.best_epoch = score, epoch
        return is_best

    @property
    def is_over(self) -> bool:
        """Whether the patience is used up."""
        patience = self.patience * max(1, math.sqrt(MANY_RANKS / self.n_ranks))
        return 0 < patience <= self.n_without_gain


BeginState: TypeAlias = Callable[[Network, Tensor, TrainingSettings], State]
"""Takes a network with its initial weights, rows of what is learnt, and settings."""


class Observer(Protocol):
    """Is told how training goes; may raise to stop it."""

    def on_step(self, n_done: int, n_steps: int) -> None:
        """Take note of a step: done on the CPU, handed to the device on CUDA."""

    def on_epoch(self, report: EpochReport, training: "Training") -> None:
        """Take note of an epoch, after which `training.saved_tensors` are up to date."""


@final
class SilentObserver:
    """Takes no note of anything."""

    def on_step(self, n_done: int, n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: "Training") -> None:
        pass


@final
class Training:
    """A network being trained on a fixed table of paths."""

    def __init__(
        self,
        network: Network,
        paths: Tensor,
        settings: TrainingSettings,
        *,
        seed: int,
        measure: Measure,
        begin: BeginState = OneDevice,
    ) -> None:
        """Be ready to train; `begin` puts the network where it is trained."""
        started = time.perf_counter()
        network.initialise(torch.Generator().manual_seed(initial_seed(seed)))
        self.network = network
        self.settings = settings
        self.seed = seed
        self.progress = Progress()
        self._measure = measure
        self._stopping = EarlyStopping(settings.patience)
        self._state = begin(network, paths, settings)
        self.setup_seconds = time.perf_counter() - started

    @property
    def plan(self) -> StepPlan | None:
        """How a step along paths was cut to the memory; None: it is one of a propagation."""
        return self._state.step.plan if isinstance(self._state.step, TrainingStep) else None

    def run(self, observer: Observer) -> None:
        """Train until early stopping or the last epoch; then the network is its best self."""
        while not self.progress.is_over:
            report = self.run_epoch(observer)
            observer.on_epoch(report, self)
        self._state.restore_best()

    def run_epoch(self, observer: Observer) -> EpochReport:
        """Train one epoch, and validate if it is time."""
        epoch = self.progress.n_epochs + 1
        started = time.perf_counter()
        loss = self._train_epoch(epoch, observer)
        trained = time.perf_counter()
        is_last = epoch >= self.settings.max_epochs
        valid, is_best = None, False
        if is_last or epoch % self.settings.validate_every == 0:
            valid = dict(self._measure(self.network))
            is_best = self._stopping.observe(epoch, self._select(valid), count_ranks(valid))
        if is_best:
            self._state.keep_best()
        report = EpochReport(
            epoch=epoch,
            loss=loss,
            valid=valid,
            is_best=is_best,
            train_seconds=trained - started,
            valid_seconds=time.perf_counter() - trained,
            step_ms=1000 * (trained - started) / self._state.step.n_steps,
        )
        self._note(report, is_over=is_last or self._stopping.is_over)
        return report

    @property
    def can_be_saved(self) -> bool:
        """Whether `saved_tensors` can be had."""
        return self._state.can_be_saved

    def saved_tensors(self) -> Snapshot:
        """Return the tensors of the last finished epoch, and the best parameters so far."""
        return self._state.saved_tensors()

    def best_parameters(self) -> Snapshot:
        """Return the parameters of the best epoch by name."""
        return self._state.best_parameters()

    def begin_from(self, parameters: Mapping[str, Tensor]) -> None:
        """Set the parameters that the first epoch starts from, by name, in place of the draw."""
        self._state.begin_from(parameters)

    def resume(self, tensors: Mapping[str, Tensor], progress: Progress) -> None:
        """Go on from what `saved_tensors` and `progress` were; more epochs may be wanted now."""
        self._state.resume(tensors)
        self._stopping.best_score = progress.best_score
        self._stopping.best_epoch = progress.best_epoch
        self._stopping.n_without_gain = progress.n_without_gain
        validated = [report.valid for report in progress.reports if report.valid is not None]
        self._stopping.n_ranks = count_ranks(validated[-1] if validated else {})
        is_over = progress.n_epochs >= self.settings.max_epochs or self._stopping.is_over
        self.progress = replace(progress, is_over=is_over)
        if is_over:
            self._state.restore_best()

    def _train_epoch(self, epoch: int, observer: Observer) -> float:
        step, device = self._state.step, self._state.step.paths.device
        order_seed = torch_seed(self.seed, f"order of epoch {epoch}")
        generator = torch.Generator(device).manual_seed(order_seed)
        step.begin_epoch(
            torch.randperm(len(step.paths), generator=generator, device=device),
            self.settings.learning_rate * self.settings.lr_decay ** (epoch - 1),
            torch_seed(self.seed, f"dropout of epoch {epoch}"),
        )
        with fitting_threads(step):
            for n_done in range(1, step.n_steps + 1):
                self._state.compute()
                observer.on_step(n_done, step.n_steps)
        loss = step.loss_sum.item() / step.n_steps  # waits for the device
        bad_step = int(step.bad_step)
        if bad_step or not self._state.is_finite():
            self._state.undo_epoch()
            raise TrainingError(
                f"the loss was not a finite number at step {bad_step or step.n_steps} of epoch "
                f"{epoch} ({self.network.formula}). The weights before it "
                f"are kept. Lower the learning rate ({self.settings.learning_rate:g}) or the "
                f"dimension ({self.settings.dim}), or choose an architecture with fewer products."
            )
        return loss

    def _select(self, valid: Mapping[str, float]) -> float:
        metric = self.settings.metric
        if metric not in valid:
            raise SettingsError(
                f"metric is {metric}, but on this data there are {', '.join(valid)} only. "
                "Choose one of them."
            )
        return valid[metric]

    def _note(self, report: EpochReport, *, is_over: bool) -> None:
        copies = self._state.clone()
        progress = Progress(
            n_epochs=report.epoch,
            is_over=is_over,
            best_epoch=self._stopping.best_epoch,
            best_score=self._stopping.best_score,
            n_without_gain=self._stopping.n_without_gain,
            reports=[*self.progress.reports, report],
        )
        # Both at once: an interrupt between them would save the state of one epoch as another's.
        self._state.at_epoch, self.progress = copies, progress


def count_ranks(valid: Mapping[str, float]) -> float:
    """Return of how many ranks the metrics are means; many where that is not said."""
    return valid.get("n", MANY_RANKS)


def initial_seed(seed: int) -> int:
    """Return the seed of the initial weights."""
    return torch_seed(seed, "initial weights")


def torch_seed(seed: int, purpose: str) -> int:
    """Return a seed for a torch generator, which takes 63 bits."""
    return derive_key(seed, purpose) >> 1
