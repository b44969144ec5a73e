"""What follows a search: the best of it are tuned, and trained with the final settings.

The top trials of a search often differ by less than the noise, and a search trains with small
settings. So several finalists can be retrained; the best of them on the validation split wins.
Every stage goes on where it was stopped, and trains on the graph that the search keeps.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import code_text, read_architecture, to_formula
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, SearchPlan, StrategyName
from interstellar.runs.training_run import train_run
from interstellar.searching.search_loop import OnChange
from interstellar.searching.search_run import Workers, search_run
from interstellar.searching.trial import Trial
from interstellar.training.loop import Observer
from interstellar.training.settings import Metric, TrainingSettings

TUNING, FINAL, FINALISTS = "tuning", "final", "finalists"
"""Folders of the later stages, within that of the search."""


def tune_winner(
    search: Experiment,
    code: str,
    settings: TrainingSettings,
    out: Path,
    *,
    n_trials: int,
    workers: Workers,
    on_change: OnChange | None = None,
) -> Result:
    """Tune the final settings for what a search found."""
    assert search.plan is not None
    plan = SearchPlan(strategy=StrategyName.TUNE, prune=search.plan.prune)
    refuse_earlier_winner(out / TUNING, code)
    return search_run(
        replace(search, architecture=code, settings=settings, plan=plan),
        out / TUNING,
        budget=Budget(trials=n_trials),
        workers=workers,
        graph=load_graph(RunFolder.open(out)),
        resume=True,
        on_change=on_change,
    )


def retrain(
    search: Experiment,
    code: str,
    settings: TrainingSettings,
    out: Path,
    *,
    folder: str = FINAL,
    workers: Workers,
    observer: Observer | None = None,
) -> Result:
    """Train what a search found, with the final settings, in a folder within the search's."""
    (out / folder).parent.mkdir(exist_ok=True)
    refuse_earlier_winner(out / folder, code)
    return train_run(
        replace(search, architecture=code, settings=settings, plan=None),
        out / folder,
        device=workers.device,
        graph=load_graph(RunFolder.open(out)),
        resume=True,
        observer=observer,
    )


def refuse_earlier_winner(folder: Path, code: str) -> None:
    """Raise where a stage was begun with what was best before the search went on."""
    if not folder.exists():
        return
    before = read_architecture(read_experiment(RunFolder.open(folder).experiment_file).architecture)
    now = read_architecture(code)
    if before != now:
        raise SettingsError(
            f"{folder} is of {to_formula(canonical_form(before))}, which was the best when it was "
            f"begun, and now that is {to_formula(canonical_form(now))}. Move that folder away, and "
            "resume."
        )


def tuned_settings(settings: TrainingSettings, tuned: Trial) -> TrainingSettings:
    """Return settings with the changes that a tuning found best."""
    changes: dict[str, Any] = dict(tuned.settings)
    return replace(settings, **changes)


def finalist_folder(trial: Trial) -> str:
    """Return where a finalist is trained, within the search; the same whoever else is in."""
    return f"{FINALISTS}/{code_text(trial.network).strip('[]').replace(',', '-')}"


def find_winner(results: Sequence[Result], metric: Metric) -> int:
    """Return which of the retrained is best on the validation split; of equals the first."""
    scores = [result["metrics"]["valid"][metric] for result in results]
    return scores.index(max(scores))


def note_retrained(out: Path, finalists: Sequence[Result], final: Result | None) -> Result:
    """Say in the result of a search what its finalists and its winner came to."""
    run = RunFolder.open(out)
    kept = ("architecture", "metrics", "best_epoch", "epochs", "seconds")
    found: Result = {"finalists": [{key: one[key] for key in kept} for one in finalists]}
    if final is not None:
        found["final"] = {key: final[key] for key in kept}
    with run.writing():
        run.write_result(run.read_result() | found)
    return run.read_result()
