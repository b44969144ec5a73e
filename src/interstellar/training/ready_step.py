"""A training step that fits into the memory, ready to be taken: captured on CUDA."""

from collections.abc import Callable

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory
from interstellar.errors import SettingsError
from interstellar.model.path_network import PathNetwork
from interstellar.training.flat_parameters import FlatParameters
from interstellar.training.graph_capture import CapturedStep, keeping_state
from interstellar.training.memory import first_plan, smaller_plan
from interstellar.training.settings import Precision, TrainingSettings
from interstellar.training.step import TrainingStep


def ready_step(
    network: PathNetwork, paths: Tensor, settings: TrainingSettings, parameters: FlatParameters
) -> tuple[TrainingStep, Callable[[], None]]:
    """Return a step that fits, and the function that does it; try smaller and smaller ones."""
    is_mixed = uses_mixed_precision(settings.precision, paths.device)
    batch_size = min(settings.batch_size, len(paths))
    if network.form.has_batch_norm and batch_size < 2:
        raise SettingsError(
            f"batch_size is {settings.batch_size} and there are {len(paths)} paths, but "
            "batch normalisation needs at least two in a batch. Raise the batch size."
        )
    n_rows = batch_size * (paths.shape[1] // 2)
    plan = first_plan(n_rows, network.size.n_entities, paths.device, is_mixed=is_mixed)
    while True:
        try:
            return try_plan(TrainingStep(network, paths, settings, plan, parameters))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        torch.cuda.empty_cache()
        plan = smaller_plan(plan, can_split=not network.form.has_batch_norm)


def try_plan(step: TrainingStep) -> tuple[TrainingStep, Callable[[], None]]:
    """Return a step that was tried once, and the function that does it."""
    if step.paths.device.type == "cuda":
        return step, CapturedStep(step).compute
    with keeping_state(step):
        step.compute()
    return step, step.compute


def uses_mixed_precision(precision: Precision, device: torch.device) -> bool:
    """Return whether the logits are computed in float16: on CUDA, unless float32 is asked for."""
    if precision is Precision.MIXED and device.type != "cuda":
        raise SettingsError(
            f"precision is mixed, but {device} has no kernels for it. "
            "Choose auto or float32, or train on a GPU."
        )
    return device.type == "cuda" and precision is not Precision.FLOAT32
