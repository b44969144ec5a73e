"""What a task must say of itself, so that everything else can treat both alike."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from interstellar.architecture.architecture import Architecture
from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph, task_of
from interstellar.data.graph import Task as TaskName
from interstellar.data.triplets import Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.metrics import Metrics
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.model.propagation_graph import PropagationGraph
from interstellar.model.propagation_layer import PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.building import (
    RivalNetwork,
    Surroundings,
    build_rival,
    has_layers,
    joins_graphs,
    learns_pairs,
    learns_paths,
)
from interstellar.rivals.catalogue import Rival, facts_of, rivals_for
from interstellar.rivals.network import Network
from interstellar.rivals.notation import AnyModel
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_network import TripletLosses
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


def task_for(graph: AnyGraph, measured: int | None = None) -> Task:
    """Return the task that a data set is for; of a split, at most so many are `measured`."""
    if isinstance(graph, KnowledgeGraph):
        return LinkPrediction(graph, measured)
    return EntityAlignment(graph, measured)


def build_network(
    task: Task, architecture: Architecture, *, dim: int, dropout: float
) -> PathNetwork:
    """Return an untrained network along paths for a task, on the CPU."""
    return PathNetwork.of(architecture, network_size(task, dim), task.form, dropout)


def network_for(task: Task, architecture: AnyModel, settings: TrainingSettings) -> Network:
    """Return the untrained network that settings ask for, on the CPU."""
    if isinstance(architecture, Rival):
        return _rival_for(task, architecture, settings)
    if settings.rival is not None:
        raise SettingsError(
            "these settings are for a rival such as RotatE, but the architecture is of the search "
            "space. Name the rival, or leave the settings out."
        )
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


def rows_of(task: Task, architecture: AnyModel, paths: PathTable) -> npt.NDArray[np.int32]:
    """Return what is learnt, a row at a time: paths, or for some rivals the known pairs."""
    graph = task.graph
    if not isinstance(architecture, Rival) or not isinstance(graph, GraphPair):
        return paths.array
    if learns_pairs(architecture, is_alignment=True):
        return np.ascontiguousarray(graph.joint_pairs(graph.train), dtype=np.int32)
    return paths.array


def refuse_task(rival: Rival, graph: AnyGraph) -> None:
    """Raise where a rival does not do what a data set is for."""
    name = TaskName(task_of(graph))
    if name not in facts_of(rival).tasks:
        others = ", ".join(rivals_for(name))
        raise SettingsError(
            f"{rival} is not for {name}, which {graph.name} is for. Choose an architecture of the "
            f"search space, or one of {others}."
        )


def _rival_for(task: Task, rival: Rival, settings: TrainingSettings) -> RivalNetwork:
    told = settings.rival
    if told is None:
        raise SettingsError(
            f"these settings are for the model {settings.model}, and {rival} is a model of its "
            "own. Leave the settings or `model` out."
        )
    refuse_task(rival, task.graph)
    if settings.walk.length != 1 and not learns_paths(rival):
        raise SettingsError(
            f"paths are to have {settings.walk.length} triplets, but {rival} learns single ones. "
            "Leave the length of paths out."
        )
    if told.layers != 1 and not has_layers(rival):
        raise SettingsError(
            f"layers is {told.layers}, but {rival} has none. Leave it out, or name a model that "
            "has layers, such as R-GCN."
        )
    if told.loss is RivalLoss.HARD:
        _check_hard(rival, task, settings.n_negatives)
    losses = TripletLosses(
        loss=told.loss,
        margin=told.margin,
        n_negatives=settings.n_negatives,
        label_smoothing=settings.label_smoothing,
        dropout=settings.dropout,
        n3=settings.n3,
    )
    graph = task.graph
    n_source = len(graph.source.entities) if isinstance(graph, GraphPair) else None
    surroundings = Surroundings(
        size=network_size(task, settings.dim),
        losses=losses,
        n_layers=told.layers,
        triplets=_triplets_for(rival, task.graph),
        n_source=n_source,
    )
    return build_rival(rival, surroundings)


def _check_hard(rival: Rival, task: Task, n_negatives: int | None) -> None:
    if not learns_pairs(rival, is_alignment=isinstance(task.graph, GraphPair)):
        raise SettingsError(
            f"loss is hard, which is for models that learn pairs of entities, and {rival} learns "
            "triplets. Choose another loss."
        )
    if n_negatives is not None:
        raise SettingsError(
            f"negatives is {n_negatives}, but loss is hard, which is among all entities of the "
            "other graph. Leave negatives out."
        )


def _triplets_for(rival: Rival, graph: AnyGraph) -> Triplets:
    if isinstance(graph, GraphPair) and not joins_graphs(rival):
        return graph.joint_triplets()
    return WalkGraph.of(graph).forward
