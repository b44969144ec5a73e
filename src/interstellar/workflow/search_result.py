"""What a search or a tuning found, and the retraining and tuning of winners that may follow."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from interstellar.architecture.notation import code_text
from interstellar.data.graph import AnyGraph
from interstellar.data.tables import hand_over
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, Retraining, StrategyName
from interstellar.searching import retraining
from interstellar.searching.search_journal import best_trial, trials_of
from interstellar.searching.search_run import Workers, search_run
from interstellar.searching.trial import Trial
from interstellar.searching.trials import Trials
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.model import Model
from interstellar.workflow.progress import Audience, search_table, tell, training_bar
from interstellar.workflow.run_place import RunPlace, StrPath

TUNING_TRIALS = 50
"""As in the paper."""
ONE_TRIAL = (StrategyName.DARTS, StrategyName.ONE_SHOT)
"""They spend the rest of their budget on a supernet."""


@final
class SearchResult:
    """A search or a tuning that has at least one trial with a score, finished or not."""

    def __init__(
        self,
        place: RunPlace,
        *,
        tuning: "SearchResult | None" = None,
        model: Model | None = None,
        finalists: Sequence[Model] = (),
    ) -> None:
        self.path = place.path
        """The folder of the search."""
        self.tuning = tuning
        """The settings of the winner, where `then_tune` was asked for."""
        self.model = model
        """The winner, retrained, where `then_train` was asked for."""
        self.finalists = list(finalists)
        """The best of the search in its order, retrained, where several were asked for."""
        self._place = place

    @classmethod
    def open(cls, path: StrPath) -> "SearchResult":
        """Return what lies in the folder of a search."""
        best_trial(RunFolder.open(Path(path)))  # what cannot be read is said now
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
        """The trial with the highest score, of equal ones the first."""
        best = self._trials.best
        assert best is not None, "a search without any score has raised"
        return best

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

    def search(
        self,
        experiment: Experiment,
        graph: AnyGraph,
        place: RunPlace,
        budget: Budget,
        *,
        resume: bool,
        reuse: Sequence[Path] = (),
    ) -> None:
        """Search or tune, with a table."""
        assert experiment.plan is not None
        with search_table(experiment.settings.metric, self.audience) as on_change:
            found = search_run(
                experiment,
                place.path,
                budget=budget,
                workers=self.workers,
                graph=graph,
                resume=resume,
                reuse=reuse,
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

    def follow_up(
        self, search: Experiment, final: TrainingSettings, place: RunPlace, after: Retraining
    ) -> SearchResult:
        """Retrain and tune as asked; what is there already is taken as it is."""
        code = code_text(best_trial(RunFolder.open(place.path)).architecture)
        tune_in, train_in = place.path / retraining.TUNING, place.path / retraining.FINAL
        finalists: list[Model] = []
        if after.finalists > 1:
            finalists = self._retrain_finalists(search, final, place, after.finalists)
            results = [model.result for model in finalists]
            winner = finalists[retraining.find_winner(results, final.metric)]
            code = code_text(winner.architecture)
            if after.then_train and not after.then_tune and not train_in.exists():
                winner.save(train_in)
        for folder, is_wanted in ((tune_in, after.then_tune), (train_in, after.then_train)):
            if is_wanted:
                retraining.refuse_earlier_winner(folder, code)
        tuning = model = None
        if after.then_tune:
            self._tune(search, code, final, place, after.tune_trials or TUNING_TRIALS)
            tuning = SearchResult(RunPlace(tune_in, place.temporary))
            final = retraining.tuned_settings(final, tuning.best)
        if after.then_train:
            model = self._retrain(search, code, final, place, retraining.FINAL)
        if finalists or model is not None:
            results = [one.result for one in finalists]
            retraining.note_retrained(place.path, results, None if model is None else model.result)
        return SearchResult(place, tuning=tuning, model=model, finalists=finalists)

    def _retrain_finalists(
        self, search: Experiment, final: TrainingSettings, place: RunPlace, n: int
    ) -> list[Model]:
        top = trials_of(RunFolder.open(place.path)).ranked[:n]
        models = []
        for i, trial in enumerate(top, 1):
            tell(self.audience, f"finalist {i} of {len(top)}: {trial.formula}")
            code, folder = code_text(trial.architecture), retraining.finalist_folder(trial)
            models.append(self._retrain(search, code, final, place, folder))
        return models

    def _retrain(
        self, search: Experiment, code: str, final: TrainingSettings, place: RunPlace, folder: str
    ) -> Model:
        with training_bar(final.max_epochs, final.metric, self.audience) as observer:
            retraining.retrain(
                search,
                code,
                final,
                place.path,
                folder=folder,
                workers=self.workers,
                observer=observer,
            )
        return Model(RunPlace(place.path / folder, place.temporary), self.workers.device)

    def _tune(
        self, search: Experiment, code: str, final: TrainingSettings, place: RunPlace, n_trials: int
    ) -> None:
        with search_table(final.metric, self.audience) as on_change:
            retraining.tune_winner(
                search,
                code,
                final,
                place.path,
                n_trials=n_trials,
                workers=self.workers,
                on_change=on_change,
            )
