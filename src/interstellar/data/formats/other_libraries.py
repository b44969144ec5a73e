"""Graphs of PyKEEN and PyTorch Geometric, known by what they offer: neither is imported.

Their ids are kept, also of entities in no triplet, so that what is learnt here fits there. Where
things have no names, their numbers are the names. Tensors are taken as NumPy does.

PyKEEN: a `TriplesFactory`, or a `Dataset` of three. PyG: `Data` with `edge_index` and `edge_type`;
an edge of type r from s to o is the triplet (s, r, o). Names come from `entity_names` and
`relation_names`, splits from `train_edge_index` and its kin (`RelLinkPredDataset`) or from masks
over the edges (`WordNet18RR`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interstellar.data.findings import Findings
from interstellar.data.formats.one_graph import hold_out, join_splits
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.splitting import SplitShares
from interstellar.data.triplets import Triplets, no_triplets
from interstellar.data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class NumberedSource:
    """Where ids come from, and what they stand for."""

    label: str
    entities: Vocabulary
    relations: Vocabulary

    def read_triplets(self, columns: Sequence[Any], what: str, findings: Findings) -> Triplets:
        """Return subjects, relations and objects as triplets; record ids without a name."""
        arrays = [as_numpy(column) for column in columns]
        fault = self._find_fault(arrays)
        if fault:
            findings.fault(f"<{self.label}>", None, f"{what}: {fault}")
            return no_triplets()
        return np.stack(arrays, axis=1).astype(np.int32, copy=False)

    def _find_fault(self, columns: Sequence[npt.NDArray[Any]]) -> str | None:
        shapes = [column.shape for column in columns]
        if len(shapes) != 3 or len(set(shapes)) != 1 or len(shapes[0]) != 1:
            found = ", ".join(map(str, shapes))
            return f"the shapes of its three columns are {found}. All must be equally long."
        entity, relation = ("entity", len(self.entities)), ("relation", len(self.relations))
        for ids, (noun, n) in zip(columns, (entity, relation, entity), strict=True):
            if not np.issubdtype(ids.dtype, np.integer):
                return f"the {noun} ids are of type {ids.dtype}. They must be whole numbers."
            if len(ids) and not (ids.min() >= 0 and ids.max() < n):
                return (
                    f"the {noun} ids go from {ids.min()} to {ids.max()}, but only 0 to {n - 1} "
                    "have a name. Number them anew, or name them all."
                )
        return None

    def join(self, parts: Iterable[Triplets], findings: Findings) -> KnowledgeGraph:
        """Return the graph of train, valid and test."""
        return join_splits(self.label, self.entities, self.relations, parts, findings)


def as_numpy(values: Any) -> npt.NDArray[Any]:
    """Return a tensor on any device, an array or a list as a NumPy array."""
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)


def read_names(values: Sequence[Any], noun: str, label: str, findings: Findings) -> Vocabulary:
    """Return names in the order of ids; record what is no name, and a name given twice."""
    names = list(values)
    odd = [name for name in names if not (isinstance(name, str) and name)]
    if odd:
        fault = f"the {noun} names hold {odd[0]!r}. Each must be a string that is not empty."
    elif len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        fault = f"the {noun} name {twice!r} stands for two ids. Each must have a name of its own."
    else:
        return Vocabulary(names)
    findings.fault(f"<{label}>", None, fault)
    return number_names(len(names))


def number_names(n: int) -> Vocabulary:
    """Return the ids themselves as names, where there are no others."""
    return Vocabulary([str(number) for number in range(n)])


def is_factory(source: Any) -> bool:
    """Return whether `source` holds triplets as PyKEEN's factories do."""
    return hasattr(source, "mapped_triples") and hasattr(source, "num_entities")


def is_dataset(source: Any) -> bool:
    """Return whether `source` holds factories for training and testing."""
    return is_factory(getattr(source, "training", None)) and hasattr(source, "testing")


def read_factory(factory: Any, split: SplitShares, seed: int, findings: Findings) -> KnowledgeGraph:
    """Read one factory and hold out some of its triplets."""
    source = describe_factory(factory, type(factory).__name__, findings)
    triplets = read_mapped(factory, source, "mapped_triples", findings)
    return source.join(hold_out(source.label, triplets, split, seed, findings), findings)


def read_dataset(dataset: Any, findings: Findings) -> KnowledgeGraph:
    """Read the three factories of a set."""
    source = describe_factory(dataset.training, type(dataset).__name__, findings)
    known_ids = getattr(dataset.training, "entity_to_id", None)
    parts = []
    for part in ("training", "validation", "testing"):
        factory = getattr(dataset, part, None)
        if factory is None:
            findings.note(f"{source.label} has no {part} triplets; that split is empty.")
            parts.append(no_triplets())
            continue
        if getattr(factory, "entity_to_id", None) != known_ids:
            findings.fault(
                f"<{source.label}>",
                None,
                f"{part} numbers its entities otherwise than training. Only sets whose parts "
                "share their entities can be read: an inductive set is two graphs.",
            )
        parts.append(read_mapped(factory, source, part, findings))
    return source.join(parts, findings)


