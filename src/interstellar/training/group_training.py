"""Trains several architectures together, each as it would be trained alone.

For graphs so small that one network cannot fill a device. Initial weights, order of paths,
dropout, learning rate, validation and early stopping are those of `Training` with the same seed,
so that a member's result is that of training it alone, up to rounding (and to the precision of
the logits, which is float32 here on every device).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import torch
from torch import Tensor

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import to_formula
from interstellar.errors import SettingsError
from interstellar.model.network_group import GroupLayout, NetworkGroup
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.training.group_step import GroupStep
from interstellar.training.loop import EarlyStopping, Measure, torch_seed
from interstellar.training.ready_step import capture
from interstellar.training.settings import Metric, Precision, TrainingSettings

MOST_LOGITS = 2**23
"""Of one network in one step; with more, it fills a device by itself."""
SHRINK_AT = 0.5
"""A group goes on without the members that are over once so few of it are left."""

ShouldStop: TypeAlias = Callable[[int, list[float]], bool]
"""Is asked after each validation of a member: its number, its scores so far. True ends it."""
OnEpoch: TypeAlias = Callable[[int, int], None]
"""Is told after each validation: the epoch, how many members are still being trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """What became of one architecture."""

    architecture: Architecture
    score: float | None
    """The best value of the metric; None where training failed before any."""
    failure: str | None
    """Why training was given up, where it was."""
    curve: list[float]
    """The metric at each validation."""
    best_epoch: int
    n_epochs: int
    """Epochs after which it was still sound."""
    valid: dict[str, float]
    """The metrics of the best epoch."""


def can_train_together(settings: TrainingSettings, form: NetworkForm, size: NetworkSize) -> bool:
    """Return whether `train_together` does what `Training` would, and sooner."""
    n_logits = settings.batch_size * settings.walk.length * size.n_entities
    return (
        form.is_two_way
        and not form.has_batch_norm
        and settings.n_negatives is None
        and settings.precision is not Precision.MIXED
        and n_logits <= MOST_LOGITS
    )


def train_together(
    architectures: Sequence[Architecture],
    paths: Tensor,
    settings: TrainingSettings,
    *,
    build: Callable[[Architecture], PathNetwork],
    seed: int,
    measure: Measure,
    should_stop: ShouldStop | None = None,
    on_epoch: OnEpoch | None = None,
) -> list[GroupMember]:
    """Train architectures together on the device of the paths; return what each came to.

    Args:
        architectures: In the order of the result; they need not differ.
        paths: (n_paths, 2 · length + 1).
        settings: Of every network.
        build: Returns an untrained network on the CPU; all of one form and size.
        seed: Of every network.
        measure: Is given networks on the CPU.
        should_stop: May end a member early, besides the patience of the settings.
        on_epoch: Is told how it goes.
    """
    networks = [build(architecture) for architecture in architectures]
    for network in networks:
        if not can_train_together(settings, network.form, network.size):
            raise SettingsError(
                "only small link prediction with the full softmax in float32 can be trained "
                f"together, but these are {network.form}, {network.size} and {settings}. "
                "Train one by one."
            )
        network.initialise(torch.Generator().manual_seed(torch_seed(seed, "initial weights")))
    members = [
        _Member(architecture, network, settings.patience)
        for architecture, network in zip(architectures, networks, strict=True)
    ]
    if not members:
        return []
    training = _GroupTraining(
        members, paths, settings, seed=seed, measure=measure, should_stop=should_stop
    )
    for epoch, n_active in training.run():
        if on_epoch is not None:
            on_epoch(epoch, n_active)
    return [member.result() for member in members]


