"""What a training moves and keeps: parameters, a step, and copies of how they were."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, final

import torch
from torch import Tensor

from interstellar.model.path_network import PathNetwork
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.rivals.network import Network
from interstellar.training.autograd_step import AutogradStep
from interstellar.training.optimizers import FlatParameters
from interstellar.training.propagation_step import ready_propagation_step
from interstellar.training.ready_step import ready_step
from interstellar.training.rival_step import ready_rival_step
from interstellar.training.settings import TrainingSettings
from interstellar.training.step import TrainingStep

Snapshot: TypeAlias = dict[str, Any]
"""Tensors by name; those that are spread over processes are `Pieces` (`tensor_files.py`)."""
Step: TypeAlias = TrainingStep | AutogradStep
Ready: TypeAlias = Callable[
    [Network, Tensor, TrainingSettings, FlatParameters], tuple[Step, Callable[[], None]]
]
"""Returns a step of a network, and the function that takes it."""


class State(Protocol):
    """The state of a training, wherever it is."""

    at_epoch: Any
    """What `clone` returned after the last finished epoch."""

    @property
    def can_be_saved(self) -> bool:
        """Whether `saved_tensors` can be had: not where part of the state is lost."""

    @property
    def step(self) -> Step:
        """Knows the rows that are learnt, draws batches, and counts."""

    def compute(self) -> None:
        """Take one step."""

    def is_finite(self) -> bool:
        """Return whether all parameters are numbers."""

    def clone(self) -> Any:
        """Return a copy, by which `at_epoch` may be replaced."""

    def undo_epoch(self) -> None:
        """Go back to the last finished epoch."""

    def keep_best(self) -> None:
        """Copy the parameters as the best so far."""

    def restore_best(self) -> None:
        """Set the parameters to the best so far."""

    def saved_tensors(self) -> Snapshot:
        """Return the tensors of the last finished epoch, and the best parameters so far."""

    def best_parameters(self) -> Snapshot:
        """Return the best parameters so far, by name."""

    def resume(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `saved_tensors` returned."""

    def begin_from(self, parameters: Mapping[str, Tensor]) -> None:
        """Set the parameters, by name."""


@final
class OneDevice:
    """The state of a training that one process has to itself, on one device."""

    can_be_saved = True

    def __init__(
        self,
        network: Network,
        paths: Tensor,
        settings: TrainingSettings,
        ready: Ready | None = None,
    ) -> None:
        self._parameters = FlatParameters(network, paths.device)
        ready = ready or make_ready
        self.step, self.compute = ready(network, paths, settings, self._parameters)
        self.at_epoch = self.clone()
        self.keep_best()

    def is_finite(self) -> bool:
        return bool(torch.isfinite(self._parameters.values).all())

    def clone(self) -> Snapshot:
        return {name: tensor.clone() for name, tensor in self.step.state_tensors().items()}

    def undo_epoch(self) -> None:
        for name, tensor in self.step.state_tensors().items():
            tensor.copy_(self.at_epoch[name])

    def keep_best(self) -> None:
        self._best = self._parameters.snapshot()

    def restore_best(self) -> None:
        self._parameters.restore(self._best)

    def saved_tensors(self) -> Snapshot:
        return self.at_epoch | {f"best.{name}": t for name, t in self._best.items()}

    def best_parameters(self) -> Snapshot:
        return self._best

    def resume(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self.step.state_tensors().items():
            tensor.copy_(tensors[name])
        self.at_epoch = self.clone()
        self._best = {
            name: tensors[f"best.{name}"].to(view.device, copy=True)  # not those of an open file
            for name, view in self._parameters.views.items()
        }

    def begin_from(self, parameters: Mapping[str, Tensor]) -> None:
        shapes = {name: view.shape for name, view in self._parameters.views.items()}
        assert {name: tensor.shape for name, tensor in parameters.items()} == shapes
        self._parameters.restore(dict(parameters))
        self.at_epoch = self.clone()
        self.keep_best()


def make_ready(
    network: Network, paths: Tensor, settings: TrainingSettings, parameters: FlatParameters
) -> tuple[Step, Callable[[], None]]:
    """Return a step of the network that fits into the memory, and the function that does it."""
    if isinstance(network, PropagationNetwork):
        return ready_propagation_step(network, paths, settings, parameters)
    if isinstance(network, PathNetwork):
        return ready_step(network, paths, settings, parameters)
    return ready_rival_step(network, paths, settings, parameters)
