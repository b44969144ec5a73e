"""A file of queries becomes a file of answers, in any form; faults are told by line."""

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.tables import TableFormat, write_table
from interstellar.errors import DataError, SettingsError
from interstellar.inference import prediction, query_file
from interstellar.inference.export import export_embeddings
from interstellar.inference.query_file import Faults, NamedQuery, answer_file, read_queries
from tests.data.written_tables import read_table
from tests.inference.named_runs import linked_run
from tests.inference.small_predictors import europe, graph_of, predictor_of

FORWARDS = NamedQuery(1, "france", "neighbor", None)


def read(path: Path) -> tuple[list[NamedQuery], list[tuple[int | None, str]]]:
    faults = Faults(path)
    queries = [query for piece in read_queries(path, faults) for query in piece]
    return queries, [(fault.line, fault.fault) for fault in faults.by_line()]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    ["france\tneighbor", "france\tneighbor\t", "france\tneighbor\t?", "\n\nfrance\tneighbor\n"],
)
def test_objects_are_asked_for_with_two_columns_or_an_empty_third(
    tmp_path: Path, text: str
) -> None:
    [query], faults = read(write(tmp_path / "q.tsv", text))

    assert (query.subject, query.relation, query.object) == ("france", "neighbor", None)
    assert query.line == 1 + text.count("\n\n") * 2
    assert faults == []


@pytest.mark.parametrize("end", ["", "?"])
def test_subjects_are_asked_for_by_an_empty_first_column(tmp_path: Path, end: str) -> None:
    queries, _ = read(write(tmp_path / "q.txt", f"{end}\tlocatedin\teurope\n"))

    assert queries == [NamedQuery(1, None, "locatedin", "europe")]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("?\tr\t", ("?", None)),
        ("?\tr", ("?", None)),
        ("\tr\t?", (None, "?")),
        ("?\tr\tx", (None, "x")),
        ("x\tr\t?", ("x", None)),
        ("x\t?\t", ("x", None)),
    ],
)
def test_an_entity_called_by_the_question_mark_is_asked_about_where_the_other_end_is_empty(
    tmp_path: Path, text: str, ends: tuple[str | None, str | None]
) -> None:
    [query], faults = read(write(tmp_path / "q.tsv", text))

    assert (query.subject, query.object) == ends
    assert faults == []


def test_a_header_says_where_the_columns_are_and_others_are_passed_over(tmp_path: Path) -> None:
    text = "id,relation,object\n7,locatedin,europe\n8,neighbor,spain\n"

    queries, faults = read(write(tmp_path / "q.csv", text))

    assert queries == [
        NamedQuery(2, None, "locatedin", "europe"),
        NamedQuery(3, None, "neighbor", "spain"),
    ]
    assert faults == []


def test_names_in_csv_may_hold_commas_tabs_and_line_breaks(tmp_path: Path) -> None:
    queries, _ = read(write(tmp_path / "q.csv", '"a, b\tc\nd",r\nfrance,neighbor\n'))

    assert queries == [
        NamedQuery(1, "a, b\tc\nd", "r", None),
        NamedQuery(3, "france", "neighbor", None),
    ]


def test_parquet_names_its_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"object": [None, "europe"], "relation": ["r", "q"], "subject": ["a\tb", None]}
    )
    parquet.write_table(table, tmp_path / "q.parquet")

    queries, faults = read(tmp_path / "q.parquet")

    assert queries == [NamedQuery(1, "a\tb", "r", None), NamedQuery(2, None, "q", "europe")]
    assert faults == []


def test_packed_text_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv.gz"
    path.write_bytes(gzip.compress(b"france\tneighbor\n"))

    assert read(path)[0] == [FORWARDS]


def test_lines_with_faults_are_told_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_bytes(
        b"france\tneighbor\nfrance\nfrance\tneighbor\tspain\tx\n?\tneighbor\t?\n"
        b"france\tneighbor\tspain\nfrance\t\t?\nfr\xff\tneighbor\nspain\tneighbor\n"
    )

    queries, faults = read(path)

    assert [query.line for query in queries] == [1, 8]
    assert [line for line, _ in faults] == [2, 3, 4, 5, 6, 7]
    words = ("columns: 1", "columns: 4", "neither", "subject and object", "no relation", "UTF-8")
    assert all(word in fault for word, (_, fault) in zip(words, faults, strict=True))


def test_a_line_that_cannot_be_cut_does_not_stop_the_others(tmp_path: Path) -> None:
    long_name = "x" * 200_000
    text = f'france,neighbor\n"a"b,neighbor\n{long_name},neighbor\nspain,neighbor\n'

    queries, faults = read(write(tmp_path / "q.csv", text))

    assert [query.subject for query in queries] == ["france", long_name, "spain"]
    assert [line for line, _ in faults] == [2]


def test_pieces_are_small_however_long_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.tsv", "france\tneighbor\n" * 25)
    monkeypatch.setattr(query_file, "AT_ONCE", 10)

    pieces = list(read_queries(path, Faults(path)))

    assert [len(piece) for piece in pieces] == [10, 10, 5]


