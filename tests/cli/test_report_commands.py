"""`interstellar report` and `interstellar compare`."""

from pathlib import Path

import pytest

from tests.cli.run_command import assert_refused, run_command
from tests.imported_modules import list_imported
from tests.reporting.written_runs import KEPT, SEARCHES, write_training

Capture = pytest.CaptureFixture[str]


def test_a_report_is_written_and_its_path_said(capfd: Capture, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "page.md"

    said = run_command(
        capfd, "report", KEPT / "searched", KEPT / "trained", "--out", page, "--json"
    )
    told = run_command(capfd, "report", KEPT / "searched", "--out", table)

    assert said.json == {"path": str(page), "runs": 2}
    assert told.out == f"The report is in {table}.\n"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert table.read_text(encoding="utf-8").startswith("# Report on searched")


def test_ranks_are_asked_for_on_a_device(capfd: Capture, tmp_path: Path) -> None:
    flags = ("--ranks", "--device", "cpu", "--out", tmp_path / "page.md")

    said = run_command(capfd, "report", KEPT / "trained", *flags)

    assert said.code == 0
    assert "By kind of relation" in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "nowhere", "--out", "page.html"], "nowhere does not exist"),
        (["report", str(KEPT), "--out", "page.html"], "is no run: it lacks experiment.toml"),
        (
            ["report", str(KEPT / "trained"), "--out", "p", "--format", "pdf"],
            "Choose html, md or tensorboard",
        ),
        (["report", str(KEPT / "trained")], "--out"),
        (["report", "--out", "page.html"], "RUN"),
        (["compare", "nowhere"], "nowhere does not exist"),
    ],
)
def test_faults_of_the_user_write_nothing(
    capfd: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, *arguments)

    assert_refused(outcome, words)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_exists_is_replaced_only_if_asked(capfd: Capture, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")

    refused = run_command(capfd, "report", KEPT / "trained", "--out", page)
    assert (refused.code, page.read_text()) == (2, "mine")
    assert "--overwrite" in refused.err
    assert run_command(capfd, "report", KEPT / "trained", "--out", page, "--overwrite").code == 0


def test_a_place_that_is_not_there_is_said(capfd: Capture, tmp_path: Path) -> None:
    outcome = run_command(capfd, "report", KEPT / "trained", "--out", tmp_path / "no" / "page.html")

    assert outcome.code == 1
    assert "is not a folder" in outcome.err


def test_few_runs_stand_beside_each_other_and_many_below(capfd: Capture, tmp_path: Path) -> None:
    runs = [write_training(tmp_path / f"run-{i}", [0.5], test=0.5, seed=i) for i in range(3)]
    searches = [path.parent for path in sorted(SEARCHES.glob("*/journal.jsonl"))]

    beside = run_command(capfd, "compare", *runs, KEPT / "trained").out.splitlines()
    below = run_command(capfd, "compare", *searches, *runs).out.splitlines()

    assert beside[0].split()[:2] == ["runs", "run-0,"]
    assert "seconds" in {line.split()[0] for line in beside}
    assert below[0].split()[:2] == ["runs", "kind"]
    assert len(below) == 1 + len(searches) + 1


def test_a_comparison_is_one_object_for_programs(capfd: Capture, tmp_path: Path) -> None:
    runs = [write_training(tmp_path / str(i), [0.5], test=0.25 * i, seed=i) for i in (1, 2)]

    found = run_command(capfd, "compare", *runs, "--json").json

    [group] = found["groups"]
    assert (found["runs"], group["seeds"]) == (2, [1, 2])
    assert group["metrics"]["test"]["mrr"] == {"mean": 0.375, "error": 0.125, "n": 2}


def test_neither_needs_torch(tmp_path: Path) -> None:
    run, page = str(KEPT / "searched"), str(tmp_path / "page.html")
    code = (
        "from interstellar.cli.app import run;"
        f"assert run(['report', {run!r}, '--out', {page!r}]) == run(['compare', {run!r}]) == 0"
    )

    assert list_imported(code, "torch") == []