@final
class _Member:
    """One network of a group, seen from outside."""

    def __init__(self, architecture: Architecture, network: PathNetwork, patience: int) -> None:
        self.architecture = architecture
        self.network = network
        """On the CPU; what is measured."""
        self.stopping = EarlyStopping(patience)
        self.curve: list[float] = []
        self.valid: dict[str, float] = {}
        self.failure: str | None = None
        self.n_epochs = 0
        self.is_over = False

    def observe(self, epoch: int, score: float, valid: dict[str, float]) -> None:
        """Take note of a validation."""
        self.n_epochs = epoch
        self.curve.append(score)
        if self.stopping.observe(epoch, score):
            self.valid = valid

    def give_up(self, epoch: int, step: int) -> None:
        """Take note of a loss that was not finite."""
        self.is_over = True
        self.n_epochs = epoch - 1
        self.failure = (
            f"the loss was not a finite number at step {step} of epoch {epoch} "
            f"({to_formula(self.architecture)}). Lower the learning rate or the dimension, or "
            "choose an architecture with fewer products."
        )

    def result(self) -> GroupMember:
        """Return what became of it; a failure has no score, as alone it would have none."""
        return GroupMember(
            architecture=self.architecture,
            score=self.stopping.best_score if self.failure is None else None,
            failure=self.failure,
            curve=self.curve,
            best_epoch=self.stopping.best_epoch if self.failure is None else 0,
            n_epochs=self.n_epochs,
            valid=self.valid if self.failure is None else {},
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """What validation needs of one moment, on its way to the CPU."""

    epoch: int
    numbers: list[int]
    """Of the members, as they stand in the group."""
    values: Tensor
    """(n_networks, n_numbers)."""
    bad_update: Tensor
    """(n_networks,)."""
    layout: GroupLayout
    has_arrived: torch.cuda.Event | None


@final
class _GroupTraining:
    """A group being trained."""

    def __init__(
        self,
        members: Sequence[_Member],
        paths: Tensor,
        settings: TrainingSettings,
        *,
        seed: int,
        measure: Measure,
        should_stop: ShouldStop | None,
    ) -> None:
        self._members = members
        self._settings = settings
        self._seed = seed
        self._measure = measure
        self._should_stop = should_stop
        self._numbers = list(range(len(members)))
        """The members that are in the group; those that are over drop out from time to time."""
        self._step = self._build_step(paths)
        self._step.group.copy_from([member.network for member in members])
        self._compute = self._capture()

    def run(self) -> Iterator[tuple[int, int]]:
        """Train to the end; yield each epoch that was validated and the members still active.

        On CUDA the epochs up to the next validation are on their way while the CPU measures the
        last one.
        """
        settings, waiting = self._settings, None
        for epoch in range(1, settings.max_epochs + 1):
            self._train_epoch(epoch)
            is_last = epoch == settings.max_epochs
            if epoch % settings.validate_every and not is_last:
                continue
            if waiting is not None:
                yield self._validate(waiting)
            waiting = self._take_snapshot(epoch)
            if waiting.has_arrived is None or is_last:
                yield self._validate(waiting)
                waiting = None
            if all(member.is_over for member in self._members):
                return
            if not is_last:
                self._shrink()

    def _train_epoch(self, epoch: int) -> None:
        step, settings = self._step, self._settings
        device = step.paths.device
        generator = torch.Generator(device)
        generator.manual_seed(torch_seed(self._seed, f"order of epoch {epoch}"))
        step.begin_epoch(
            torch.randperm(len(step.paths), generator=generator, device=device),
            settings.learning_rate * settings.lr_decay ** (epoch - 1),
            torch_seed(self._seed, f"dropout of epoch {epoch}"),
        )
        for _ in range(step.n_steps):
            self._compute()

    def _take_snapshot(self, epoch: int) -> _Snapshot:
        group, is_cuda = self._step.group, self._step.paths.is_cuda
        # Parameters may have become infinite in the very last step, whose loss was still finite.
        is_finite = torch.isfinite(group.values).all(dim=1)
        bad_update = self._step.bad_update.where(
            is_finite | (self._step.bad_update > 0), self._step.moments.n_updates
        )
        values, bad = (
            torch.empty(x.shape, dtype=x.dtype, pin_memory=is_cuda).copy_(x, non_blocking=True)
            for x in (group.values, bad_update)
        )
        has_arrived = torch.cuda.Event() if is_cuda else None  # type: ignore[no-untyped-call]
        if has_arrived is not None:
            has_arrived.record()
        return _Snapshot(epoch, list(self._numbers), values, bad, group.layout, has_arrived)

    def _validate(self, snapshot: _Snapshot) -> tuple[int, int]:
        """Measure all members that are not over."""
        if snapshot.has_arrived is not None:
            snapshot.has_arrived.synchronize()
        for number, vector, bad in zip(
            snapshot.numbers, snapshot.values, snapshot.bad_update.tolist(), strict=True
        ):
            member = self._members[number]
            if member.is_over:
                continue
            if bad:
                epoch, step = divmod(int(bad) - 1, self._step.n_steps)
                member.give_up(epoch + 1, step + 1)
                continue
            snapshot.layout.show(member.network, vector)
            valid = dict(self._measure(member.network))
            member.observe(snapshot.epoch, select(valid, self._settings.metric), valid)
            asked = self._should_stop is not None and self._should_stop(number, member.curve)
            member.is_over = asked or member.stopping.is_over
        return snapshot.epoch, sum(not member.is_over for member in self._members)

    def _shrink(self) -> None:
        """Leave out members that are over, once they are half of the group."""
        active = [k for k, n in enumerate(self._numbers) if not self._members[n].is_over]
        if len(active) <= len(self._numbers) * SHRINK_AT:
            self._numbers = [self._numbers[k] for k in active]
            before = self._step
            self._step = self._build_step(before.paths)
            self._step.copy_from(before, active)
            self._compute = self._capture()

    def _build_step(self, paths: Tensor) -> GroupStep:
        members = [self._members[number] for number in self._numbers]
        size, form = members[0].network.size, members[0].network.form
        group = NetworkGroup([m.architecture for m in members], size, paths.device)
        return GroupStep(group, paths, self._settings, form.max_norm)

    def _capture(self) -> Callable[[], None]:
        step = self._step
        return capture(
            step.compute, step.paths.device, kept=step.state_tensors(), generator=step.generator
        )


def select(valid: dict[str, float], metric: Metric) -> float:
    """Return the metric that decides."""
    if metric not in valid:
        raise SettingsError(
            f"metric is {metric}, but on this data there are {', '.join(valid)} only. "
            "Choose one of them."
        )
    return valid[metric]
