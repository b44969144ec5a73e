"""A supernet: one set of weights that all architectures of a space share (Algorithm 3).

Each training step is that of one architecture and moves the weights that it uses. How good an
architecture is with the shared weights is read off one mini-batch: of training paths in entity
alignment, where the architecture has no part in the metric, of validation triplets in link
prediction. What is read is the loss; in link prediction the paper leaves open whether it is that
or the metric, and both can be had.

DARTS (Liu et al. 2019) mixes all options and learns how much of each. The weights of a choice are
the softmax of its logits, which follow the gradient of the *training* loss, as the Interstellar
paper has it; DARTS itself takes the validation loss. Rate, momentum and weight decay are those of
the DARTS paper.
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
from interstellar.architecture.search_space import N_MACRO, Choice, Point, SearchSpace, build, take
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.device import mixed_products
from interstellar.errors import SettingsError, TrainingError
from interstellar.evaluation.ranks import double_ranks
from interstellar.model.mixture import Mixture
from interstellar.model.path_network import PathNetwork
from interstellar.model.shared_cell import SharedCell
from interstellar.searching.natural_gradient import ControllerState, sample, update
from interstellar.searching.trial import Weights
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, network_size
from interstellar.training.loop import torch_seed
from interstellar.training.optimizers import FlatParameters
from interstellar.training.ready_step import capture, ready_step
from interstellar.training.settings import TrainingSettings

LEARNING_RATE, BETAS, WEIGHT_DECAY = 3e-3, (0.5, 0.999), 1e-3  # of DARTS
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
        """Set up untrained weights on the device of the paths (n_paths, 2 · length + 1).

        With `macro`, only architectures of that macro level share them. `round_number` tells the
        supernets of one search apart.
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
        self.cell = SharedCell(self.choices, settings.dim, device)
        size = network_size(task, settings.dim)
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
        # Ranks are float32's.
        is_mixed = self.step.plan.loss.is_mixed and not self._is_ranked
        with mixed_products() if is_mixed else nullcontext():
            self._compute_judged = capture(self._judge_batch, device, kept=())

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
        self.cell.mixture.set_architecture(architecture)

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
        return self.task.measure(self.network, split).as_dict()[self.settings.metric]

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
            self.settings.learning_rate * self.settings.lr_decay ** (epoch - 1),
            torch_seed(self._seed, f"dropout of epoch {epoch} {self._round}"),
        )

    def _generator(self, purpose: str, device: torch.device | None = None) -> torch.Generator:
        generator = torch.Generator(device or torch.device("cpu"))
        return generator.manual_seed(torch_seed(self._seed, f"{purpose} {self._round}"))

    @torch.no_grad()
    def _judge_batch(self) -> None:
        batch = self._judged_batch
        subjects, relations, objects = batch[:, 0:-1:2], batch[:, 1::2], batch[:, 2::2]
        v = self.network.outputs(subjects, relations, None)
        true = objects.reshape(-1).long()
        self._judged_worth.zero_()
        chunk_rows = max(1, self.step.plan.loss.chunk_rows // JUDGED_PART)
        for start in range(0, len(v), chunk_rows):
            part = slice(start, start + chunk_rows)
            logits = v[part] @ self.network.entities.T
            if self._is_ranked:  # other known answers count as wrong ones, for all alike
                self._judged_worth += (2 / double_ranks(logits, true[part])).sum()
            else:
                self._judged_worth -= functional.cross_entropy(logits, true[part], reduction="sum")
        self._judged_worth /= len(true)


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
        controller = update(controller, points, supernet.judge(architectures, rng))
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
        """Return the softmax of the logits of each choice as those of the mixture."""
        logits = self.logits.masked_fill(self._is_no_option, -torch.inf)
        return torch.softmax(logits, dim=1).flatten()[self._places]

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
        weights = self.compute_weights().tolist()
        columns = self.mixture.columns
        return tuple(
            tuple(weights[columns[c.name]])
            if c.name in columns
            else (1 / len(c.options),) * len(c.options)
            for c in choices
        )
