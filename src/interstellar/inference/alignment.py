"""The whole alignment of two graphs by name, as a value and as files.

The first graph is the source and the second the target. Written columns are `first` (an entity of
the source), `second` (one of the target), `score` and `known`.
"""

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.graph import GraphPair
from interstellar.data.tables import (
    FrameLibrary,
    TableFormat,
    hand_over,
    refuse_unwritable,
    repeat_each,
    write_table,
)
from interstellar.errors import SettingsError
from interstellar.evaluation.matching import Quality
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.iterated_alignment import IteratedRun
from interstellar.inference.whole_alignment import (
    KEEP_ALL,
    AlignmentSettings,
    Asking,
    WholeAlignment,
)
from interstellar.records.safe_files import refuse_output, replacing_file
from interstellar.words import choose

_OLD_DIRECTIONS = {"first": "source", "second": "target"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPair:
    """Two entities that are taken to mean the same."""

    source: str
    target: str
    score: float
    """Cosine or CSLS; of Sinkhorn the share of the plan; of known pairs 1."""
    is_known: bool
    """Whether it was given."""

    @property
    def first(self) -> str:
        """The source by its old name."""
        _warn_of_old_name("AlignedPair.first", "source")
        return self.source

    @property
    def second(self) -> str:
        """The target by its old name."""
        _warn_of_old_name("AlignedPair.second", "target")
        return self.target


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """The pairs of two graphs' entities; those that were given first."""

    graph: GraphPair
    whole: WholeAlignment
    settings: AlignmentSettings
    iterated: IteratedRun | None = None
    """The rounds in which the model was trained on before, if any were asked for."""

    def __len__(self) -> int:
        return len(self.whole.pairs)

    def __repr__(self) -> str:
        whole = self.whole
        return (
            f"<Alignment of {self.graph.name}: {len(self):,} pairs, {whole.is_known.sum():,} of "
            f"them given; unmatched: {len(whole.unmatched_first):,} of the source, "
            f"{len(whole.unmatched_second):,} of the target>"
        )

    @property
    def pairs(self) -> list[AlignedPair]:
        """All pairs by name."""
        return [
            AlignedPair(
                source=row["first"], target=row["second"], score=row["score"], is_known=row["known"]
            )
            for row in self.to_frame().to_pylist()
        ]

    @property
    def unmatched(self) -> tuple[list[str], list[str]]:
        """The entities of the source and of the target that are in no pair."""
        source, target = self._name_unmatched()
        return source.to_pylist(), target.to_pylist()

    @property
    def threshold(self) -> float | None:
        """What the scores of all pairs reach but those given; None where all were kept."""
        return None if self.whole.threshold == KEEP_ALL else self.whole.threshold

    @property
    def valid(self) -> Quality:
        """How well the pairs held out for validation were found."""
        return self.whole.valid

    @property
    def test(self) -> Quality:
        """How well the pairs held out for test were found."""
        return self.whole.test

    def to_frame(self, library: str = FrameLibrary.ARROW) -> Any:
        """Return columns first, second, score and known as an Arrow, pandas or polars frame."""
        first, second = self._name(*self.whole.pairs.T)
        score = pa.array(self.whole.similarities.astype(np.float32))
        columns = [first, second, score, pa.array(self.whole.is_known)]
        return hand_over(pa.table(columns, ["first", "second", "score", "known"]), library)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        unmatched: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the pairs into a file, Parquet or CSV if it ends so, else tab-separated.

        `unmatched` is a second file, of the entities in no pair: columns graph and entity.
        """
        refuse_files(self.graph, path, unmatched, overwrite=overwrite)
        _write(self.to_frame(), Path(path))
        if unmatched is not None:
            parts = self._name_unmatched()
            columns = [repeat_each(("first", "second"), parts), pa.concat_arrays(parts)]
            _write(pa.table(columns, ["graph", "entity"]), Path(unmatched))

    def _name_unmatched(self) -> tuple[pa.Array, pa.Array]:
        return self._name(self.whole.unmatched_first, self.whole.unmatched_second)

    def _name(
        self, source: npt.NDArray[np.int32], target: npt.NDArray[np.int32]
    ) -> tuple[pa.Array, pa.Array]:
        """Return the names of some entities of each graph."""
        sides = ((self.graph.source, source), (self.graph.target, target))
        first, second = (side.entities.array.take(pa.array(ids)) for side, ids in sides)
        return first, second


def refuse_files(
    graph: GraphPair,
    path: str | os.PathLike[str],
    unmatched: str | os.PathLike[str] | None = None,
    *,
    inputs: Sequence[str | os.PathLike[str] | None] = (),
    overwrite: bool = False,
) -> None:
    """Raise where an alignment cannot be written: called before it is computed."""
    files = [Path(file) for file in (path, unmatched) if file is not None]
    if len(files) == 2 and files[0].resolve() == files[1].resolve():
        raise SettingsError(
            f"{path} is to hold the pairs and the entities without a partner. Choose two names."
        )
    for file in files:
        refuse_output(file, inputs=inputs, overwrite=overwrite)
        refuse_unwritable([side.entities.array for side in (graph.source, graph.target)], _of(file))


def _of(path: Path) -> TableFormat:
    ending = path.suffix.lower().removeprefix(".")
    return TableFormat(ending) if ending in tuple(TableFormat) else TableFormat.TSV


def _write(table: pa.Table, path: Path) -> None:
    with replacing_file(path) as file:
        write_table(table, file, _of(path))


def _warn_of_old_name(old: str, new: str, stacklevel: int = 3) -> None:
    text = f"{old} is now called {new}; the old name goes in version 0.3."
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def read_alignment_settings(
    decode: str,
    top_k: int | None,
    *,
    one_to_one: bool,
    threshold: str | float,
    direction: str,
    approximate: bool = False,
) -> AlignmentSettings:
    """Return what kind of alignment some words ask for."""
    if direction in _OLD_DIRECTIONS:
        now = _OLD_DIRECTIONS[direction]
        _warn_of_old_name(f"the direction {direction!r}", repr(now), stacklevel=4)
        direction = now
    return AlignmentSettings(
        decoding=choose("decode", decode, Decoding),
        top_k=top_k,
        is_one_to_one=one_to_one,
        is_approximate=approximate,
        asking=choose("direction", direction, Asking),
        threshold=read_threshold(threshold),
    )


def read_threshold(threshold: str | float) -> float | None:
    """Return a threshold that may be given as a word: None for one to be chosen."""
    if threshold in ("auto", "none"):
        return None if threshold == "auto" else KEEP_ALL
    with suppress(ValueError):
        number = float(threshold)
        if isfinite(number):
            return number
    raise SettingsError(
        f"threshold {threshold!r} is neither auto, none nor a number. Choose one of these."
    )
