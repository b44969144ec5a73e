"""`predict` as a user meets it: answers, reasons, files of queries, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest

from interstellar.cli import prediction_commands
from tests.cli.run_command import assert_refused, make_run, run_command

SMALL = ("--dim", 8, "--batch-size", 256, "--epochs", 3)
TAB_NAME, LONG_NAME = "a\tb\nc", "long" * 2500


def train(out: Path, *arguments: object) -> Path:
    return make_run(out, "train", *arguments, *SMALL)


@pytest.fixture(scope="module")
def geography(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    return train(out, "geography-S2", "--architecture", "PTransE-add")


@pytest.fixture(scope="module")
def alignment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    return train(out, "synthetic-alignment:entities=60", "--architecture", "RSN")


@pytest.fixture(scope="module")
def odd_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a graph whose names hold tabs and line breaks, or differ by case alone."""
    folder = tmp_path_factory.mktemp("odd")
    names = [TAB_NAME, LONG_NAME, "Ann", "ann", "Ré", "Re\u0301", *(f"x{i}" for i in range(30))]
    rows = zip(names, [*names[1:], names[0]], strict=True)
    lines = (",".join(f'"{name}"' for name in (s, "next", o)) + "\n" for s, o in rows)
    (folder / "graph.csv").write_text("".join(lines), encoding="utf-8")
    return train(folder / "run", folder / "graph.csv", "--architecture", "ComplEx")


