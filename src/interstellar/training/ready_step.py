"""A training step that fits into the memory, ready to be taken.

On CUDA it is captured as a graph, in a second: nothing is compiled.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory, mixed_products
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.path_cell import PathCell
from interstellar.model.path_network import PathNetwork
from interstellar.model.softmax_loss import LossPlan
from interstellar.training.optimizers import FlatParameters
from interstellar.training.settings import USUAL_MAX_NORM, Precision, TrainingSettings
from interstellar.training.step import StepPlan, TrainingStep
from interstellar.training.threads import fitting_threads


def ready_step(
    network: PathNetwork, paths: Tensor, settings: TrainingSettings, parameters: FlatParameters
) -> tuple[TrainingStep, Callable[[], None]]:
    """Return a step that fits, and the function that does it; try smaller and smaller ones."""
    is_mixed = uses_mixed_precision(settings.precision, paths.device)
    refuse_unfit(network, paths, settings)
    n_rows = min(settings.batch_size, len(paths)) * (paths.shape[1] // 2)
    plan = first_plan(n_rows, network.size.n_entities, paths.device, is_mixed=is_mixed)
    while True:
        try:
            return try_plan(TrainingStep(network, paths, settings, plan, parameters))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        torch.cuda.empty_cache()
        parameters.gradients.zero_()
        plan = smaller_plan(plan, can_split=not network.form.has_batch_norm)


def refuse_unfit(network: PathNetwork, paths: Tensor, settings: TrainingSettings) -> None:
    """Raise where settings do not fit a network or its paths."""
    batch_size = min(settings.batch_size, len(paths))
    if network.form.has_batch_norm and batch_size < 2:
        raise SettingsError(
            f"batch_size is {settings.batch_size} and there are {len(paths)} paths, but "
            "batch normalisation needs at least two in a batch. Raise the batch size."
        )
    if not network.form.is_two_way and settings.max_norm not in (None, USUAL_MAX_NORM):
        raise SettingsError(
            f"max_norm is {settings.max_norm}, but only the embeddings of link prediction are "
            "bounded, and this is an alignment. Leave it out."
        )
    if settings.relation_prediction:
        refuse_unpredictable(network, paths.shape[1] // 2, settings.relation_prediction)


def refuse_unpredictable(network: PathNetwork, length: int, weight: float) -> None:
    """Raise where relations cannot be predicted beside objects."""
    if not network.form.is_two_way:
        found = "this is an alignment"
    elif length > 1:
        found = f"paths have {length} triplets"
    elif not isinstance(network.cell, PathCell):
        found = "the weights are shared by several architectures"
    else:
        return
    raise SettingsError(
        f"relation_prediction is {weight} and {found}, but relations are predicted between the "
        "ends of single triplets of one graph, by one architecture. Set path_length to 1 if that "
        "is it, or leave relation_prediction out."
    )


def try_plan(step: TrainingStep) -> tuple[TrainingStep, Callable[[], None]]:
    """Return a step that was tried once, and the function that does it."""
    kept, device = tuple(step.state_tensors().values()), step.paths.device
    if device.type != "cuda":
        with keeping(kept), fitting_threads(step):
            step.compute()
        return step, step.compute
    with mixed_products() if step.plan.loss.is_mixed else nullcontext():
        return step, capture(
            step.compute,
            device,
            kept=kept,
            generator=step.generator,
            prepare=step.n_done.zero_,  # so that there is a batch for each step
        )


def uses_mixed_precision(precision: Precision, device: torch.device) -> bool:
    """Return whether the logits are computed in float16: on CUDA, unless float32 is asked for."""
    if precision is Precision.MIXED and device.type != "cuda":
        raise SettingsError(
            f"precision is mixed, but {device} has no kernels for it. "
            "Choose auto or float32, or train on a GPU."
        )
    return device.type == "cuda" and precision is not Precision.FLOAT32


CPU_CHUNK_NUMBERS = 2**22
"""Logits computed together on the CPU: 16 MiB, about what stays in the caches."""
SHARE_OF_FREE_MEMORY = 0.25
FEWEST_ROWS = 32


def first_plan(n_rows: int, n_entities: int, device: torch.device, *, is_mixed: bool) -> StepPlan:
    """Return the plan that is tried first."""
    if device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(device)
        most_numbers = int(free_bytes * SHARE_OF_FREE_MEMORY) // (2 if is_mixed else 4)
    else:
        most_numbers = CPU_CHUNK_NUMBERS
    chunk_rows = max(FEWEST_ROWS, min(n_rows, most_numbers // n_entities))
    return StepPlan(LossPlan(chunk_rows=chunk_rows, is_mixed=is_mixed))


def smaller_plan(plan: StepPlan, *, can_split: bool) -> StepPlan:
    """Return a plan that needs less memory and gives the same result.

    First the rows of logits that exist together are halved, then the batch is computed in
    parts; batch normalisation forbids the latter, because its statistics are those of a batch.
    """
    if plan.loss.chunk_rows > FEWEST_ROWS:
        smaller = max(FEWEST_ROWS, plan.loss.chunk_rows // 2)
        return replace(plan, loss=replace(plan.loss, chunk_rows=smaller))
    if can_split and plan.n_parts < 64:
        return replace(plan, n_parts=2 * plan.n_parts)
    raise TrainingError(
        "the memory of this device does not hold one training step, even in small parts. "
        "Lower the dimension or the batch size, let several GPUs share the table (`processes`), or "
        "train on another device."
    )


N_WARM_UP = 3
"""Rounds of work before capturing, so that libraries have made their choices and buffers."""


def capture(
    work: Callable[[], None],
    device: torch.device,
    *,
    kept: Sequence[Tensor],
    generator: torch.Generator | None = None,
    prepare: Callable[[], object] | None = None,
) -> Callable[[], None]:
    """Return a function that does the work with a single launch; on the CPU the work itself.

    The work reads and writes tensors that stay where they are, and hands nothing to the host.

    Args:
        work: Is done a few times to warm up, and captured.
        device: Where its tensors are.
        kept: Tensors that the work changes, and that shall be afterwards as they were before.
        generator: From which the work draws, if it does.
        prepare: Called each time before the work is done to warm up; not captured.
    """
    if device.type != "cuda":
        return work
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    with keeping(kept):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(N_WARM_UP):
                if prepare is not None:
                    prepare()
                work()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream):
            work()
    return graph.replay


@contextmanager
def keeping(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Undo whatever is done to tensors inside."""
    copies = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copy in zip(tensors, copies, strict=True):
                tensor.copy_(copy)
