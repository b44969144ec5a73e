"""An alignment as a file: what is written can be read, by name."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from interstellar.data.graph import Graph, GraphPair
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.threshold import Quality
from interstellar.tasks.alignment_file import refuse_unwritable, write_alignment, write_unmatched
from interstellar.tasks.whole_alignment import Asking, WholeAlignment

NO_PAIRS = np.empty((0, 2), dtype=np.int32)
QUALITY = Quality.of(n_right=1, n_given=1, n_true=1)


def make_pair(*names: str) -> GraphPair:
    first, second = (
        Graph(
            entities=Vocabulary(list(entities)),
            relations=Vocabulary(["r"]),
            triplets=np.empty((0, 3), dtype=np.int32),
        )
        for entities in (names, ("x", "ü y", "z"))
    )
    return GraphPair(
        name="p", first=first, second=second, seeds=NO_PAIRS, valid=NO_PAIRS, test=NO_PAIRS
    )


def make_alignment() -> WholeAlignment:
    return WholeAlignment(
        pairs=np.array([[1, 0], [0, 1]], dtype=np.int32),
        similarities=np.array([1.0, 1 / 3]),
        is_known=np.array([True, False]),
        unmatched_first=np.array([2], dtype=np.int32),
        unmatched_second=np.array([2], dtype=np.int32),
        asking=Asking.FIRST,
        threshold=0.2,
        valid=QUALITY,
        test=QUALITY,
    )


def test_text_has_a_header_and_a_line_for_each_pair(tmp_path: Path) -> None:
    write_alignment(make_alignment(), make_pair("a", "b", "c"), tmp_path / "pairs.tsv")

    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == (
        "first\tsecond\tscore\tknown\nb\tx\t1\ttrue\na\tü y\t0.3333333\tfalse\n"
    )


def test_parquet_holds_the_same_with_types_and_any_name(tmp_path: Path) -> None:
    graph = make_pair("a\tb", "c\nd", "e")
    refuse_unwritable(graph, tmp_path / "pairs.parquet")

    write_alignment(make_alignment(), graph, tmp_path / "pairs.parquet")

    table = parquet.read_table(tmp_path / "pairs.parquet").to_pydict()
    assert table == {
        "first": ["c\nd", "a\tb"],
        "second": ["x", "ü y"],
        "score": [1.0, pytest.approx(1 / 3)],
        "known": [True, False],
    }


def test_who_has_no_partner_is_listed_by_graph(tmp_path: Path) -> None:
    write_unmatched(make_alignment(), make_pair("a", "b", "c"), tmp_path / "alone.tsv")

    assert (tmp_path / "alone.tsv").read_text() == "graph\tentity\nfirst\tc\nsecond\tz\n"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_a_name_that_a_line_cannot_hold_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"tab or a line break.*Write pairs.parquet instead"):
        refuse_unwritable(make_pair("x", name, "y"), tmp_path / "pairs.tsv")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a folder"):
        refuse_unwritable(make_pair("x", "y", "z"), tmp_path / "nowhere" / "pairs.tsv")
