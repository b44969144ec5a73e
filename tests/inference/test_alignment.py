"""An alignment as a file: what is written can be read, by name."""

from pathlib import Path

import numpy as np
import pytest

from interstellar.data.graph import Graph, GraphPair
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, InterstellarError, SettingsError
from interstellar.evaluation.matching import Quality
from interstellar.inference.alignment import Alignment
from interstellar.inference.whole_alignment import AlignmentSettings, Asking, WholeAlignment
from tests.data.written_tables import read_table

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
        name="p", source=first, target=second, train=NO_PAIRS, valid=NO_PAIRS, test=NO_PAIRS
    )


def make_alignment(*names: str) -> Alignment:
    whole = WholeAlignment(
        pairs=np.array([[1, 0], [0, 1]], dtype=np.int32),
        similarities=np.array([1.0, 1 / 3]),
        is_known=np.array([True, False]),
        unmatched_first=np.array([2], dtype=np.int32),
        unmatched_second=np.array([2], dtype=np.int32),
        asking=Asking.SOURCE,
        threshold=0.2,
        valid=QUALITY,
        test=QUALITY,
    )
    return Alignment(graph=make_pair(*names), whole=whole, settings=AlignmentSettings())


def test_text_has_a_header_and_a_line_for_each_pair(tmp_path: Path) -> None:
    make_alignment("a", "b", "c").save(tmp_path / "pairs.tsv")

    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == (
        "first\tsecond\tscore\tknown\nb\tx\t1\ttrue\na\tü y\t0.33333334\tfalse\n"
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_parquet_and_csv_hold_the_same_with_any_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs{ending}"

    make_alignment("a\tb", "c\nd", "e").save(path)

    table = read_table(path).to_pydict()
    assert (table["first"], table["second"]) == (["c\nd", "a\tb"], ["x", "ü y"])
    assert [float(score) for score in table["score"]] == [1.0, pytest.approx(1 / 3)]
    assert [str(known).lower() for known in table["known"]] == ["true", "false"]


def test_who_has_no_partner_is_listed_by_graph(tmp_path: Path) -> None:
    make_alignment("a", "b", "c").save(tmp_path / "pairs.tsv", unmatched=tmp_path / "alone.tsv")

    assert (tmp_path / "alone.tsv").read_text() == "graph\tentity\nfirst\tc\nsecond\tz\n"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_a_name_that_a_line_cannot_hold_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"tab or a line break.*Write \.csv or \.parquet"):
        make_alignment("x", name, "y").save(tmp_path / "pairs.tsv")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InterstellarError, match="is not a folder"):
        make_alignment("x", "y", "z").save(tmp_path / "nowhere" / "pairs.tsv")


def test_a_file_that_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("mine")

    with pytest.raises(SettingsError, match=r"pairs\.tsv exists.*`overwrite`"):
        make_alignment("a", "b", "c").save(path)
    assert path.read_text() == "mine"
    make_alignment("a", "b", "c").save(path, overwrite=True)
    assert path.read_text().startswith("first\t")


def test_pairs_are_read_by_name_and_side_and_by_the_old_names_with_a_warning() -> None:
    pair = make_alignment("a", "b", "c").pairs[1]

    assert (pair.source, pair.target, pair.is_known) == ("a", "ü y", False)
    with pytest.warns(DeprecationWarning, match="first is now called source"):
        assert pair.first == "a"
    with pytest.warns(DeprecationWarning, match="second is now called target"):
        assert pair.second == "ü y"


def test_an_alignment_prints_in_one_line() -> None:
    assert repr(make_alignment("a", "b", "c")) == (
        "<Alignment of p: 2 pairs, 1 of them given; unmatched: 1 of the source, 1 of the target>"
    )
