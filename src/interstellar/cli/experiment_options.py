"""What `train`, `search` and `tune` have in common: data, settings and architecture by flags."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from interstellar.cli.data_commands import parse_split
from interstellar.cli.output import report
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.data.graph import AnyGraph
    from interstellar.data.splitting import Split
    from interstellar.training.experiment import Experiment
    from interstellar.training.settings import Precision, Selection, TrainingSettings

SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE.toml", help="Settings that differ, by file."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in RUN.")]
Out = Annotated[Path, typer.Option(metavar="RUN", help="Folder of the run; a new one.")]
Epochs = Annotated[int | None, typer.Option(help="At most so many.")]
Dim = Annotated[int | None, typer.Option(help="Numbers in an embedding.")]
Precise = Annotated[str | None, typer.Option("--precision", help="auto, float32 or mixed.")]


@dataclass(frozen=True, slots=True, eq=False)
class GivenData:
    """The data that a command line names, read."""

    data: str
    second: Path | None
    pairs: Path | None
    shares: "Split | None"
    graph: "AnyGraph"

    @classmethod
    def load(
        cls, data: str, second: Path | None, pairs: Path | None, split: str | None
    ) -> "GivenData":
        """Read the data, and say on standard error what there is to say of it."""
        from interstellar.data.loading import load

        shares = parse_split(split)
        graph = load(data, second=second, pairs=pairs, split=shares, seed=0)
        for note in graph.notes:
            report(f"note: {note}")
        return cls(data, second, pairs, shares, graph)

    @property
    def task(self) -> str:
        """What the data is for."""
        from interstellar.data.statistics import task_of

        return task_of(self.graph)

    def final_settings(self) -> "TrainingSettings":
        """Return the settings of a final training on this data, where nothing else is said."""
        from interstellar.training.presets import default_settings

        return default_settings(self.task, self.graph.name, self._n_triplets())

    def search_settings(self) -> "TrainingSettings":
        """Return the settings with which a search on this data trains each architecture."""
        from interstellar.training.presets import search_settings

        return search_settings(self.task, self.graph.name, self._n_triplets())

    def _n_triplets(self) -> int | None:
        from interstellar.data.graph import KnowledgeGraph

        return len(self.graph.train) if isinstance(self.graph, KnowledgeGraph) else None

    def experiment(
        self, *, architecture: str, seed: int, settings: "TrainingSettings"
    ) -> "Experiment":
        """Return the experiment on this data."""
        from interstellar.data.loading import settle
        from interstellar.training.experiment import Experiment

        return Experiment(
            data=settle(self.data),
            second=None if self.second is None else settle(str(self.second)),
            pairs=None if self.pairs is None else settle(str(self.pairs)),
            split=self.shares,
            architecture=architecture,
            seed=seed,
            settings=settings,
        )


def read_architecture_option(text: str) -> str:
    """Return an architecture as the user wrote it, or the code of the one that a run is of."""
    from interstellar.records.run_folder import RunFolder
    from interstellar.training.toml_tables import read_toml

    if not os.path.isfile(Path(text) / "experiment.toml"):  # noqa: PTH113 (a JSON text is no path)
        return text
    run = RunFolder.open(Path(text))
    if "search" not in read_toml(run.experiment_file):
        return str(read_toml(run.experiment_file)["architecture"])
    best = run.read_result()["best"]
    assert isinstance(best, dict)
    return str(best["code"])


def parse_precision(text: str | None) -> "Precision | None":
    """Return the precision that a flag names."""
    from interstellar.training.settings import Precision

    if text is None:
        return None
    if text not in list(Precision):
        raise SettingsError(f"--precision {text!r} is unknown. Choose {', '.join(Precision)}.")
    return Precision(text)


def parse_selection(text: str | None) -> "Selection | None":
    """Return the metric that a flag names."""
    from interstellar.training.settings import Selection

    if text is None:
        return None
    if text not in list(Selection):
        raise SettingsError(f"--select {text!r} is unknown. Choose {', '.join(Selection)}.")
    return Selection(text)


def stop_on_sigterm() -> None:
    """Treat SIGTERM as Ctrl-C: what was done is saved."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
