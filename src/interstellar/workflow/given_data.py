"""The data that a user gives, read, with the settings that suit it."""

import os
from dataclasses import dataclass

from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph
from interstellar.data.loading import Source, load, settle
from interstellar.data.named_set import Task
from interstellar.data.splitting import Split, parse_split
from interstellar.data.statistics import task_of
from interstellar.errors import SettingsError
from interstellar.training.experiment import Experiment
from interstellar.training.presets import default_settings, search_settings
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import Audience, tell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenData:
    """A graph or two, and what a run's record calls them."""

    graph: AnyGraph
    data: str
    """The name of a set, a path, or of what is in memory only the graph's name."""
    second: str | None = None
    pairs: str | None = None
    shares: Split | None = None

    @property
    def task(self) -> Task:
        """What the data is for."""
        return Task(task_of(self.graph))

    def final_settings(self) -> TrainingSettings:
        """Return the settings of a final training on this data, where nothing else is said."""
        return default_settings(self.task, self.graph.name, self._n_triplets())

    def search_settings(self) -> TrainingSettings:
        """Return the settings with which a search on this data trains each architecture."""
        return search_settings(self.task, self.graph.name, self._n_triplets())

    def experiment(self, *, architecture: str, seed: int, settings: TrainingSettings) -> Experiment:
        """Return the experiment on this data."""
        return Experiment(
            data=self.data,
            second=self.second,
            pairs=self.pairs,
            split=self.shares,
            architecture=architecture,
            seed=seed,
            settings=settings,
        )

    def _n_triplets(self) -> int:
        if isinstance(self.graph, GraphPair):
            return len(self.graph.first.triplets) + len(self.graph.second.triplets)
        return len(self.graph.train)


def read_data(
    data: Source | AnyGraph,
    *,
    second: Source | None = None,
    pairs: str | os.PathLike[str] | None = None,
    split: Split | str | None = None,
    audience: Audience,
) -> GivenData:
    """Read data in any form that `load` takes; a graph that is loaded already is taken as it is.

    Args:
        data: Name, path, frame, triplets, or a loaded graph.
        second: The second graph of an alignment.
        pairs: The file of entity pairs known between the two.
        split: Shares to hold out of data without splits, as in 90/5/5.
        audience: Is told what there is to say of the data.
    """
    shares = parse_split(split) if isinstance(split, str) else split
    if isinstance(data, KnowledgeGraph | GraphPair):
        if second is not None or pairs is not None or shares is not None:
            raise SettingsError(
                f"{data.name} is loaded already, so a second graph, pairs or a split come too "
                "late. Give them to `load`."
            )
        return GivenData(graph=data, data=data.name)
    graph = load(data, second=second, pairs=pairs, split=shares, seed=0)
    for note in graph.notes:
        tell(audience, f"note: {note}")
    return GivenData(
        graph=graph,
        data=_name_source(data, graph.name),
        second=None if second is None else _name_source(second, "second graph"),
        pairs=None if pairs is None else settle(os.fspath(pairs)),
        shares=shares,
    )


def _name_source(source: Source, otherwise: str) -> str:
    return settle(os.fspath(source)) if isinstance(source, str | os.PathLike) else otherwise
