"""A training while it is under way, from the events of its journal."""

from typing import Any, final

from interstellar.records.run_folder import RunFolder
from interstellar.reporting.recorded_run import Event, RecordedRun
from interstellar.reporting.recorded_training import Epoch, Epochs, RecordedTraining
from interstellar.runs.experiment import Experiment
from interstellar.runs.training_result import read_training_result


@final
class LiveTraining:
    """The epochs of a training so far."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._epochs = Epochs()
        self._result: Any = None
        self._n_done = 0

    def take(self, event: Event) -> None:
        """Learn what an event says; one of `ALTERED` for what no training writes."""
        if event["event"] == "epoch":
            epoch = Epoch.of(event)
            self._epochs.add(epoch)
            self._n_done = epoch.epoch

    def finish(self, folder: RunFolder) -> None:
        """Learn what came out."""
        self._result = read_training_result(folder, self._experiment)

    @property
    def score(self) -> float | None:
        """The metric of the best epoch so far."""
        best = self._epochs.best
        return None if best is None else best.valid.get(str(self._experiment.settings.metric))

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        if self._result is not None:
            return f"{self._result['epochs']:,} epochs"
        return f"epoch {self._n_done:,} of {self._experiment.settings.max_epochs:,}"

    @property
    def formula(self) -> str | None:
        """The network is that of the run itself."""
        return None

    def record(self, run: RecordedRun) -> RecordedTraining:
        """Return what a report says of it."""
        by_number = self._epochs.by_number
        return RecordedTraining(
            run=run,
            epochs=tuple(by_number[number] for number in sorted(by_number)),
            best=self._epochs.best,
            result=self._result,
        )
