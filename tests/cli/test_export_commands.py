"""`interstellar export`."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.run_command import run_command

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from interstellar.cli.app import run

    out = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["train", "synthetic:entities=60", "--architecture", "TransE", "--dim", "8"]
    assert run([*arguments, "--epochs", "1", "--device", "cpu", "--out", str(out), "--json"]) == 0
    return out


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
        capfd, "export", trained, "--out", out, "--table", "relations", "--form", "word2vec"
    )

    assert said.code == 0
    n, dim = out.read_text(encoding="utf-8").splitlines()[0].split()
    assert said.out == f"{n} vectors of {dim} numbers (relations) were written to {out}.\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--out", "v.npz"], "which is no form of embeddings"),
        (["--out", "v.tsv", "--table", "cells"], "Choose subjects, objects, relations or all"),
        (["--out", "v.tsv", "--form", "csv"], "form 'csv' is unknown"),
        (["--out", "no/where.tsv"], "is not a folder"),
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

    assert outcome.code == 2
    assert words in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_refused(capfd: Capture, tmp_path: Path) -> None:
    outcome = run_command(capfd, "export", tmp_path, "--out", tmp_path / "v.tsv")

    assert outcome.code == 2
    assert "is no run" in outcome.err
