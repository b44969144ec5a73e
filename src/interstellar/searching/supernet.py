"""A supernet: one set of weights that all architectures of a space share (Algorithm 3).

Each training step is that of one architecture and moves the weights that it uses. How good an
architecture is with the shared weights is read off one mini-batch: of training paths in entity
alignment, where the architecture has no part in the metric, of validation triplets in link
prediction. What is read is the loss; in link prediction the paper leaves open whether it is that
or the metric, and both can be had.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import StrEnum
from typing import final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.coordinates import N_MACRO, Choice, Point, build, take
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.device import mixed_products
from interstellar.errors import SettingsError, TrainingError
from interstellar.evaluation.ranks import double_ranks
from interstellar.model.path_network import PathNetwork
from interstellar.model.shared_cell import SharedCell
from interstellar.searching.natural_gradient import ControllerState, sample, update
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, network_size
from interstellar.training.captured_work import capture
from interstellar.training.flat_parameters import FlatParameters
from interstellar.training.loop import torch_seed
from interstellar.training.ready_step import ready_step
from interstellar.training.settings import TrainingSettings

JUDGED_PART = 4
"""Judging has logits in float32 and twice, training in float16 and once: so many times fewer."""


class Reading(StrEnum):
    """What a supernet tells of architectures."""

    LOSS = "loss"
    """The loss of each on a mini-batch."""
    MRR = "mrr"
    """The mean reciprocal rank of each on a mini-batch of validation triplets."""
    GRADIENT = "gradient"
    """The gradient of the training loss by the weights of all options (DARTS), and the loss."""


@final
class Supernet:
    """The shared weights, and the architecture that is looked at right now.

    Everything random is drawn from the seed and the number of the round. Weights that a step's
    architecture does not use have the gradient 0 in it, so that what Adam remembers of earlier
    steps still moves them, as in the authors' program.
    """

    def __init__(
        self,
        task: Task,
        space: SearchSpace,
        macro: Macro | None,
        settings: TrainingSettings,
        paths: Tensor,
        *,
        seed: int,
        round_number: int = 0,
        reading: Reading = Reading.LOSS,
    ) -> None:
        """Set up untrained weights on the device of the paths.

        Args:
            task: What is learnt.
            space: The architectures that share the weights.
            macro: Leave only those with this macro level; None: all.
            settings: As for training from scratch; the learning rate decays from epoch to epoch.
            paths: (n_paths, 2 · length + 1).
            seed: Of everything random.
            round_number: Tells the supernets of one search apart.
            reading: What is read off it.
        """
        device = paths.device
        self.task = task
        self.space = space
        self.macro = macro
        self.settings = settings
        self._is_ranked = reading is Reading.MRR
        self._seed = seed
        self._round = f"of shared round {round_number}"
        self.choices = fix_macro(space, macro)
        size = network_size(task, settings.dim)
        self.cell = SharedCell(self.choices, settings.dim, device)
        self.network = PathNetwork(self.cell, size, task.form, settings.dropout)
        self.network.initialise(self._generator("initial weights"))
        self._parameters = FlatParameters(self.network, device)
        if reading is Reading.GRADIENT:
            weights = self.cell.mixture.weights.requires_grad_()
            weights.grad = torch.zeros_like(weights)
        self.step, self._compute = ready_step(self.network, paths, settings, self._parameters)
        self._n_steps_taken = 0
        self._judged_paths = paths
        if isinstance(task.graph, KnowledgeGraph):
            self._judged_paths = queries_of(task.graph).to(device)
        n_judged = min(settings.batch_size, len(self._judged_paths))
        self._judged_batch = self._judged_paths[:n_judged].clone()
        self._judged_worth = torch.zeros((), device=device)
        self._compute_judged = self._capture_judging()

    @property
    def n_steps(self) -> int:
        """Steps in an epoch."""
        return self.step.n_steps

    def architecture_at(self, point: Point) -> Architecture:
        """Return the architecture at a point of the choices that are left: all, or the micro."""
        options = [choice.options for choice in self.choices]
        if self.macro is not None:
            point = (0,) * N_MACRO + tuple(point)
        return build([of_choice[i] for of_choice, i in zip(options, point, strict=True)])

    def sample(self, rng: np.random.Generator) -> Architecture:
        """Return an architecture drawn uniformly."""
        drawn = self.space.sample(rng)
        return drawn if self.macro is None else Architecture(self.macro, drawn.micro)

    def set(self, architecture: Architecture) -> None:
        """Let the network be one architecture, until the next is set."""
        self.cell.mixture.set_architectures([architecture])

    def train_step(self) -> None:
        """Take the next training step of the epoch; after the last one a new epoch begins."""
        epoch, n_done = divmod(self._n_steps_taken, self.n_steps)
        if n_done == 0:
            self._begin_epoch(epoch + 1)
        self._compute()
        self._n_steps_taken += 1
        if n_done + 1 == self.n_steps:
            self.refuse_bad_loss()

    def judge(self, architectures: Sequence[Architecture], rng: np.random.Generator) -> list[float]:
        """Return the worth of each, without dropout, all on one mini-batch; more is better."""
        n_paths, n_judged = len(self._judged_paths), len(self._judged_batch)
        drawn = torch.from_numpy(rng.choice(n_paths, size=n_judged, replace=False))
        self._judged_batch.copy_(self._judged_paths[drawn.to(self._judged_paths.device)])
        worths = []
        for architecture in architectures:
            self.set(architecture)
            self._compute_judged()
            worths.append(self._judged_worth.clone())
        scores: list[float] = torch.stack(worths).tolist()
        return scores

    def score(self, architecture: Architecture, split: Split = Split.VALID) -> float:
        """Return the metric that selects, on a whole split, with the shared weights."""
        self.set(architecture)
        return self.task.measure(self.network, split).as_dict()[self.settings.selection]

    def refuse_bad_loss(self) -> None:
        """Raise if a loss of this epoch, or a weight, is not a finite number."""
        bad_step = int(self.step.bad_step)
        if bad_step or not bool(torch.isfinite(self._parameters.values).all()):
            epoch = -(-self._n_steps_taken // self.n_steps)
            raise TrainingError(
                f"the loss of a supernet was not a finite number at step "
                f"{bad_step or self.n_steps} of epoch {epoch} ({self._round}), so its weights "
                f"judge nothing. Lower the learning rate ({self.settings.learning_rate:g}) or the "
                f"dimension ({self.settings.dim})."
            )

    def _begin_epoch(self, epoch: int) -> None:
        n_paths, device = len(self.step.paths), self.step.paths.device
        order = self._generator(f"order of epoch {epoch}", device)
        self.step.begin_epoch(
            torch.randperm(n_paths, generator=order, device=device),
            self.settings.learning_rate * self.settings.decay ** (epoch - 1),
            torch_seed(self._seed, f"dropout of epoch {epoch} {self._round}"),
        )

    def _generator(self, purpose: str, device: torch.device | None = None) -> torch.Generator:
        generator = torch.Generator(device or torch.device("cpu"))
        return generator.manual_seed(torch_seed(self._seed, f"{purpose} {self._round}"))

    def _capture_judging(self) -> Callable[[], None]:
        is_mixed = self.step.plan.loss.is_mixed and not self._is_ranked  # ranks are float32's
        with mixed_products() if is_mixed else nullcontext():
            return capture(self._judge_batch, self._judged_batch.device, kept=())

    @torch.no_grad()
    def _judge_batch(self) -> None:
        batch = self._judged_batch
        subjects, relations, objects = batch[:, 0:-1:2], batch[:, 1::2], batch[:, 2::2]
        v = self.network.outputs(subjects, relations, None)
        true = objects.reshape(-1).long()
        measure = _sum_reciprocal_ranks if self._is_ranked else _sum_negative_losses
        self._judged_worth.zero_()
        chunk_rows = max(1, self.step.plan.loss.chunk_rows // JUDGED_PART)
        for start in range(0, len(v), chunk_rows):
            part = slice(start, start + chunk_rows)
            logits = v[part] @ self.network.entities.T
            self._judged_worth += measure(logits, true[part])
        self._judged_worth /= len(true)


def _sum_negative_losses(logits: Tensor, true: Tensor) -> Tensor:
    return functional.cross_entropy(logits, true, reduction="sum").neg()


def _sum_reciprocal_ranks(logits: Tensor, true: Tensor) -> Tensor:
    """Other known answers count as wrong ones: all that are compared see the same."""
    return (2 / double_ranks(logits, true)).sum()


def run_shared_round(
    supernet: Supernet,
    controller: ControllerState,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    is_over: Callable[[], bool] = lambda: False,
) -> ControllerState:
    """Train the shared weights and move the controller; return where it is then (Algorithm 3).

    Of each two steps: draw two points, take a training step with each, compare both on one
    mini-batch, move. Where the time is over, it stops where it is.
    """
    for _ in range(-(-n_epochs * supernet.n_steps // 2)):
        if is_over():
            break
        points = [sample(controller, rng) for _ in range(2)]
        architectures = [supernet.architecture_at(point) for point in points]
        for architecture in architectures:
            supernet.set(architecture)
            supernet.train_step()
        scores = supernet.judge(architectures, rng)
        controller = update(controller, points, scores)
    supernet.refuse_bad_loss()
    return controller


def train_uniformly(supernet: Supernet, *, n_epochs: int, rng: np.random.Generator) -> None:
    """Train the shared weights with an architecture drawn uniformly for each step."""
    for _ in range(n_epochs * supernet.n_steps):
        supernet.set(supernet.sample(rng))
        supernet.train_step()


def fix_macro(space: SearchSpace, macro: Macro | None) -> list[Choice]:
    """Return the choices of a space, with one option each at the macro level if it is fixed."""
    choices = space.choices()
    if macro is None:
        return choices
    taken = take(Architecture(macro))[:N_MACRO]
    fixed = [Choice(c.name, (option,)) for c, option in zip(choices, taken, strict=False)]
    return fixed + choices[N_MACRO:]


def queries_of(graph: KnowledgeGraph) -> Tensor:
    """Return the validation triplets and their inverses as paths of one step, (n, 3)."""
    if len(graph.valid) == 0:
        raise SettingsError(
            f"{graph.name} has no validation triplets, by which architectures are compared. "
            "Hold out part of the data."
        )
    return torch.from_numpy(with_inverses(graph.valid, len(graph.relations)))