def describe_factory(factory: Any, label: str, findings: Findings) -> NumberedSource:
    """Return the names of a factory."""
    n_relations = getattr(factory, "real_num_relations", factory.num_relations)
    return NumberedSource(
        label,
        read_labels(factory, "entity", factory.num_entities, label, findings),
        read_labels(factory, "relation", n_relations, label, findings),
    )


def read_labels(factory: Any, kind: str, n: int, label: str, findings: Findings) -> Vocabulary:
    """Return the labels of entities or relations in the order of their ids."""
    id_by_label = getattr(factory, f"{kind}_to_id", None)
    if id_by_label is None:
        return number_names(n)
    labels = sorted(id_by_label, key=id_by_label.__getitem__)
    if [id_by_label[name] for name in labels] != list(range(n)):
        findings.fault(
            f"<{label}>",
            None,
            f"{kind}_to_id does not give each id from 0 to {n - 1} to one {kind}. "
            "Make the factory anew from its labels.",
        )
        return number_names(n)
    return read_names(labels, kind, label, findings)


def read_mapped(factory: Any, source: NumberedSource, what: str, findings: Findings) -> Triplets:
    """Return PyKEEN's (head, relation, tail), which is our order."""
    return source.read_triplets(list(as_numpy(factory.mapped_triples).T), what, findings)


MASKS = ("train_mask", "val_mask", "test_mask")


def is_pyg_data(source: Any) -> bool:
    """Return whether `source` is a graph of PyG, of one kind of node or of several."""
    return hasattr(source, "edge_index") or is_mixed(source)


def is_mixed(source: Any) -> bool:
    """Return whether `source` has several kinds of nodes (`HeteroData`)."""
    return hasattr(source, "edge_types") and hasattr(source, "node_types")


def has_splits(data: Any) -> bool:
    """Return whether the data says which edges are held out."""
    return has_split_edges(data) or has_edge_masks(data)


def has_split_edges(data: Any) -> bool:
    """Return whether each split has edges of its own; then `edge_index` has inverses too."""
    return getattr(data, "train_edge_index", None) is not None


def has_edge_masks(data: Any) -> bool:
    """Return whether there is a mask for each split, over edges and not over nodes."""
    masks = [getattr(data, mask, None) for mask in MASKS]
    if any(mask is None for mask in masks):
        return False
    n_edges = as_numpy(data.edge_index).shape[-1]
    return all(as_numpy(mask).shape == (n_edges,) for mask in masks)


def read_pyg_data(
    data: Any, split: SplitShares, seed: int, findings: Findings
) -> KnowledgeGraph | None:
    """Read the edges of a graph, in its own splits or in ours."""
    label = type(data).__name__
    if is_mixed(data) or getattr(data, "edge_type", None) is None:
        what = "has several kinds of nodes" if is_mixed(data) else "has no edge_type"
        findings.fault(
            f"<{label}>",
            None,
            f"{what}, but triplets are edges with a type between nodes of one numbering. Call "
            ".to_homogeneous(), or set edge_type (zeros for a single relation).",
        )
        return None
    prefixes = [f"{part}_" for part in SPLITS] if has_split_edges(data) else [""]
    source = NumberedSource(
        label, name_entities(data, label, findings), name_relations(data, prefixes, label, findings)
    )
    parts = [read_edges(data, source, prefix, findings) for prefix in prefixes]
    if len(parts) == 1 and has_edge_masks(data) and len(parts[0]):
        parts = [parts[0][as_numpy(getattr(data, mask)).astype(bool)] for mask in MASKS]
    elif len(parts) == 1:
        parts = [*hold_out(label, parts[0], split, seed, findings)]
    return source.join(parts, findings)


def read_edges(data: Any, source: NumberedSource, prefix: str, findings: Findings) -> Triplets:
    """Return edges with their types as triplets."""
    name = f"{prefix}edge_index"
    edges = as_numpy(getattr(data, name))
    if edges.ndim != 2 or len(edges) != 2:
        findings.fault(
            f"<{source.label}>", None, f"{name} is of shape {edges.shape}. It must be (2, edges)."
        )
        return no_triplets()
    kinds = getattr(data, f"{prefix}edge_type")
    return source.read_triplets([edges[0], kinds, edges[1]], name, findings)


def name_entities(data: Any, label: str, findings: Findings) -> Vocabulary:
    """Return the names of the nodes, or their numbers."""
    names = getattr(data, "entity_names", None)
    if names is None:
        return number_names(int(data.num_nodes))
    return read_names(names, "entity", label, findings)


def name_relations(data: Any, prefixes: list[str], label: str, findings: Findings) -> Vocabulary:
    """Return the names of the edge types, or their numbers."""
    names = getattr(data, "relation_names", None)
    if names is not None:
        return read_names(names, "relation", label, findings)
    kinds = [as_numpy(getattr(data, f"{prefix}edge_type")) for prefix in prefixes]
    return number_names(max(int(ids.max(initial=-1)) for ids in kinds) + 1)
