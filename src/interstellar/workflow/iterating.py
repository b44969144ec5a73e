"""An alignment is trained on in rounds, with a bar for each."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

from interstellar.tasks.iterated_alignment import (
    IteratedRun,
    IterationSettings,
    OnRound,
    Round,
    iterate_run,
)
from interstellar.training.loop import EpochReport
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.progress import OnEpoch, OnStep, training_bar


def train_in_rounds(
    path: Path,
    n_rounds: int,
    *,
    epochs: int | None,
    metric: str,
    device: torch.device,
    audience: Audience,
) -> IteratedRun:
    """Train a run on in rounds; goes on if it was begun."""
    settings = IterationSettings() if epochs is None else IterationSettings(epochs=epochs)
    with round_bars(settings.epochs, metric, audience) as (on_round, on_step, on_epoch):
        iterated = iterate_run(
            path,
            n_rounds=n_rounds,
            device=device,
            settings=settings,
            on_round=on_round,
            on_step=on_step,
            on_epoch=on_epoch,
        )
    if iterated.stopped is not None:
        tell(audience, f"stopped after round {iterated.rounds[-1].round}: {iterated.stopped}.")
    return iterated


@contextmanager
def round_bars(
    n_epochs: int, metric: str, audience: Audience
) -> Iterator[tuple[OnRound, OnStep, OnEpoch]]:
    """Give functions that take rounds, steps and epochs: a bar while a round trains, then a line.

    A bar is drawn from the first step of a round on: those done before have none.
    """
    watched: list[tuple[OnStep, OnEpoch]] = []
    with ExitStack() as bar:

        def on_step(n_done: int, n_steps: int) -> None:
            if not watched:
                watched.append(bar.enter_context(training_bar(n_epochs, metric, audience)))
            watched[0][0](n_done, n_steps)

        def on_round(found: Round) -> None:
            bar.close()
            watched.clear()
            tell(
                audience,
                f"round {found.round}: {found.proposed:,} pairs as seeds, "
                f"valid {metric} {found.valid[metric]:.4f}, {found.seconds:.4g} s",
            )

        def on_epoch(epoch: EpochReport) -> None:
            watched[0][1](epoch)

        yield on_round, on_step, on_epoch
