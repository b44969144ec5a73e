"""The names of entities or relations, numbered from 0."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

UNKNOWN = -1
"""Stands for a name that a vocabulary does not hold."""
AT_ONCE = 2**16
"""Names of one block, where something goes through all of them."""
LENGTH_BYTES = 8


@final
class Vocabulary:
    """Names in the order of their ids; the first name has id 0.

    The names stay in an Arrow array, which holds millions of them in little memory;
    Python strings are made when they are asked for.
    """

    def __init__(
        self, names: pa.Array | Sequence[str], labels: Mapping[str, str] | None = None
    ) -> None:
        self.array = names if isinstance(names, pa.Array) else as_array(names)
        self.labels = {} if labels is None else labels
        """What people call some of the names, as `rdfs:label` has it."""

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.array)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same names in the same order."""
        return isinstance(other, Vocabulary) and bool(self.array.equals(other.array))

    def __hash__(self) -> int:
        """Return a hash that equal vocabularies share."""
        return hash((len(self), self.name(0) if len(self) else ""))

    def __add__(self, other: "Vocabulary") -> "Vocabulary":
        """Return the names of both; those of `other` count on from ours, equal or not."""
        labels = {**other.labels, **self.labels}
        return Vocabulary(pa.concat_arrays([self.array, other.array]), labels)

    def __repr__(self) -> str:
        """Return a short description for a person."""
        return f"Vocabulary({len(self)} names)"

    def name(self, id: int) -> str:
        """Return the name of one id."""
        return str(self.array[int(id)].as_py())

    def label(self, id: int) -> str:
        """Return what people call one id: its label, or its name if it has none."""
        name = self.name(id)
        return self.labels.get(name, name)

    def id(self, name: str) -> int:
        """Return the id of one name, or `UNKNOWN`: all are looked through, 5 million in 20 ms."""
        with suppress(UnicodeEncodeError):  # half a character, which no name has
            return int(pc.index(self.array, name).as_py())
        return UNKNOWN

    def ids(self, names: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """Return the id of each name, `UNKNOWN` where there is none."""
        text = names.cast(pa.string())
        found = pc.index_in(text, value_set=self.array)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return np.array(pc.fill_null(found, UNKNOWN), dtype=np.int32)

    def to_list(self) -> list[str]:
        """Return all names as Python strings."""
        names: list[str] = self.array.to_pylist()
        return names

    def encode(self) -> Iterator[bytes]:
        """Yield, block by block, each name as UTF-8 behind its length in eight bytes."""
        for start in range(0, len(self), AT_ONCE):
            yield _with_lengths(self.array.slice(start, AT_ONCE))


def _with_lengths(names: pa.Array) -> bytes:
    _, bounds, letters = names.buffers()
    ends = np.frombuffer(bounds, dtype="<i4")[names.offset : names.offset + len(names) + 1]
    lengths = np.diff(ends).astype("<i8")
    places = ends[:-1].astype(np.int64) - ends[0] + LENGTH_BYTES * np.arange(len(names))
    whole = np.empty(LENGTH_BYTES * len(names) + int(ends[-1] - ends[0]), dtype=np.uint8)
    is_letter = np.ones(len(whole), dtype=np.bool_)
    of_lengths = places[:, np.newaxis] + np.arange(LENGTH_BYTES)
    whole[of_lengths] = lengths.view(np.uint8).reshape(-1, LENGTH_BYTES)
    is_letter[of_lengths] = False
    whole[is_letter] = np.frombuffer(letters or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    return whole.tobytes()


def as_array(names: Sequence[str]) -> pa.Array:
    """Return names as an Arrow array of strings.

    By hand, because `pa.array` of a list imports pandas wherever that is installed, which takes
    as long as reading a hundred thousand names.
    """
    encoded = [name.encode() for name in names]
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in encoded], out=bounds[1:])
    if bounds[-1] > np.iinfo(np.int32).max:
        return pa.array(names, pa.string())
    buffers = pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), *buffers)