def test_of_many_faults_the_first_are_kept_and_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.tsv", "x\n" * 25)
    monkeypatch.setattr(query_file, "MOST_FAULTS", 3)
    faults = Faults(path)

    list(read_queries(path, faults))

    assert (faults.n, len(faults.kept)) == (25, 3)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.tsv", b"", "holds no queries"),
        ("q.tsv", b"subject\trelation\n", "holds no queries"),
        ("q.nt", b"x", "ends in '.nt'"),
        ("q.parquet", b"x", "is not a Parquet file"),
        ("q.tsv.gz", b"x", "cannot be read"),
    ],
)
def test_a_file_that_asks_nothing_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("q.tsv", 300 * "x"):
        with pytest.raises(DataError, match="does not exist"):
            read(tmp_path / name)
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize(
    "columns", [{"a": ["x"]}, {"subject": [1.5], "relation": ["r"]}], ids=["names", "types"]
)
def test_a_table_without_the_columns_is_refused(
    tmp_path: Path, columns: dict[str, list[object]]
) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "q.parquet")

    with pytest.raises(DataError, match="column"):
        read(tmp_path / "q.parquet")


QUERIES = "france\tneighbor\n\tlocatedin\teurope\nspain\tneighbor\t?\nfrance\tneighbor\n"


def answer(
    tmp_path: Path, out: str, text: str = QUERIES, graph: KnowledgeGraph | None = None
) -> Any:
    queries = tmp_path / "queries.tsv"
    queries.write_text(text, encoding="utf-8")
    graph = graph or europe()
    return answer_file(predictor_of(graph), graph, queries, tmp_path / out, k=2)


def read_answers(path: Path) -> list[dict[str, Any]]:
    """Return the rows with numbers as numbers, whatever the file."""
    rows = read_table(path).to_pylist()
    numbers = ("rank", "score", "probability")
    return [
        {**row, **{name: float(row[name]) for name in numbers}, "known": str(row["known"]).lower()}
        for row in rows
    ]


def test_every_form_holds_the_same_answers(tmp_path: Path) -> None:
    outcomes = [answer(tmp_path, f"a{ending}") for ending in (".tsv", ".csv", ".parquet")]

    tsv, csv, whole = (
        read_answers(tmp_path / f"a{ending}") for ending in (".tsv", ".csv", ".parquet")
    )
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

    at_once, in_pieces = (read_answers(tmp_path / f"{x}.tsv") for x in ("at_once", "in_pieces"))
    assert all(one == pytest.approx(other) for one, other in zip(at_once, in_pieces, strict=True))


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
    with pytest.raises(SettingsError, match=r"'\.json', but tables are written as \.tsv"):
        answer(tmp_path, "a.json")


BREAKS = ("tab\there", "line\nbreak")
ODD = (*BREAKS, "back\\slash", 'a "quoted"', "=1+2", "-x", "🦀", " space ", "?", "\\?")


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".parquet"])
def test_names_that_were_exported_can_be_asked_about(tmp_path: Path, ending: str) -> None:
    names = [name for name in ODD if ending != ".tsv" or name not in BREAKS]
    trained = linked_run(names)
    graph = trained.task.graph
    assert isinstance(graph, KnowledgeGraph)
    vectors, queries, answers = (tmp_path / f"{x}{ending}" for x in ("v", "q", "a"))

    export_embeddings(trained, vectors, table="subjects")
    exported = read_table(vectors)["name"].to_pylist()
    asked = pa.table({"subject": exported, "relation": ["next"] * len(exported)})
    with queries.open("wb") as file:
        write_table(asked, file, TableFormat(ending[1:]))
    outcome = answer_file(predictor_of(graph), graph, queries, answers, k=1)

    assert exported == graph.entities.to_list()
    assert (outcome.n_queries, outcome.n_faults) == (len(names), 0)
    assert read_table(answers)["subject"].to_pylist() == exported


def test_names_with_tabs_and_line_breaks_need_a_format_that_holds_them(tmp_path: Path) -> None:
    graph = graph_of([("a\tb\n", "next", "x"), ("x", "next", "y"), ("y", "next", "z")])

    with pytest.raises(DataError, match=r"holds a tab or a line break.*\.csv or \.parquet"):
        answer(tmp_path, "a.tsv", "z\tnext\n", graph)
    assert not (tmp_path / "a.tsv").exists()
    answer(tmp_path, "a.csv", "z\tnext\n", graph)


def test_a_question_mark_that_is_no_entity_asks_nothing(tmp_path: Path) -> None:
    outcome = answer(tmp_path, "a.tsv", "?\tneighbor\nfrance\tneighbor\n")

    [fault] = outcome.faults
    assert (fault.line, outcome.n_queries) == (1, 1)
    assert "neither subject nor object" in fault.fault


def test_answers_are_replaced_only_if_asked(tmp_path: Path) -> None:
    answer(tmp_path, "a.tsv")
    before = (tmp_path / "a.tsv").read_bytes()

    with pytest.raises(SettingsError, match=r"a\.tsv exists.*`overwrite`"):
        answer(tmp_path, "a.tsv", "france\tneighbor\n")

    assert (tmp_path / "a.tsv").read_bytes() == before


def test_answers_go_into_an_open_file_as_tab_separated_text(tmp_path: Path) -> None:
    graph, queries, file = europe(), tmp_path / "q.tsv", BytesIO()
    queries.write_text(QUERIES)
    answer(tmp_path, "a.tsv")

    answer_file(predictor_of(graph), graph, queries, file, k=2)

    assert file.getvalue() == (tmp_path / "a.tsv").read_bytes()


def test_where_no_query_can_be_answered_nothing_goes_into_an_open_file(tmp_path: Path) -> None:
    queries, file = tmp_path / "q.tsv", BytesIO()
    queries.write_text("frnace\tneighbor\n")

    with pytest.raises(DataError, match="none of the 1 queries"):
        answer_file(predictor_of(europe()), europe(), queries, file, k=2)

    assert file.getvalue() == b""
