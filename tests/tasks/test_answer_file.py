"""A file of queries becomes a file of answers, the same in every form."""

from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from pyarrow import parquet

from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import DataError, SettingsError
from interstellar.tasks import prediction, query_file
from interstellar.tasks.answer_file import answer_file
from tests.tasks.small_predictors import europe, graph_of, predictor_of

QUERIES = "france\tneighbor\n\tlocatedin\teurope\nspain\tneighbor\t?\nfrance\tneighbor\n"


def answer(
    tmp_path: Path, out: str, text: str = QUERIES, graph: KnowledgeGraph | None = None
) -> Any:
    queries = tmp_path / "queries.tsv"
    queries.write_text(text, encoding="utf-8")
    graph = graph or europe()
    return answer_file(predictor_of(graph), graph, queries, tmp_path / out, k=2)


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        return list(table.to_pylist())
    options = pyarrow.csv.ParseOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
    return list(pyarrow.csv.read_csv(path, parse_options=options).to_pylist())


def test_every_form_holds_the_same_answers(tmp_path: Path) -> None:
    outcomes = [answer(tmp_path, f"a{ending}") for ending in (".tsv", ".csv", ".parquet")]

    tsv, csv, whole = (read(tmp_path / f"a{ending}") for ending in (".tsv", ".csv", ".parquet"))
    assert [(o.n_queries, o.n_answers, o.n_faults) for o in outcomes] == [(4, 8, 0)] * 3
    assert [row["rank"] for row in whole] == [1, 2] * 4
    assert [(row["subject"], row["relation"]) for row in whole[:2]] == [("france", "neighbor")] * 2
    assert [(row["relation"], row["object"]) for row in whole[2:4]] == [("locatedin", "europe")] * 2
    assert whole[:2] == whole[6:]
    for text in (tsv, csv):
        for row, expected in zip(text, whole, strict=True):
            assert row == pytest.approx(expected)


def test_small_pieces_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(tmp_path, "at_once.tsv", QUERIES * 10)

    monkeypatch.setattr(query_file, "AT_ONCE", 7)
    monkeypatch.setattr(prediction, "GROUP_SIZE", 3)
    answer(tmp_path, "in_pieces.tsv", QUERIES * 10)

    for one, other in zip(
        read(tmp_path / "at_once.tsv"), read(tmp_path / "in_pieces.tsv"), strict=True
    ):
        assert one == pytest.approx(other)


def test_unknown_names_are_faults_with_spellings_and_the_others_are_answered(
    tmp_path: Path,
) -> None:
    outcome = answer(tmp_path, "a.tsv", "frnace\tneighbor\nfrance\tneighbour\nfrance\tneighbor\n")

    assert (outcome.n_queries, outcome.n_faults) == (1, 2)
    first, second = outcome.faults
    assert (first.line, second.line) == (1, 2)
    assert 'Did you mean "france"' in first.fault
    assert 'is not a relation of this graph. Did you mean "neighbor"' in second.fault


def test_where_no_query_can_be_answered_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the 1 queries can be answered, first .*:1: "):
        answer(tmp_path, "a.tsv", "frnace\tneighbor\n")

    assert [path.name for path in tmp_path.iterdir()] == ["queries.tsv"]


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"'\.json', but answers are written as \.tsv"):
        answer(tmp_path, "a.json")


def test_names_with_tabs_and_line_breaks_need_a_form_that_holds_them(tmp_path: Path) -> None:
    odd = 'a\tb\n"c"'
    graph = graph_of([(odd, "next", "x"), ("x", "next", "y"), ("y", "next", "z")])

    with pytest.raises(SettingsError, match=r"holds a tab or a line break.*a.csv or .parquet"):
        answer(tmp_path, "a.tsv", "z\tnext\n", graph)
    answer(tmp_path, "a.csv", "z\tnext\n", graph)
    answer(tmp_path, "a.parquet", "z\tnext\n", graph)

    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    csv = pyarrow.csv.read_csv(tmp_path / "a.csv", parse_options=options).to_pylist()
    assert [row["object"] for row in csv] == [row["object"] for row in read(tmp_path / "a.parquet")]
