"""PyKEEN's `TriplesFactory` and `Dataset`, known by what they offer: PyKEEN is not imported.

Ids are kept as they are. A factory without labels (`CoreTriplesFactory`) names things by number.
"""

from collections.abc import Mapping
from typing import Any

from interstellar.data.findings import Findings
from interstellar.data.forms.numbered_arrays import (
    NumberedSource,
    as_numpy,
    number_names,
    read_names,
)
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.splitting import Split
from interstellar.data.triplets import Triplets, no_triplets
from interstellar.data.vocabulary import Vocabulary


def is_factory(source: Any) -> bool:
    """Return whether `source` holds triplets as PyKEEN's factories do."""
    return hasattr(source, "mapped_triples") and hasattr(source, "num_entities")


def is_dataset(source: Any) -> bool:
    """Return whether `source` holds factories for training and testing."""
    return is_factory(getattr(source, "training", None)) and hasattr(source, "testing")


def read_factory(factory: Any, split: Split, seed: int, findings: Findings) -> KnowledgeGraph:
    """Read one factory and hold out some of its triplets."""
    source = describe_factory(factory, type(factory).__name__, findings)
    triplets = read_mapped(factory, source, "mapped_triples", findings)
    return source.split(triplets, split, seed, findings)


def read_dataset(dataset: Any, findings: Findings) -> KnowledgeGraph:
    """Read the three factories of a set."""
    source = describe_factory(dataset.training, type(dataset).__name__, findings)
    parts = []
    for part in ("training", "validation", "testing"):
        factory = getattr(dataset, part, None)
        if factory is None:
            findings.note(f"{source.label} has no {part} triplets; that split is empty.")
            parts.append(no_triplets())
            continue
        if label_map(factory, "entity") != label_map(dataset.training, "entity"):
            findings.fault(
                f"<{source.label}>",
                None,
                f"{part} numbers its entities otherwise than training. Only sets whose parts "
                "share their entities can be read: an inductive set is two graphs.",
            )
        parts.append(read_mapped(factory, source, part, findings))
    train, valid, test = parts
    return source.join(train, valid, test, findings)


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
    id_by_label = label_map(factory, kind)
    if id_by_label is None:
        return number_names(n)
    labels = sorted(id_by_label, key=lambda name: id_by_label[name])
    if [id_by_label[name] for name in labels] != list(range(n)):
        findings.fault(
            f"<{label}>",
            None,
            f"{kind}_to_id does not give each id from 0 to {n - 1} to one {kind}. "
            "Make the factory anew from its labels.",
        )
        return number_names(n)
    return read_names(labels, kind, label, findings)


def label_map(factory: Any, kind: str) -> Mapping[str, int] | None:
    """Return the id of each label, or None where a factory has no labels."""
    found: Mapping[str, int] | None = getattr(factory, f"{kind}_to_id", None)
    return found


def read_mapped(factory: Any, source: NumberedSource, what: str, findings: Findings) -> Triplets:
    """Return PyKEEN's (head, relation, tail), which is our order."""
    return source.read_triplets(list(as_numpy(factory.mapped_triples).T), what, findings)
