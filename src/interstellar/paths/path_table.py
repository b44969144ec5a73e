"""The sampled paths: one row each, with a hash that names them in a run's record."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.records.safe_files import replacing_file

INVERSE_SUFFIX = "^-1"
"""Follows a relation's name where a step goes against it."""

_ROWS_AT_ONCE = 2**16
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))

IntArray = npt.NDArray[np.int32]


class PathFormat(StrEnum):
    """How paths are written; the suffix of the file says which."""

    NUMPY = ".npy"
    """Ids as one array, which `PathTable.load` reads; also where there is no suffix."""
    PARQUET = ".parquet"
    """Ids in the columns e_0, r_1, e_1 …"""
    TSV = ".tsv"
    """Names, one path a line."""

    @classmethod
    def of(cls, path: Path) -> "PathFormat":
        """Return the format that the suffix of a file asks for."""
        suffix = path.suffix.lower()
        if suffix not in {"", *cls}:
            raise SettingsError(
                f"{path} ends in {path.suffix}, but paths are written as .tsv (names), .parquet "
                "(columns of ids) or .npy (NumPy's array of ids). Choose a name with one of these."
            )
        return cls(suffix or cls.NUMPY)


@dataclass(frozen=True, slots=True, eq=False)
class PathTable:
    """Paths of equal length, fixed for every model trained on them."""

    array: IntArray
    """Shape (n_paths, 2 · length + 1): e_0, r_1, e_1, r_2, e_2 … as ids."""

    def __post_init__(self) -> None:
        shape, dtype = self.array.shape, self.array.dtype
        if len(shape) != 2 or shape[1] < 3 or shape[1] % 2 == 0 or dtype != np.int32:
            raise DataError(
                f"An array of shape {shape} and type {dtype} is no table of paths: it must be "
                "int32 with columns e_0, r_1, e_1 and so on, an odd number. "
                "Give one that `PathTable.save` wrote."
            )

    @property
    def n_paths(self) -> int:
        """Rows of the table."""
        return len(self.array)

    @property
    def length(self) -> int:
        """Triplets in each path."""
        return int(self.array.shape[1]) // 2

    @property
    def subjects(self) -> IntArray:
        """Shape (n_paths, length), a view: the entity that each step leaves."""
        return self.array[:, 0:-1:2]

    @property
    def relations(self) -> IntArray:
        """Shape (n_paths, length), a view: the relation that each step follows."""
        return self.array[:, 1::2]

    @property
    def objects(self) -> IntArray:
        """Shape (n_paths, length), a view: the entity that each step reaches."""
        return self.array[:, 2::2]

    @property
    def sha256(self) -> str:
        """Hash of shape and ids, the same on every machine; computed at each call."""
        digest = hashlib.sha256(f"paths {self.n_paths} x {self.array.shape[1]} int32\n".encode())
        digest.update(np.ascontiguousarray(self.array, dtype="<i4").data)
        return digest.hexdigest()

    def save(
        self, path: Path, *, entities: Vocabulary | None = None, relations: Vocabulary | None = None
    ) -> None:
        """Write the table, whole or not at all, in the format of its suffix (`PathFormat`).

        Names need both vocabularies, of both graphs where there are two; relations are without
        their inverses.
        """
        path_format = PathFormat.of(path)
        names = None
        if path_format is PathFormat.TSV:
            names = self._names(path, entities, relations)  # before the file is opened
        with replacing_file(path) as file:
            if names is not None:
                self._write_tsv(file, *names)
            elif path_format is PathFormat.PARQUET:
                self._write_parquet(file)
            else:
                self._write_numpy(file)

    @classmethod
    def load(cls, path: Path) -> "PathTable":
        """Read what `save` wrote in NumPy's format."""
        try:
            array = np.load(path, allow_pickle=False)
        except FileNotFoundError as error:
            raise DataError(f"{path} does not exist. Sample paths first.") from error
        except (ValueError, EOFError) as error:
            raise DataError(
                f"{path} is no NumPy file of numbers. Give one that `PathTable.save` wrote."
            ) from error
        if not isinstance(array, np.ndarray):
            raise DataError(f"{path} holds several arrays, but a table of paths is one.")
        return cls(array)

    def _write_numpy(self, file: BinaryIO) -> None:
        array = np.ascontiguousarray(self.array, dtype="<i4")
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)  # `np.save` does not say why a disk took only a part of it

    def _write_parquet(self, file: BinaryIO) -> None:
        names = ["e_0"] + [f"{c}_{t}" for t in range(1, self.length + 1) for c in "re"]
        schema = pa.schema([(name, pa.int32()) for name in names])
        with pq.ParquetWriter(file, schema) as writer:
            for block in self._blocks():
                writer.write_table(pa.table([np.ascontiguousarray(c) for c in block.T], schema))

    def _names(
        self, path: Path, entities: Vocabulary | None, relations: Vocabulary | None
    ) -> tuple[pa.Array, pa.Array]:
        if entities is None or relations is None:
            raise SettingsError(
                f"{path} is to hold names, but no names were given. "
                "Give the vocabularies of entities and relations, or save as .parquet or .npy."
            )
        forward = _escaped(relations.array)
        inverse = pc.binary_join_element_wise(forward, INVERSE_SUFFIX, "")
        relation_names = pa.concat_arrays([forward, inverse])
        entity_names = _escaped(entities.array)
        _check_covered("entity", self.array[:, 0::2], len(entity_names))
        _check_covered("relation", self.relations, len(relation_names))
        return entity_names, relation_names

    def _write_tsv(self, file: BinaryIO, entity_names: pa.Array, relation_names: pa.Array) -> None:
        for block in self._blocks():
            columns = [
                (relation_names if i % 2 else entity_names).take(pa.array(column))
                for i, column in enumerate(np.ascontiguousarray(block.T))
            ]
            lines = pc.binary_join_element_wise(*columns, "\t")
            file.write(("\n".join(lines.to_pylist()) + "\n").encode())

    def _blocks(self) -> Iterator[IntArray]:
        for start in range(0, self.n_paths, _ROWS_AT_ONCE):
            yield self.array[start : start + _ROWS_AT_ONCE]


def _escaped(names: pa.Array) -> pa.Array:
    for character, escape in _ESCAPES:
        names = pc.replace_substring(names, character, escape)
    return names


def _check_covered(kind: str, ids: IntArray, n_names: int) -> None:
    largest = int(ids.max(initial=-1))
    if largest >= n_names:
        raise DataError(
            f"The paths hold {kind} {largest}, but there are names only up to {n_names - 1}. "
            "Give the vocabularies of the graph that the paths were sampled from."
        )
