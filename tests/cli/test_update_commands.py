"""`update` as a user meets it: results, refusals, a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from interstellar.cli.app import run
from tests.cli.run_command import run_command
from tests.tiny_graphs import write_openke_folder, write_rows

SMALL = ("--dim", 8, "--batch-size", 256)
MORE = [("atlantis", "neighbor", "france"), ("atlantis", "discovered by", "plato")]

SLOW_PROGRAM = """
import sys, time
from interstellar.tasks import training_run
from interstellar.training.step import TrainingStep
from interstellar.cli.app import main

training_run.CHECKPOINT_SECONDS = 0.0
compute = TrainingStep.compute

def compute_slowly(step):
    compute(step)
    print("step", flush=True)
    time.sleep(0.02)

TrainingStep.compute = compute_slowly
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """One thread, so that results are the same to the last bit; signals as before."""
    n_before, handler = torch.get_num_threads(), signal.getsignal(signal.SIGTERM)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)
    signal.signal(signal.SIGTERM, handler)


def train(folder: Path, data: str, architecture: str) -> Path:
    out = folder / "run"
    torch.set_num_threads(1)
    command = ("train", data, "--architecture", architecture, *SMALL, "--epochs", 2, "--out", out)
    assert run([str(argument) for argument in command]) == 0
    return out


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("linked"), "geography-S1", "ComplEx")


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aligned")
    return train(folder, "synthetic-alignment:entities=60", "RSN")


@pytest.fixture
def more(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "more.tsv", MORE)


def test_json_has_the_result_and_what_was_taken_in(
    capfd: pytest.CaptureFixture[str], linked: Path, more: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new"

    done = run_command(capfd, "update", linked, more, "--out", out, "--epochs", 2, "--json").json

    assert done.keys() >= {"metrics", "best_epoch", "epochs", "seconds", "step_ms", "device"}
    assert (done["added"], done["new_entities"], done["new_relations"]) == (2, 2, 1)
    assert done["without_triplets"] == []
    assert done["epochs"] == 2
    assert done["continued_from"]["weights_sha256"] == old_weights(linked)


def old_weights(out: Path) -> object:
    return json.loads((out / "result.json").read_text())["weights_sha256"]


def test_an_updated_run_works_with_every_command_that_takes_a_run(
    capfd: pytest.CaptureFixture[str], linked: Path, more: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    run_command(capfd, "update", linked, more, "--out", new, "--epochs", 1)

    for arguments in (
        ("evaluate", new),
        ("predict", new, "--subject", "atlantis", "--relation", "discovered by", "-k", 3),
        ("export", new, "--out", tmp_path / "vectors.tsv"),
        ("update", new, new_facts(tmp_path), "--epochs", 1, "--out", tmp_path / "newer"),
    ):
        assert run_command(capfd, *arguments, "--json").json
    assert "atlantis" in (tmp_path / "vectors.tsv").read_text()


def new_facts(folder: Path) -> Path:
    return write_rows(folder / "newer.tsv", [("lemuria", "neighbor", "atlantis")])


def test_an_updated_alignment_aligns(
    capfd: pytest.CaptureFixture[str], aligned: Path, more: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    flags = ("--graph", "second", "--epochs", 1, "--json")

    done = run_command(capfd, "update", aligned, more, "--out", new, *flags).json
    pairs = run_command(capfd, "align", new, "--out", tmp_path / "pairs.tsv", "--json").json

    assert done["new_entities"] == 3
    assert pairs["pairs"] > 0


def test_entities_without_triplets_are_named_and_get_no_embedding(
    capfd: pytest.CaptureFixture[str], linked: Path, tmp_path: Path
) -> None:
    folder = write_openke_folder(tmp_path / "more")
    (folder / "entity2id.txt").write_text("4\nann\t0\nbob\t1\ncid\t2\nnobody\t3\n")
    new = tmp_path / "new"

    done = run_command(capfd, "update", linked, folder, "--out", new, "--epochs", 1, "--json")
    shown = run_command(capfd, "update", linked, folder, "--out", new, "--epochs", 1, "--resume")

    assert done.json["without_triplets"] == ["nobody"]
    assert 'no triplet names "nobody"' in shown.err
    assert "2 of valid and test are left out" in done.err
    names = (new / "names" / "entities.jsonl").read_text()
    assert '"ann"' in names
    assert '"nobody"' not in names


def test_a_killed_update_resumes_to_the_same_weights(
    capfd: pytest.CaptureFixture[str], linked: Path, more: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 3, "--json")
    whole = run_command(capfd, "update", linked, more, "--out", tmp_path / "whole", *flags).json
    new = tmp_path / "new"
    command = ["update", linked, more, "--out", new, *flags]
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_PROGRAM, *map(str, command)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.communicate()

    resumed = run_command(capfd, *command, "--resume").json

    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["metrics"] == whole["metrics"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "known.tsv"),
        ([("a", "r"), ("b",)], "1 more"),
        ([("france", "neighbor", "spain")], "holds nothing new: 1 of its triplets are known"),
    ],
)
def test_facts_that_cannot_be_used_are_refused_and_nothing_is_written(
    capfd: pytest.CaptureFixture[str],
    linked: Path,
    tmp_path: Path,
    rows: list[tuple[str, ...]],
    words: str,
) -> None:
    file = write_rows(tmp_path / "known.tsv", rows)

    done = run_command(capfd, "update", linked, file, "--out", tmp_path / "new")

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not (tmp_path / "new").exists()


def test_flags_that_do_not_fit_the_run_are_refused(
    capfd: pytest.CaptureFixture[str], linked: Path, aligned: Path, more: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "new")

    for run_folder, flags, words in (
        (linked, ("--graph", "first"), "link prediction, which has one graph"),
        (linked, ("--pairs", more), "link prediction, which has one graph"),
        (aligned, ("--graph", "third"), "graph 'third' is unknown. Choose first or second"),
        (aligned, ("--pairs", tmp_path / "no.tsv"), "no.tsv: does not exist"),
        (linked, ("--epochs", 0), "max_epochs is 0"),
        (tmp_path, (), "is no run"),
    ):
        done = run_command(capfd, "update", run_folder, more, *out, *flags)

        assert done.code == 2, flags
        assert words in done.err, flags
    assert not (tmp_path / "new").exists()


def test_an_existing_folder_and_other_facts_are_refused(
    capfd: pytest.CaptureFixture[str], linked: Path, more: Path, tmp_path: Path
) -> None:
    command = ("update", linked, more, "--out", tmp_path / "new", "--epochs", 1)
    assert run_command(capfd, *command).code == 0

    existing = run_command(capfd, *command)
    write_rows(more, [("mu", "neighbor", "france")])
    other = run_command(capfd, *command, "--resume")

    assert (existing.code, other.code) == (2, 2)
    assert "exists, and a run never overwrites another" in existing.err
    assert "another experiment" in other.err


def test_a_search_is_refused(capfd: pytest.CaptureFixture[str], more: Path, tmp_path: Path) -> None:
    found = tmp_path / "search"
    flags = ("--strategy", "random", "--trials", 1, "--dim", 4, "--epochs", 1)
    assert run_command(capfd, "search", "geography-S1", "--out", found, *flags).code == 0

    done = run_command(capfd, "update", found, more, "--out", tmp_path / "new")

    assert done.code == 2
    assert "is the run of a search" in done.err
