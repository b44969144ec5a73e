"""The whole alignment of two graphs, by name."""

import os
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from interstellar.data.frames import FrameLibrary, hand_over
from interstellar.data.graph import GraphPair
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError
from interstellar.evaluation.similarity import Decoding
from interstellar.evaluation.threshold import Quality
from interstellar.records.safe_files import refuse_taken
from interstellar.tasks.alignment_file import (
    alignment_table,
    refuse_unwritable,
    write_alignment,
    write_unmatched,
)
from interstellar.tasks.iterated_alignment import IteratedRun
from interstellar.tasks.whole_alignment import (
    FIRST,
    KEEP_ALL,
    SECOND,
    AlignmentSettings,
    Asking,
    WholeAlignment,
)
from interstellar.workflow.words import choose


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPair:
    """Two entities that are taken to mean the same."""

    first: str
    second: str
    score: float
    """Cosine or CSLS; of Sinkhorn the share of the plan; of known pairs 1."""
    is_known: bool
    """Whether it was given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """The pairs of two graphs' entities; those that were given first."""

    graph: GraphPair
    whole: WholeAlignment
    settings: AlignmentSettings
    iterated: IteratedRun | None = None
    """The rounds in which the model was trained on before, if any were asked for."""

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.whole.pairs)

    @property
    def pairs(self) -> list[AlignedPair]:
        """All pairs by name."""
        first = _names(self.graph.first.entities, self.whole.pairs[:, FIRST])
        second = _names(self.graph.second.entities, self.whole.pairs[:, SECOND])
        rows = zip(
            first,
            second,
            self.whole.similarities.tolist(),
            self.whole.is_known.tolist(),
            strict=True,
        )
        return [
            AlignedPair(first=a, second=b, score=score, is_known=is_known)
            for a, b, score, is_known in rows
        ]

    @property
    def unmatched(self) -> tuple[list[str], list[str]]:
        """The entities of the first and of the second graph that are in no pair."""
        return (
            _names(self.graph.first.entities, self.whole.unmatched_first),
            _names(self.graph.second.entities, self.whole.unmatched_second),
        )

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
        return hand_over(alignment_table(self.whole, self.graph), library)

    def save(
        self, path: str | os.PathLike[str], *, unmatched: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the pairs into a file, Parquet if it ends so, else tab-separated.

        Args:
            path: The file of pairs.
            unmatched: A second file, of the entities in no pair.
        """
        files = [Path(file) for file in (path, unmatched) if file is not None]
        refuse_same(*files)
        for file in files:
            refuse_taken(file, ())
            refuse_unwritable(self.graph, file)
        write_alignment(self.whole, self.graph, files[0])
        if unmatched is not None:
            write_unmatched(self.whole, self.graph, files[1])


def read_alignment_settings(
    decode: str, top_k: int | None, *, one_to_one: bool, threshold: str | float, direction: str
) -> AlignmentSettings:
    """Return what kind of alignment some words ask for."""
    return AlignmentSettings(
        decoding=choose("decode", decode, Decoding),
        top_k=top_k,
        is_one_to_one=one_to_one,
        asking=choose("direction", direction, Asking),
        threshold=read_threshold(threshold),
    )


def refuse_same(path: Path, unmatched: Path | None = None) -> None:
    """Raise where two files are to be written into one."""
    if unmatched is not None and path.resolve() == unmatched.resolve():
        raise SettingsError(
            f"{path} is to hold the pairs and the entities without a partner. Choose two names."
        )


def read_threshold(threshold: str | float) -> float | None:
    """Return a threshold that may be given as a word: None for one to be chosen."""
    match threshold:
        case "auto":
            return None
        case "none":
            return KEEP_ALL
    try:
        number = float(threshold)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise SettingsError(
            f"threshold {threshold!r} is neither auto, none nor a number. Choose one of these."
        )
    return number


def _names(vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> list[str]:
    return [vocabulary.name(entity) for entity in ids.tolist()]
