"""Those at the head of a search, each trained finally: they are often too close to choose by.

A search trains with small settings, and what is best there by a hair need not be with the settings
of the final training. The best finalist is the one with the best score on the validation split
after its final training.
"""

from collections.abc import Sequence
from pathlib import Path

from interstellar.architecture.notation import code_text
from interstellar.records.run_folder import RunFolder
from interstellar.searching.search_run import list_trials
from interstellar.searching.trials import Trial, Trials
from interstellar.tasks.training_run import Result
from interstellar.training.settings import Selection

FINALISTS = "finalists"
"""Folder of their runs, within that of the search."""


def find_head(out: Path, n: int) -> list[Trial]:
    """Return the trials of the n best networks of a search, each network once; ties as tried."""
    trials = Trials()
    for trial in list_trials(RunFolder.open(out)):
        if trials.find(trial.network) is None:
            trials.add(trial)
    scored = [trial for trial in trials.ended if trial.score is not None]
    return sorted(scored, key=lambda trial: -(trial.score or 0.0))[:n]


def finalist_folder(trial: Trial) -> str:
    """Return where a finalist is trained, within the search; the same whoever else is in."""
    return f"{FINALISTS}/{code_text(trial.network).strip('[]').replace(',', '-')}"


def find_winner(results: Sequence[Result], selection: Selection) -> int:
    """Return which of the final trainings is best on the validation split; of equals the first."""
    scores = [result["metrics"]["valid"][selection] for result in results]
    return scores.index(max(scores))
