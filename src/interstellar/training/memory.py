"""How a training step is cut to the memory there is."""

from dataclasses import replace

import torch

from interstellar.errors import TrainingError
from interstellar.model.softmax_loss import LossPlan
from interstellar.training.step import StepPlan

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
        "Lower the dimension or the batch size, or train on another device."
    )
