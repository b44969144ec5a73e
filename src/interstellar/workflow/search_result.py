"""What a search or a tuning found, and its winner as a trained network."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from interstellar.data.graph import AnyGraph
from interstellar.data.tables import hand_over
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, StrategyName
from interstellar.searching.finalists import Finalist, Gain, find_gain, find_winner, list_finalists
from interstellar.searching.retraining import train_winner, tuned_settings
from interstellar.searching.search_journal import FINAL, RIVAL, trials_of, winner_of
from interstellar.searching.search_run import is_of_same, search_run, winners_elsewhere
from interstellar.searching.speed import Speed, measure_speed
from interstellar.searching.time_plan import (
    WHOLE_SHARE,
    Ending,
    describe_plan,
    fit_to_time,
    lengthen,
    n_affordable,
    refuse_too_short,
)
from interstellar.searching.trial import Trial
from interstellar.searching.trials import Trials
from interstellar.searching.workers import Workers
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.model import Model
from interstellar.workflow.progress import training_bar
from interstellar.workflow.run_place import RunPlace, StrPath
from interstellar.workflow.search_progress import search_table

TUNING_TRIALS = 50
"""As in the paper."""
RAY_IS_OPEN = (
    "Its processes listen on all network interfaces of this machine, also where it was started for "
    "this search; whoever has the token in ~/.ray/auth_token can run programs through them."
)
ONE_TRIAL = (StrategyName.DARTS, StrategyName.ONE_SHOT)
"""They spend the rest of their budget on a supernet."""


@final
class SearchResult:
    """A search or a tuning that has at least one trial with a score, finished or not."""

    def __init__(
        self,
        place: RunPlace,
        *,
        model: Model | None = None,
    ) -> None:
        self.path = place.path
        """The folder of the search."""
        self.model = model
        """The winner, trained, where `then_train` was asked for."""
        self._place = place

    @classmethod
    def open(cls, path: StrPath) -> "SearchResult":
        """Return what lies in the folder of a search."""
        winner_of(RunFolder.open(Path(path)))  # what cannot be read is said now
        return cls(RunPlace(Path(path)))

    def __repr__(self) -> str:
        """Return the best in one line."""
        trials = "1 trial" if len(self.trials) == 1 else f"{len(self.trials)} trials"
        return f"<SearchResult: {trials}, best {self.best.formula} ({self.best.score:.3f})>"

    @property
    def result(self) -> Result:
        """What `result.json` holds: the best, counts, times."""
        return RunFolder.open(self.path).read_result()

    @property
    def best(self) -> Trial:
        """The winner: the finalist with the best mean, or else the trial with the highest score."""
        best = find_winner(self._trials)
        assert best is not None, "a search without any score has raised"
        return best

    @property
    def finalists(self) -> list[Finalist]:
        """Trials with their scores under several seeds, the best mean first."""
        return list_finalists(self._trials)

    @property
    def gain(self) -> Gain | None:
        """What the winner is ahead of the best known model; None: none was tried."""
        return find_gain(self._trials)

    @property
    def n_joined(self) -> int:
        """How many networks, of one seed each, the trained winner is joined of."""
        search = read_experiment(RunFolder.open(self.path).experiment_file)
        assert search.plan is not None
        if self.model is None or self.is_beaten or search.plan.as_published:
            return 1
        alone = tuned_settings(search.settings, self.best)
        return self.model.trained.experiment.settings.dim // alone.dim

    @property
    def rival(self) -> Result | None:
        """The result of the model outside the space that was trained too; None: none was."""
        run = RunFolder(self.path / RIVAL)
        return run.read_result() if run.is_finished else None

    @property
    def is_beaten(self) -> bool:
        """Whether that is what won, and what `model` is."""
        return self.model is not None and self.model.trained.experiment.settings.rival is not None

    @property
    def trials(self) -> list[Trial]:
        """Every trial that has ended, in the order of their ends."""
        return self._trials.ended

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the trials as a frame of pandas, polars or Arrow, one row each."""
        rows = [
            {
                "number": trial.number,
                "formula": trial.formula,
                "code": trial.code,
                "score": trial.score,
                **{f"valid_{name}": value for name, value in trial.valid.items()},
                **trial.settings,
                "epochs": trial.result.epochs,
                "seconds": trial.result.seconds,
                "stopped": None if trial.result.stopped is None else str(trial.result.stopped),
                "reused": trial.result.reused,
                "failure": trial.result.failure,
            }
            for trial in self.trials
        ]
        names = dict.fromkeys(name for row in rows for name in row)  # of any, since they differ
        columns = {name: [row.get(name) for row in rows] for name in names}
        return hand_over(pa.table(columns), library)

    @cached_property
    def _trials(self) -> Trials:
        return trials_of(RunFolder.open(self.path))


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Where a search and what follows it run, and who watches."""

    workers: Workers
    audience: Audience
    started: float
    """When it was called for, as `time.monotonic` counts."""

    def search(
        self,
        experiment: Experiment,
        graph: AnyGraph,
        place: RunPlace,
        budget: Budget,
        *,
        resume: bool,
        reuse: Sequence[Path] = (),
        ending: Ending | None = None,
    ) -> None:
        """Search or tune, with a table."""
        assert experiment.plan is not None
        if self.workers.cluster is not None:
            tell(self.audience, f"note: {self.workers.n} trials at once on Ray. {RAY_IS_OPEN}")
        with search_table(experiment.settings.metric, self.audience) as on_change:
            found = search_run(
                experiment,
                place.path,
                budget=budget,
                workers=self.workers,
                graph=graph,
                resume=resume,
                reuse=reuse,
                ending=ending,
                started=self.started,
                on_change=on_change,
            )
        n, wanted = found["trials"], budget.trials
        is_late = budget.seconds is not None and found["seconds"] >= budget.seconds
        if wanted is None:
            return
        if n < wanted and not is_late and experiment.plan.strategy not in ONE_TRIAL:
            ended = f"note: it ended after {n} of {wanted} trials: "
            tell(self.audience, f"{ended}nothing new was proposed any more.")
        if n > wanted:
            more = f"note: it has {n} trials, more than the {wanted} asked for now: "
            tell(self.audience, f"{more}all of them count.")

    def use_others(
        self, experiment: Experiment, graph: AnyGraph, searches: Sequence[Path]
    ) -> tuple[Experiment, list[Path]]:
        """Return the searches whose scores hold here; the winners of others are tried first."""
        same = [path for path in searches if is_of_same(path, experiment, graph)]
        first: list[str] = []
        for path in (path for path in searches if path not in same):
            first += winners_elsewhere(path, experiment)
            said = "is of other data or settings: its best networks are tried first"
            tell(self.audience, f"note: {path} {said}.")
        plan = experiment.plan
        assert plan is not None
        plan = replace(plan, try_first=(*plan.in_space(first), *plan.try_first))
        return replace(experiment, plan=plan), same

    def fit_to_time(
        self,
        graph: AnyGraph,
        settings: TrainingSettings,
        budget: Budget,
        kept: Collection[str],
    ) -> tuple[TrainingSettings, Speed]:
        """Return the settings with which there is time for a search, and how long they take.

        With the epochs all others are kept.
        """
        assert budget.seconds is not None
        fitted, speed = fit_to_time(
            settings,
            lambda changed: measure_speed(graph, changed, self.workers.device),
            budget.seconds,
            kept=(*kept, "dim", "path_length") if "epochs" in kept else kept,
            n_sampled=n_affordable(settings, len(graph.all_entities), self.workers.device),
        )
        fitted = settings if "epochs" in kept else fitted
        refuse_too_short(fitted, speed, budget.seconds, time.monotonic() - self.started)
        return fitted, speed

    def say_plan(
        self, experiment: Experiment, speed: Speed, budget: Budget, ending: Ending
    ) -> None:
        """Say what is going to be done."""
        assert experiment.plan is not None
        assert budget.seconds is not None
        said = describe_plan(
            experiment.settings,
            speed,
            budget.seconds,
            self.workers.n_apart,
            ending=ending,
            prune=experiment.plan.prune,
        )
        tell(self.audience, said)

    def long_settings(
        self,
        search: Experiment,
        graph: AnyGraph,
        place: RunPlace,
        budget: Budget,
        whole: TrainingSettings,
        speed: Speed | None,
    ) -> TrainingSettings | None:
        """Return the settings with which the winner is trained anew; None: its trial is enough.

        `speed` is that of the search, which who resumes does not know.
        """
        assert budget.seconds is not None
        begun = place.path / FINAL
        if begun.exists():
            return read_experiment(RunFolder.open(begun).experiment_file).settings
        found = SearchResult(place)
        left = WHOLE_SHARE * budget.seconds - self.spent_seconds(found)
        own = tuned_settings(search.settings, found.best)
        usual = speed or measure_speed(graph, search.settings, self.workers.device)
        winners = usual.of_one_with(found.best.result.seconds_of_epoch, own)
        return lengthen(own, whole, winners, left, len(graph.valid))

    def spent_seconds(self, found: SearchResult) -> float:
        """Return how long the search and what followed it took until now."""
        before: float = found.result["seconds"]  # also of what was stopped and gone on with
        return max(before, time.monotonic() - self.started)

    def train_winner(
        self,
        search: Experiment,
        place: RunPlace,
        budget: Budget,
        settings: TrainingSettings | None,
        *,
        ensemble: bool,
    ) -> Model:
        """Train what a search found, or take it over from its trial."""
        n_epochs = (settings or search.settings).max_epochs
        with training_bar(n_epochs, search.settings.metric, self.audience) as observer:
            train_winner(
                search,
                place.path,
                settings=settings,
                workers=self.workers,
                is_over=budget.seconds is not None,
                ensemble=ensemble,
                observer=observer,
            )
        return Model(RunPlace(place.path / FINAL, place.temporary), self.workers.device)
