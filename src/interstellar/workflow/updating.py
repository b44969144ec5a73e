"""A model takes in new facts, with a bar."""

from pathlib import Path

import torch

from interstellar.tasks.update_run import Update, update_run
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.progress import training_bar


def train_update(
    planned: Update, out: Path, *, device: torch.device, is_resumed: bool, audience: Audience
) -> None:
    """Say what there is to say of the new facts, and train on."""
    for note in planned.notes:
        tell(audience, f"note: {note}")
    settings = planned.experiment.settings
    bar = training_bar(settings.max_epochs, settings.selection, audience)
    with bar as (on_step, on_epoch):
        update_run(
            planned, out, device=device, is_resumed=is_resumed, on_step=on_step, on_epoch=on_epoch
        )
