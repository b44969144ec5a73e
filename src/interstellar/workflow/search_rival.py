"""The rival that what a search of two graphs found has to beat.

Networks along walks learn triplets, and the known pairs only through them. A graph convolution that
learns the pairs themselves is often better, and trained in a fraction of the time. So Dual-AMN is
trained too, by rule, and what is better on validation wins.
"""

import math
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, final

from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.neighbour_sum import simple_conv
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, Retraining, SearchPlan
from interstellar.runs.training_run import train_run
from interstellar.searching.retraining import refuse_earlier_winner
from interstellar.searching.search_journal import FINAL, RIVAL
from interstellar.training.loop import EpochReport, Observer, Training
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import tell
from interstellar.workflow.given import final_settings
from interstellar.workflow.progress import training_bar
from interstellar.workflow.run_place import RunPlace
from interstellar.workflow.search_result import SearchResult, Stage

FIRST_SHARE = 0.5
"""Of the time that is left for it, before it is compared; where it is ahead it may have the rest,
but for what measuring takes."""
LAST_SHARE = 0.85


def wants_rival(graph: AnyGraph, plan: SearchPlan, after: Retraining, stage: Stage) -> bool:
    """Return whether a search is followed by a rival, and say why not where it should be."""
    is_usual = after.then_train and not plan.as_published and not plan.from_scratch
    if not is_usual or not isinstance(graph, GraphPair):
        return False
    try:
        if stage.workers.device.type != "cpu":
            simple_conv()
    except SettingsError as error:
        tell(stage.audience, f"note: {Rival.DUAL_AMN} is not tried: {error}")
        return False
    return True


def beats(rival: Mapping[str, Any], found: SearchResult) -> bool:
    """Return whether the rival is better on validation than what was found."""
    metric = read_experiment(RunFolder.open(found.path).experiment_file).settings.metric
    score: float = rival["metrics"]["valid"][metric]
    return score > (found.best.score or 0.0)


def train_rival(
    search: Experiment, graph: AnyGraph, place: RunPlace, stage: Stage, budget: Budget
) -> RunPlace | None:
    """Train the rival in the time that is left; return where the winner is, if it is that.

    Where it is ahead after half of the time it has all of it.
    """
    folder, found = place.path / RIVAL, SearchResult(place)
    usual = replace(final_settings(graph, Rival.DUAL_AMN), metric=search.settings.metric)
    experiment = replace(search, architecture=Rival.DUAL_AMN.value, settings=usual, plan=None)

    def train(max_epochs: int, seconds: float = math.inf) -> Result:
        settings = replace(usual, max_epochs=max_epochs)
        with training_bar(max_epochs, usual.metric, stage.audience) as shown:
            return train_run(
                replace(experiment, settings=settings),
                folder,
                device=stage.workers.device,
                graph=graph,
                resume=True,
                observer=Until(seconds, shown),
            )

    def left() -> float:
        return math.inf if budget.seconds is None else budget.seconds - stage.spent_seconds(found)

    begun = usual.validate_every
    if os.path.lexists(folder):  # perhaps by another version, whose rule was another
        settings = read_experiment(RunFolder.open(folder).experiment_file).settings
        begun, usual = settings.max_epochs, replace(settings, max_epochs=usual.max_epochs)
    try:
        result = train(usual.max_epochs if budget.seconds is None else begun, left())
    except TimeoutError:
        tell(stage.audience, f"rival: for {Rival.DUAL_AMN} there was no time.")
        return None
    if budget.seconds is not None and not (place.path / FINAL).exists():
        for share in (FIRST_SHARE, LAST_SHARE):
            if share == FIRST_SHARE or beats(result, found):
                n = affordable(result, usual, share * left())
                result = train(n) if n > result["epochs"] else result
    is_better = beats(result, found)
    metric, score = usual.metric, result["metrics"]["valid"][usual.metric]
    said = "wins" if is_better else "does not win"
    tell(stage.audience, f"rival: {Rival.DUAL_AMN} has {metric} {score:.3f} and {said}.")
    return RunPlace(crown(folder, place.path), place.temporary) if is_better else None


@final
class Until:
    """Shows a training, and stops it when its time is over."""

    def __init__(self, seconds: float, shown: Observer) -> None:
        self._end = time.monotonic() + seconds
        self._shown = shown

    def on_step(self, n_done: int, n_steps: int) -> None:
        if time.monotonic() > self._end:
            raise TimeoutError
        self._shown.on_step(n_done, n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        self._shown.on_epoch(report, training)


def affordable(result: Result, usual: TrainingSettings, seconds: float) -> int:
    """Return to how many epochs a training can go on in so many seconds."""
    n_done: int = result["epochs"]
    n_more = int(seconds * n_done / max(1e-3, result["seconds"]))
    every = usual.validate_every
    return max(n_done, min(usual.max_epochs, (n_done + n_more) // every * every))


def crown(rival: Path, out: Path) -> Path:
    """Return the folder of the trained winner, which is a copy of the rival's."""
    final, copied = out / FINAL, out / f".{FINAL}"
    experiment = read_experiment(RunFolder.open(rival).experiment_file)
    refuse_earlier_winner(final, experiment)
    if not final.exists():
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(rival, copied)
        copied.rename(final)
    return final
