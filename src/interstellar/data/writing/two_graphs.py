"""Alignment folders in the forms of OpenEA, by name, and of RSN, by id."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.forms.one_graph import is_named
from interstellar.data.forms.openea import FOLDS
from interstellar.data.forms.rsn import VALID_SHARE
from interstellar.data.graph import Graph, GraphPair
from interstellar.data.spelling import quote
from interstellar.data.triplets import OBJECT, SUBJECT
from interstellar.data.vocabulary import Vocabulary
from interstellar.data.writing.text_lines import write_columns, write_links, write_triplets
from interstellar.errors import DataError


def write_openea(graph: GraphPair, folder: Path) -> None:
    """Write the two graphs and the links of one fold."""
    splits = {"train": graph.seeds, "valid": graph.valid, "test": graph.test}
    for split, pairs in splits.items():
        refuse_no_pairs(graph, split, pairs)
    for number, side in enumerate((graph.first, graph.second), 1):
        refuse_lonely(side, np.concatenate([pairs[:, number - 1] for pairs in splits.values()]))
        path = folder / f"rel_triples_{number}"
        write_triplets(side.triplets, side.entities, side.relations, path)
    fold = folder / FOLDS / "1"
    fold.mkdir(parents=True)
    for split, pairs in splits.items():
        write_links(pairs, graph.first, graph.second, fold / f"{split}_links")
    everything = np.concatenate(list(splits.values()))
    write_links(everything, graph.first, graph.second, folder / "ent_links")


def write_rsn(graph: GraphPair, folder: Path) -> None:
    """Write dictionaries, triplets and pairs in one id space: the second graph counts on."""
    reference = np.concatenate([graph.valid, graph.test])
    refuse_no_pairs(graph, "seeds", graph.seeds)
    refuse_no_pairs(graph, "valid and test", reference)
    first_entity = first_relation = 0
    for number, side in enumerate((graph.first, graph.second), 1):
        write_dictionary(side.entities, first_entity, folder / f"ent_ids_{number}")
        write_dictionary(side.relations, first_relation, folder / f"rel_ids_{number}")
        shift = np.array([first_entity, first_relation, first_entity])
        write_ids(side.triplets + shift, folder / f"triples_{number}")
        first_entity += len(side.entities)
        first_relation += len(side.relations)
    write_ids(graph.joint_pairs(graph.seeds), folder / "sup_ent_ids")
    write_ids(graph.joint_pairs(reference), folder / "ref_ent_ids")


def keeps_valid_in_rsn(graph: GraphPair) -> bool:
    """Return whether valid is the share of the reference pairs that RSN's form cuts off."""
    return len(graph.valid) == round(VALID_SHARE * (len(graph.valid) + len(graph.test)))


def write_dictionary(names: Vocabulary, first_id: int, path: Path) -> None:
    """Write ids and names."""
    ids = pa.array(np.arange(first_id, first_id + len(names))).cast(pa.string())
    write_columns([ids, names.array], path)


def write_ids(ids: npt.NDArray[np.integer], path: Path) -> None:
    """Write rows of ids."""
    write_columns(
        [pa.array(np.ascontiguousarray(column)).cast(pa.string()) for column in ids.T], path
    )


def refuse_no_pairs(graph: GraphPair, what: str, pairs: npt.NDArray[np.int32]) -> None:
    """Raise where a file of pairs would be empty: an empty file is one that was cut."""
    if len(pairs) == 0:
        raise DataError(
            f"{graph.name} has no pairs for {what}, and no file may be empty. Hold out more of the "
            "known pairs with --split, for instance 60/20/20."
        )


def refuse_lonely(side: Graph, paired: npt.NDArray[np.int32]) -> None:
    """Raise where a paired entity is in no triplet, and so would not be in the files."""
    is_linked = is_named(side.triplets, (SUBJECT, OBJECT), len(side.entities))
    lonely = paired[~is_linked[paired]]
    if len(lonely):
        raise DataError(
            f"the entity {quote(side.entities.name(lonely[0]))} has a partner but no triplet, and "
            "OpenEA's form knows entities by their triplets. Write RSN's form: --form rsn."
        )