def test_the_folder_of_a_search_is_refused_with_what_to_do(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = tmp_path / "found"
    done = run_command(
        capfd, "search", "--trials", "1", "--epochs", "1", "--dim", "4", "--out", found
    )
    assert done.code == 0

    outcome = run_command(capfd, "predict", found, "--subject", "france", "--relation", "neighbor")

    assert outcome.code == 2
    assert "is the run of a search" in outcome.err
    assert "train with this run as the architecture" in outcome.err


def test_missing_objects_are_answered_by_name(
    capfd: pytest.CaptureFixture[str], geography: Path
) -> None:
    asked = ("predict", geography, "--subject", "france", "--relation", "neighbor", "-k", 5)

    found = run_command(capfd, *asked, "--json").json["answers"]

    assert [answer["rank"] for answer in found] == [1, 2, 3, 4, 5]
    scores = [answer["score"] for answer in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < answer["probability"] < 1 and not answer["known"] for answer in found)
    assert "spain" not in [answer["entity"] for answer in found]


def test_known_answers_are_shown_when_asked_for(
    capfd: pytest.CaptureFixture[str], geography: Path
) -> None:
    asked = ("predict", geography, "--subject", "france", "--relation", "neighbor", "-k", 1000)

    found = run_command(capfd, *asked, "--with-known", "--json").json["answers"]

    known = {answer["entity"] for answer in found if answer["known"]}
    assert "spain" in known
    assert "france" not in known
    assert all((answer["probability"] is None) == answer["known"] for answer in found)
    assert sum(answer["probability"] or 0 for answer in found) == pytest.approx(1, abs=1e-4)


def test_missing_subjects_are_asked_for_by_the_object(
    capfd: pytest.CaptureFixture[str], geography: Path
) -> None:
    asked = ("predict", geography, "--object", "europe", "--relation", "locatedin", "-k", 3)

    found = run_command(capfd, *asked, "--json").json

    assert len(found["answers"]) == 3
    assert "france" not in [answer["entity"] for answer in found["answers"]]
    assert found["query"] == {"subject": None, "relation": "locatedin", "object": "europe"}


def test_reasons_are_paths_in_words(capfd: pytest.CaptureFixture[str], geography: Path) -> None:
    asked = ("predict", geography, "--subject", "armenia", "--relation", "locatedin", "--explain")

    told = run_command(capfd, *asked, "--with-known", "-k", 200)
    found = run_command(capfd, *asked, "--with-known", "-k", 200, "--json").json

    assert "paths that lead to it" in told.out
    [asia] = [answer for answer in found["answers"] if answer["entity"] == "asia"]
    assert found["reads_path"] is True
    assert asia["all_paths_found"] is True
    assert asia["n_paths"] == len(asia["paths"])
    assert "armenia –neighbor→ azerbaijan –locatedin→ asia" in [p["path"] for p in asia["paths"]]
    assert asia["paths"][0]["path"] in told.out
    supports = [path["support"] for path in asia["paths"]]
    assert max(supports) == pytest.approx(supports[0], abs=1e-5)


def test_a_person_reads_a_table(capfd: pytest.CaptureFixture[str], geography: Path) -> None:
    asked = ("predict", geography, "--subject", "france", "--relation", "neighbor", "-k", 2)

    outcome = run_command(capfd, *asked)

    lines = outcome.out.splitlines()
    assert lines[0].split() == ["rank", "entity", "logit", "probability"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]


def test_a_file_of_queries_is_answered_and_its_faults_listed(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text("france\tneighbor\nfrnace\tneighbor\n\tlocatedin\teurope\nx\n")
    asked = ("predict", geography, "--queries", queries, "--out", out, "-k", 3)

    told = run_command(capfd, *asked, "--verbose")
    found = run_command(capfd, *asked, "--overwrite", "--json").json

    assert told.code == 0
    assert "reading q.tsv: 52 bytes in " in told.err
    assert f"left out: {queries}:2: " in told.err
    assert (found["queries"], found["answers"], found["n_faults"]) == (2, 6, 2)
    assert [fault["line"] for fault in found["faults"]] == [2, 4]
    assert '"france"' in found["faults"][0]["fault"]
    lines = out.read_text().splitlines()
    assert lines[0] == "subject\trelation\tobject\trank\tscore\tprobability\tknown"
    assert len(lines) == 7


def test_lines_with_one_fault_are_folded_and_do_not_hide_another(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries = tmp_path / "q.tsv"
    queries.write_text("france\tneighbor\n" + "x\n" * 50 + "france\t\t?\n")

    told = run_command(capfd, "predict", geography, "--queries", queries, "-k", 1)

    assert f"left out: {queries}: and 47 more like it" in told.err
    assert f"left out: {queries}:52: names no relation." in told.err
    assert told.err.count("left out: ") == 5


def test_of_faults_of_many_kinds_the_first_are_told_and_all_counted(
    capfd: pytest.CaptureFixture[str],
    geography: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = tmp_path / "q.tsv"
    queries.write_text("france\tneighbor\nx\nfrance\t\t?\n")
    monkeypatch.setattr(prediction_commands, "N_FAULTS_SHOWN", 1)

    told = run_command(capfd, "predict", geography, "--queries", queries, "-k", 1)

    assert told.err.count(f"left out: {queries}") == 1
    assert "left out: 2 lines in all (--json lists the first thousand)." in told.err


def test_without_a_file_to_write_the_answers_are_printed(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text("france\tneighbor\nfrnace\tneighbor\n")
    asked = ("predict", geography, "--queries", queries, "-k", 3)

    printed = run_command(capfd, *asked)
    run_command(capfd, *asked, "--out", out)

    assert printed.code == 0
    assert printed.out == out.read_text()
    assert f"left out: {queries}:2: " in printed.err
    assert "1 queries answered, 1 left out" in printed.err


def test_a_file_that_exists_is_replaced_only_if_asked(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text("france\tneighbor\n")
    out.write_text("mine")

    outcome = run_command(capfd, "predict", geography, "--queries", queries, "--out", out)

    assert_refused(outcome, f"{out} exists", "--overwrite")
    assert out.read_text() == "mine"


def test_a_file_gives_the_answers_of_single_queries(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text("france\tneighbor\n?\tlocatedin\teurope\n")
    run_command(capfd, "predict", geography, "--queries", queries, "--out", out, "-k", 3)

    one = run_command(
        capfd,
        "predict",
        geography,
        "--subject",
        "france",
        "--relation",
        "neighbor",
        "-k",
        3,
        "--json",
    ).json["answers"]

    rows = [line.split("\t") for line in out.read_text().splitlines()[1:4]]
    assert [row[2] for row in rows] == [answer["entity"] for answer in one]
    assert [float(row[5]) for row in rows] == pytest.approx(
        [a["probability"] for a in one], rel=1e-4
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--subject", "frnace", "--relation", "neighbor"), ('"frnace"', 'Did you mean "france"')),
        (("--subject", "France", "--relation", "neighbor"), ('"france" is', "kept apart")),
        (("--subject", "france", "--relation", "neighbour"), ("relation", '"neighbor"')),
        (("--subject", "x" * 10_000, "--relation", "neighbor"), ("is not an entity",)),
        (("--subject", "a\nb\tc", "--relation", "neighbor"), (r"a\nb\tc", "is not an entity")),
        (("--subject", "", "--relation", "neighbor"), ('"" is not an entity',)),
        (("--subject", "france"), ("--relation",)),
        (("--relation", "neighbor"), ("--subject", "--object")),
        (
            ("--subject", "france", "--object", "spain", "--relation", "neighbor"),
            ("one of the two",),
        ),
        (("--subject", "france", "--relation", "neighbor", "--out", "a.tsv"), ("Leave it out",)),
        (("--subject", "fr\udcffance", "--relation", "neighbor"), ("half a character",)),
        (("--queries", "no.tsv", "--out", "a.tsv"), ("no.tsv does not exist",)),
        (("--queries", "q.tsv", "--out", "a.tsv", "--explain"), ("--explain",)),
        (("--subject", "france", "--relation", "neighbor", "-k", 0), ("-k",)),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    capfd: pytest.CaptureFixture[str],
    geography: Path,
    arguments: tuple[object, ...],
    words: tuple[str, ...],
) -> None:
    assert_refused(run_command(capfd, "predict", geography, *arguments), *words)


def test_answers_are_not_printed_into_the_json_object(
    capfd: pytest.CaptureFixture[str], geography: Path
) -> None:
    outcome = run_command(capfd, "predict", geography, "--queries", "q.tsv", "--json")

    assert outcome.code == 2
    assert "Give --out FILE" in outcome.err
    assert "Give --out FILE" in json.loads(outcome.out)["error"]


def test_an_empty_file_of_queries_is_refused(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    queries = tmp_path / "q.tsv"
    queries.touch()

    outcome = run_command(
        capfd, "predict", geography, "--queries", queries, "--out", tmp_path / "a.tsv"
    )

    assert_refused(outcome, f"{queries} holds no queries")
    assert not (tmp_path / "a.tsv").exists()


def test_a_run_that_never_finished_says_what_to_do(
    capfd: pytest.CaptureFixture[str], geography: Path, tmp_path: Path
) -> None:
    unfinished = tmp_path / "run"
    shutil.copytree(geography, unfinished)
    (unfinished / "result.json").unlink()

    outcome = run_command(
        capfd, "predict", unfinished, "--subject", "france", "--relation", "neighbor"
    )

    assert_refused(outcome, "has not finished training", "Resume it")


def test_an_alignment_is_refused(capfd: pytest.CaptureFixture[str], alignment: Path) -> None:
    outcome = run_command(capfd, "predict", alignment, "--subject", "a", "--relation", "b")

    assert_refused(outcome, "entity alignment", "interstellar align")


def test_calibration_of_an_alignment_is_refused(
    capfd: pytest.CaptureFixture[str], alignment: Path
) -> None:
    assert_refused(run_command(capfd, "evaluate", alignment, "--calibration"), "entity alignment")
    drawn = run_command(capfd, "evaluate", alignment, "--negatives", 50)
    assert_refused(drawn, "negatives", "entity alignment")
    every = run_command(capfd, "evaluate", alignment, "--decode", "all", "--negatives", 50)
    assert_refused(every, "decode", "negatives")


def test_evaluate_shows_how_reliable_probabilities_are(
    capfd: pytest.CaptureFixture[str], geography: Path
) -> None:
    found = run_command(capfd, "evaluate", geography, "--calibration", "--json").json
    told = run_command(capfd, "evaluate", geography, "--calibration")
    plain = run_command(capfd, "evaluate", geography, "--json").json

    measured = found["calibration"]
    assert set(measured) >= {"temperature", "ece", "ece_uncalibrated", "bins"}
    assert sum(row["n"] for row in measured["bins"]) == found["metrics"]["n"]
    assert "temperature" in told.out
    assert "calibration" not in plain


@pytest.mark.parametrize("name", [TAB_NAME, LONG_NAME])
def test_odd_names_can_be_asked_for_and_are_shown_in_one_line(
    capfd: pytest.CaptureFixture[str], odd_names: Path, name: str
) -> None:
    asked = ("predict", odd_names, "--subject", name, "--relation", "next", "-k", 100)

    found = run_command(capfd, *asked, "--with-known", "--json").json["answers"]
    told = run_command(capfd, *asked, "--with-known", "--explain")

    assert name in [answer["entity"] for answer in found]
    assert told.code == 0
    assert max(map(len, told.out.splitlines())) < 400
    assert "\t" not in told.out


@pytest.mark.parametrize(
    ("name", "other"), [("Ann", '"ann"'), ("Ré", r'"Re\u0301"'), ("Re\u0301", r'"R\u00e9"')]
)
def test_names_that_differ_by_case_or_form_are_kept_apart_and_that_is_said(
    capfd: pytest.CaptureFixture[str], odd_names: Path, name: str, other: str
) -> None:
    asked = ("predict", odd_names, "--subject", name, "--relation", "next", "--json")

    outcome = run_command(capfd, *asked)

    assert json.loads(outcome.out)["query"]["subject"] == name
    assert outcome.err.startswith("note: ")
    assert other in outcome.err
