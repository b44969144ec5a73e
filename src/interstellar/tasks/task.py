"""What a task must say of itself, so that everything else can treat both alike."""

from typing import Protocol

from interstellar.architecture.architecture import Architecture
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.evaluation.metrics import Metrics
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split


class Task(Protocol):
    """A data set and what is to be learnt from it."""

    @property
    def graph(self) -> AnyGraph:
        """The data set."""

    @property
    def form(self) -> NetworkForm:
        """What surrounds the cell."""

    def measure(self, network: PathNetwork, split: Split) -> Metrics:
        """Return the metrics of a network on a split."""


def task_for(graph: AnyGraph) -> Task:
    """Return the task that a data set is for."""
    return LinkPrediction(graph) if isinstance(graph, KnowledgeGraph) else EntityAlignment(graph)


def build_network(
    task: Task, architecture: Architecture, *, dim: int, dropout: float
) -> PathNetwork:
    """Return an untrained network for a task, on the CPU."""
    return PathNetwork.of(architecture, network_size(task, dim), task.form, dropout)


def network_size(task: Task, dim: int) -> NetworkSize:
    """Return the size of a task's networks."""
    return NetworkSize(
        n_entities=len(task.graph.all_entities), n_relations=len(task.graph.all_relations), dim=dim
    )
