"""A graph as PyKEEN's triples factories, with the same ids and names."""

from dataclasses import dataclass

import torch

from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.errors import SettingsError

try:
    from pykeen.triples import TriplesFactory
except ModuleNotFoundError as error:
    raise SettingsError(
        f"{error.name} is not installed, and this hands a graph to PyKEEN. "
        "Run `pip install interstellar-kg[pykeen]`."
    ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Factories:
    """The three splits of a graph."""

    train: TriplesFactory
    valid: TriplesFactory
    test: TriplesFactory


def to_factories(graph: KnowledgeGraph) -> Factories:
    """Return the splits of a graph; our ids are PyKEEN's."""
    entity_to_id = {name: row for row, name in enumerate(graph.entities.to_list())}
    relation_to_id = {name: row for row, name in enumerate(graph.relations.to_list())}
    train, valid, test = (
        TriplesFactory(torch.from_numpy(graph.split(split)).long(), entity_to_id, relation_to_id)
        for split in SPLITS
    )
    return Factories(train, valid, test)
