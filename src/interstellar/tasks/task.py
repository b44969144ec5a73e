"""What a task must say of itself, so that everything else can treat both alike."""

from typing import Protocol

from interstellar.architecture.architecture import Architecture
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.errors import SettingsError
from interstellar.evaluation.metrics import Metrics
from interstellar.model.network import Network
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.model.propagation_graph import PropagationGraph
from interstellar.model.propagation_layer import PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.training.settings import TrainingSettings


class Task(Protocol):
    """A data set and what is to be learnt from it."""

    @property
    def graph(self) -> AnyGraph:
        """The data set."""

    @property
    def form(self) -> NetworkForm:
        """What surrounds the cell."""

    def measure(self, network: Network, split: Split) -> Metrics:
        """Return the metrics of a network on a split."""


def task_for(graph: AnyGraph) -> Task:
    """Return the task that a data set is for."""
    return LinkPrediction(graph) if isinstance(graph, KnowledgeGraph) else EntityAlignment(graph)


def build_network(
    task: Task, architecture: Architecture, *, dim: int, dropout: float
) -> PathNetwork:
    """Return an untrained network along paths for a task, on the CPU."""
    return PathNetwork.of(architecture, network_size(task, dim), task.form, dropout)


def network_for(task: Task, architecture: Architecture, settings: TrainingSettings) -> Network:
    """Return the untrained network that settings ask for, on the CPU."""
    if settings.propagation is None:
        return build_network(task, architecture, dim=settings.dim, dropout=settings.dropout)
    if not isinstance(task, LinkPrediction):
        raise SettingsError(
            "the model is propagation, which learns the links of one graph, and there are two. "
            "Choose the model walks."
        )
    size = PropagationSize(n_relations=len(task.graph.relations), dim=settings.dim)
    propagation, n_kept = settings.propagation.of(architecture), settings.propagation.nodes
    return PropagationNetwork(propagation, size, edges_of(task), n_kept)


def edges_of(task: LinkPrediction) -> PropagationGraph:
    """Return the facts along which a propagation goes: the triplets of training."""
    graph = task.graph
    return PropagationGraph(
        graph.train, n_entities=len(graph.entities), n_relations=len(graph.relations)
    )


def network_size(task: Task, dim: int) -> NetworkSize:
    """Return the size of a task's networks."""
    return NetworkSize(
        n_entities=len(task.graph.all_entities), n_relations=len(task.graph.all_relations), dim=dim
    )
