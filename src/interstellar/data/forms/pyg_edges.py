"""PyTorch Geometric's `Data`, known by `edge_index` and `edge_type`: PyG is not imported.

An edge of type r from s to o is the triplet (s, r, o). Names are taken from `entity_names` and
`relation_names` where the data has them; else the numbers are the names. Splits are taken as
PyG's own sets have them: `train_edge_index`, `valid_edge_index` … (`RelLinkPredDataset`), or
masks over the edges (`WordNet18RR`); without them we hold triplets out ourselves.
"""

from typing import Any

from interstellar.data.findings import Findings
from interstellar.data.forms.numbered_arrays import (
    NumberedSource,
    as_numpy,
    number_names,
    read_names,
)
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.splitting import Split
from interstellar.data.triplets import Triplets, no_triplets
from interstellar.data.vocabulary import Vocabulary

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


def read_pyg_data(data: Any, split: Split, seed: int, findings: Findings) -> KnowledgeGraph | None:
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
    if len(parts) == 1:
        return source.split(parts[0], split, seed, findings)
    train, valid, test = parts
    return source.join(train, valid, test, findings)


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
