"""Graphs that another library has numbered already: arrays of ids, and perhaps names.

Its ids are kept, also of entities in no triplet, so that what is learnt here fits there. Tensors
are taken as NumPy does, without importing the library they come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interstellar.data.findings import Findings
from interstellar.data.forms.numbering import keep_distinct
from interstellar.data.forms.one_graph import note_split, tidy_splits
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.splitting import Split, split_triplets
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, no_triplets
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
        shapes = {array.shape for array in arrays}
        if len(shapes) != 1 or any(array.ndim != 1 for array in arrays):
            found = ", ".join(str(array.shape) for array in arrays)
            self._fault(f"{what} has columns of shape {found}. All must be equally long.", findings)
            return no_triplets()
        n_entities, n_relations = len(self.entities), len(self.relations)
        for place, noun, n in (
            (SUBJECT, "entity", n_entities),
            (RELATION, "relation", n_relations),
            (OBJECT, "entity", n_entities),
        ):
            fault = find_fault(arrays[place], noun, n)
            if fault:
                self._fault(f"{what}: {fault}", findings)
                return no_triplets()
        return np.stack(arrays, axis=1).astype(np.int32, copy=False)

    def split(
        self, triplets: Triplets, split: Split, seed: int, findings: Findings
    ) -> KnowledgeGraph:
        """Return the graph of triplets of which we hold some out ourselves."""
        distinct = keep_distinct(triplets, self.label, findings)
        parts = split_triplets(distinct, split, seed=seed)
        if len(distinct):
            note_split(self.label, parts, split, seed, findings)
        return self._graph(*parts)

    def join(
        self, train: Triplets, valid: Triplets, test: Triplets, findings: Findings
    ) -> KnowledgeGraph:
        """Return the graph of splits that the source has."""
        return tidy_splits(self._graph(train, valid, test), findings)

    def _graph(self, train: Triplets, valid: Triplets, test: Triplets) -> KnowledgeGraph:
        return KnowledgeGraph(
            name=self.label,
            entities=self.entities,
            relations=self.relations,
            train=train,
            valid=valid,
            test=test,
        )

    def _fault(self, what: str, findings: Findings) -> None:
        findings.fault(f"<{self.label}>", None, what)


def as_numpy(values: Any) -> npt.NDArray[Any]:
    """Return a tensor on any device, an array or a list as a NumPy array."""
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)


def find_fault(ids: npt.NDArray[Any], noun: str, n: int) -> str | None:
    """Return what is wrong with some ids of n entities or relations, or None."""
    if not np.issubdtype(ids.dtype, np.integer):
        return f"the {noun} ids are of type {ids.dtype}. They must be whole numbers."
    if len(ids) and not (ids.min() >= 0 and ids.max() < n):
        return (
            f"the {noun} ids go from {ids.min()} to {ids.max()}, but only 0 to {n - 1} have a "
            "name. Number them anew, or name them all."
        )
    return None


def read_names(values: Sequence[Any], noun: str, label: str, findings: Findings) -> Vocabulary:
    """Return names in the order of ids; record what is no name, and a name given twice."""
    names = list(values)
    fault = None
    if not all(isinstance(name, str) and name for name in names):
        odd = next(name for name in names if not (isinstance(name, str) and name))
        fault = f"the {noun} names hold {odd!r}. Each must be a string that is not empty."
    elif len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        fault = f"the {noun} name {twice!r} stands for two ids. Each must have a name of its own."
    if fault:
        findings.fault(f"<{label}>", None, fault)
        return number_names(len(names))
    return Vocabulary(names)


def number_names(n: int) -> Vocabulary:
    """Return the ids themselves as names, where there are no others."""
    return Vocabulary([str(number) for number in range(n)])
