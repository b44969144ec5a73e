"""One run while it is under way: how far its journal was read, and what it says so far."""

from pathlib import Path
from typing import TypeAlias, final

from interstellar.dashboard.growing_journal import GrowingJournal, Growth
from interstellar.dashboard.listing import mark_of
from interstellar.dashboard.live_search import LiveSearch
from interstellar.dashboard.live_training import LiveTraining
from interstellar.errors import InterstellarError
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.reading import Recorded
from interstellar.reporting.recorded_run import Event, RecordedRun, State, moment_of
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.searching.trial import ALTERED

Live: TypeAlias = LiveTraining | LiveSearch


@final
class LiveRun:
    """A run that is looked at again and again; nothing of it is written or locked."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, RunFolder(folder)
        self.version = 0
        """Grows with whatever is to be shown."""
        self.problem: str | None = None
        """Why it cannot be read, or not to its end."""
        self.begun: str | None = None
        self.changed: str | None = None
        """When its last event happened."""
        self.live: Live | None = None
        self._journal = GrowingJournal(self.folder.journal_file)
        self._experiment: Experiment | None = None
        self._environment: dict[str, object] = {}
        self._started: Event = {}
        self._last: str | None = None
        self._result: tuple[int, int] | None = None
        self._altered: str | None = None

    def look(self) -> bool:
        """Take in what was added; return whether there is more to be read at once."""
        try:
            growth = self._journal.look()
            if growth.is_anew:
                self._begin_anew()
            if self._experiment is None:
                self._read_experiment()
            self._take(growth)
            self._notice_result()
        except (InterstellarError, OSError) as error:
            self._note(str(error))
            return False
        except Exception as error:  # a fault in what follows one run must not stop the others
            self._note(f"the dashboard failed at this run ({type(error).__name__}: {error})")
            return False
        self._note(growth.fault or self._altered)
        return growth.has_more

    def _begin_anew(self) -> None:
        self.begun = self.changed = self.live = None
        self._experiment = self._last = self._result = self._altered = None
        self._started = {}
        self.version += 1

    def _read_experiment(self) -> None:
        experiment = read_experiment(self.folder.experiment_file)
        self._environment = self.folder.read_environment()
        self._experiment = experiment
        self.live = LiveTraining(experiment) if experiment.plan is None else LiveSearch(experiment)

    def _take(self, growth: Growth) -> None:
        assert self.live is not None
        self.version += growth.events != []
        for event in growth.events:
            time = event.get("time")
            self.changed = time if isinstance(time, str) else self.changed
            self.begun = self.begun or self.changed
            self._last = str(event["event"])
            if self._last == "started" and not self._started:
                self._started = event
            try:
                self.live.take(event)
            except ALTERED:
                self._altered = (
                    f"an event `{self._last}` of {self.changed} is not what a run writes"
                )

    def _notice_result(self) -> None:
        """Read what came out, once and whenever it is another."""
        assert self.live is not None
        result = mark_of(self.folder.result_file)
        if result != self._result:
            self._result = result
            self.version += 1
            if result is not None:
                self.live.finish(self.folder)

    def _note(self, problem: str | None) -> None:
        if problem != self.problem:
            self.problem = problem
            self.version += 1

    @property
    def state(self) -> State:
        """How far it has come."""
        if self._result is not None:
            return State.FINISHED
        return State.STOPPED if self._last == "stopped" else State.OPEN

    @property
    def run(self) -> RecordedRun | None:
        """What runs of all kinds have; None: it cannot be read."""
        if self._experiment is None:
            return None
        data, graph_sha256 = self._started.get("data"), self._started.get("graph_sha256")
        return RecordedRun(
            folder=self.folder,
            name=self.name,
            experiment=self._experiment,
            environment=self._environment,
            data=data if isinstance(data, dict) else {},
            graph_sha256=graph_sha256 if isinstance(graph_sha256, str) else None,
            state=self.state,
            begun=moment_of(self._started),
        )

    @property
    def recorded(self) -> Recorded | None:
        """What a report says of it; None: it cannot be read."""
        run = self.run
        return None if run is None or self.live is None else self.live.record(run)
