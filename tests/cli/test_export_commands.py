"""`interstellar export`."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.named_pipe import listening, needs_pipes
from tests.cli.run_command import assert_refused, make_run, run_command

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = ("train", "synthetic:entities=60", "--architecture", "TransE", "--device", "cpu")
    return make_run(tmp_path_factory.mktemp("runs") / "run", *command, "--dim", 8, "--epochs", 1)


def test_export_writes_what_it_says(capfd: Capture, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.parquet"

    said = run_command(capfd, "export", trained, "--out", out, "--json").json

    table = pq.read_table(out)
    assert said["path"] == str(out)
    assert said["dim"] == 8
    assert said["rows"] == len(table) == 2 * said["entities"] + 2 * said["relations"]
    assert said["tables"] == ["subjects", "objects", "relations"]


def test_one_table_can_be_chosen_and_a_person_is_told(
    capfd: Capture, trained: Path, tmp_path: Path
) -> None:
    out = tmp_path / "relations"

    said = run_command(
        capfd, "export", trained, "--out", out, "--table", "relations", "--format", "word2vec"
    )

    assert said.code == 0
    n, dim = out.read_text(encoding="utf-8").splitlines()[0].split()
    assert said.out == f"{n} vectors of {dim} numbers (relations) were written to {out}.\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--out", "v.npz"], ", or give --format: parquet"),
        (["--out", "v.tsv", "--table", "cells"], "Choose subjects, objects, relations or all"),
        (["--out", "v.tsv", "--format", "json"], "--format 'json' is unknown. Choose parquet"),
    ],
)
def test_faults_of_the_user_write_nothing(
    capfd: Capture,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, "export", trained, *flags)

    assert_refused(outcome, words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_said(capfd: Capture, trained: Path, tmp_path: Path) -> None:
    outcome = run_command(capfd, "export", trained, "--out", tmp_path / "no" / "where.tsv")

    assert outcome.code == 1
    assert "is not a folder" in outcome.err


def test_the_old_name_of_the_format_works_and_that_is_said(
    capfd: Capture, trained: Path, tmp_path: Path
) -> None:
    said = run_command(capfd, "export", trained, "--out", tmp_path / "v", "--form", "tsv", "--json")

    assert said.json["format"] == "tsv"
    assert "--form is now --format" in said.err


def test_a_file_that_exists_is_replaced_only_if_asked(
    capfd: Capture, trained: Path, tmp_path: Path
) -> None:
    out = tmp_path / "v.tsv"
    out.write_text("mine")

    refused = run_command(capfd, "export", trained, "--out", out)
    assert (refused.code, out.read_text()) == (2, "mine")
    assert "--overwrite" in refused.err
    assert run_command(capfd, "export", trained, "--out", out, "--overwrite").code == 0
    assert out.read_text() != "mine"


@needs_pipes
def test_a_pipe_is_written_into(capfd: Capture, trained: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"

    with listening(pipe) as heard:
        said = run_command(capfd, "export", trained, "--out", pipe, "--format", "tsv")

    assert said.code == 0
    assert pipe.is_fifo()
    assert heard[0].startswith(b"name\tkind\t")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="standard output has no name here")
def test_standard_output_by_name_is_written_into(
    capfd: Capture, trained: Path, tmp_path: Path
) -> None:
    link = tmp_path / "out"  # were a link replaced, this one could be spared
    link.symlink_to("/dev/stdout")

    said = run_command(capfd, "export", trained, "--out", link, "--format", "tsv")

    assert said.code == 0
    assert said.out.startswith("name\tkind\t")
    assert link.is_symlink()


def test_what_is_no_run_is_refused(capfd: Capture, tmp_path: Path) -> None:
    outcome = run_command(capfd, "export", tmp_path, "--out", tmp_path / "v.tsv")

    assert outcome.code == 2
    assert "is no run" in outcome.err
