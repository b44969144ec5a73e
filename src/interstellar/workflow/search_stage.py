"""A search and what follows it, on one graph, with progress for who watches."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import to_code
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.data.splitting import Split
from interstellar.device import find_device
from interstellar.searching.budget import Budget
from interstellar.searching.finalists import finalist_folder, find_head, find_winner
from interstellar.searching.procedure import FINAL, train_finally, tune_winner
from interstellar.searching.search_experiment import SearchExperiment, StrategyName
from interstellar.searching.search_run import Workers, search_run
from interstellar.tasks.training_run import Result
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import Audience, find_audience, tell
from interstellar.workflow.given_data import GivenData, read_data
from interstellar.workflow.model import Model
from interstellar.workflow.progress import training_bar
from interstellar.workflow.run_place import RunPlace
from interstellar.workflow.search_table import search_table

ONE_TRIAL = (StrategyName.DARTS, StrategyName.ONE_SHOT)
"""They spend the rest of their budget on a supernet."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Data, workers and audience of a search and of what may follow it."""

    given: GivenData
    workers: Workers
    audience: Audience

    @classmethod
    def set_up(
        cls,
        device: str,
        n_workers: int,
        data: Source | AnyGraph,
        second: Source | None,
        pairs: str | os.PathLike[str] | None,
        split: Split | str | None,
        *,
        progress: bool,
    ) -> "Stage":
        """Find the device, then read the data."""
        workers = Workers(device=find_device(device), n=n_workers)
        audience = find_audience(is_wanted=progress)
        given = read_data(data, second=second, pairs=pairs, split=split, audience=audience)
        return cls(given, workers, audience)

    def search(
        self,
        wanted: SearchExperiment,
        place: RunPlace,
        budget: Budget,
        *,
        is_resumed: bool,
        reuse: Sequence[Path] = (),
    ) -> Result:
        """Search or tune, with a table."""
        metric = wanted.experiment.settings.selection
        with search_table(metric, self.audience) as on_change:
            found = search_run(
                wanted,
                place.path,
                budget=budget,
                workers=self.workers,
                graph=self.given.graph,
                is_resumed=is_resumed,
                reuse=reuse,
                on_change=on_change,
            )
        if ended_early(found, budget) and wanted.plan.strategy not in ONE_TRIAL:
            tell(
                self.audience,
                f"note: it ended after {found['trials']} of {budget.trials} trials: "
                "nothing new was proposed any more.",
            )
        return found

    def tune(
        self,
        wanted: SearchExperiment,
        code: str,
        final: TrainingSettings,
        place: RunPlace,
        n_trials: int,
    ) -> Result:
        """Tune the settings of what was found, with a table of its own."""
        with search_table(final.selection, self.audience) as on_change:
            return tune_winner(
                wanted,
                code,
                final,
                place.path,
                n_trials=n_trials,
                workers=self.workers,
                on_change=on_change,
            )

    def hold_final(
        self, wanted: SearchExperiment, final: TrainingSettings, place: RunPlace, n: int
    ) -> tuple[Model, list[Model]]:
        """Train the n best; return the winner, and all of them."""
        head = find_head(place.path, n)
        models = []
        for i, trial in enumerate(head, 1):
            tell(self.audience, f"finalist {i} of {len(head)}: {trial.formula}")
            folder = finalist_folder(trial)
            self.train(wanted, code_list(trial.architecture), final, place, folder)
            run = RunPlace(place.path / folder, place.temporary)
            models.append(Model(run, self.workers.device))
        winner = find_winner([model.result for model in models], final.selection)
        return models[winner], models

    def train(
        self,
        wanted: SearchExperiment,
        code: str,
        final: TrainingSettings,
        place: RunPlace,
        folder: str = FINAL,
    ) -> Result:
        """Train what was found, with a bar of its own."""
        bar = training_bar(final.max_epochs, final.selection, self.audience)
        with bar as (on_step, on_epoch):
            return train_finally(
                wanted,
                code,
                final,
                place.path,
                folder=folder,
                workers=self.workers,
                on_step=on_step,
                on_epoch=on_epoch,
            )


def keep_final(winner: Model, place: RunPlace) -> None:
    """Let the run of the best finalist be the final one, unless there is one."""
    if not (place.path / FINAL).exists():
        winner.save(place.path / FINAL)


def code_list(architecture: Architecture) -> str:
    """Return the code as the result of a search has it, which the later stages are named by."""
    return str(list(to_code(architecture)))


def ended_early(found: Result, budget: Budget) -> bool:
    """Return whether a search stopped before its budget was spent."""
    is_late = budget.seconds is not None and found["seconds"] >= budget.seconds
    return budget.trials is not None and found["trials"] < budget.trials and not is_late
