"""`align` as a user meets it: files, numbers, refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from interstellar.data.graph import GraphPair
from interstellar.evaluation.matching import Quality
from interstellar.inference import iterated_alignment
from interstellar.inference.iterated_alignment import Proposal
from interstellar.records.json_files import write_json
from interstellar.records.run_folder import RunFolder
from interstellar.runs.kept_graph import load_graph
from tests.cli.named_pipe import listening, needs_pipes
from tests.cli.run_command import assert_refused, make_run, run_command
from tests.runs.small_runs import copy_run

SMALL = ("--architecture", "RSN", "--dim", 16, "--batch-size", 256, "--epochs", 6)
N = 80
NO_PAIRS = np.empty((0, 2), dtype=np.int32)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "aligned"
    return make_run(out, "train", f"synthetic-alignment:entities={N}", *SMALL)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "linked"
    return make_run(out, "train", "synthetic:entities=40", *SMALL)


def read_pairs(path: Path) -> list[list[str]]:
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    assert header == "first\tsecond\tscore\tknown"
    return [line.split("\t") for line in lines]


def test_the_file_holds_the_pairs_that_the_json_counts(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.tsv"

    found = run_command(capfd, "align", aligned, "--out", out, "--json").json

    rows = read_pairs(out)
    assert len(rows) == found["pairs"]
    assert sum(row[3] == "true" for row in rows) == found["known"] == round(0.3 * N)
    assert found["pairs"] + found["unmatched"] == N
    assert (found["path"], found["decode"]) == (str(out), "sinkhorn")
    assert set(found["valid"]) == {"precision", "recall", "f1", "n"}
    lowest = found["threshold"] * (1 - 1e-6)  # a file has seven digits
    assert all(float(row[2]) >= lowest for row in rows if row[3] == "false")


@pytest.mark.parametrize("decode", ["cosine", "csls", "sinkhorn", "hungarian", "stable"])
def test_one_to_one_gives_nobody_two_partners(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path, decode: str
) -> None:
    out, alone = tmp_path / "pairs.tsv", tmp_path / "alone.tsv"
    flags = ("--one-to-one", "--decode", decode, "--threshold", "none", "--unmatched", alone)

    found = run_command(capfd, "align", aligned, "--out", out, *flags, "--json").json

    rows = read_pairs(out)
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == found["pairs"] == N
    assert (found["unmatched"], found["threshold"]) == (0, None)
    assert alone.read_text() == "graph\tentity\n"


def test_lists_can_be_written_as_parquet(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.parquet"
    flags = ("--top-k", 5, "--threshold", "none", "--decode", "csls", "--direction", "target")

    found = run_command(capfd, "align", aligned, "--out", out, *flags, "--json").json

    table = parquet.read_table(out)
    n_known = round(0.3 * N)
    assert table.num_rows == found["pairs"] == n_known + 5 * (N - n_known)


def test_the_old_names_of_the_sides_work_and_that_is_said(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    flags = ("--direction", "second", "--json")

    said = run_command(capfd, "align", aligned, "--out", tmp_path / "p.csv", *flags)

    assert said.json["direction"] == "target"
    assert "--direction second is now --direction target" in said.err


def test_files_that_exist_are_replaced_only_if_asked_and_before_anything_is_computed(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.tsv"
    alone.write_text("mine")
    command = ("align", aligned, "--out", tmp_path / "p.tsv", "--unmatched", alone)

    refused = run_command(capfd, *command)
    assert (refused.code, alone.read_text()) == (2, "mine")
    assert f"{alone} exists" in refused.err
    assert "--overwrite" in refused.err
    assert not (tmp_path / "p.tsv").exists()
    assert run_command(capfd, *command, "--overwrite").code == 0
    assert alone.read_text() != "mine"


@needs_pipes
def test_pipes_are_written_into_and_links_keep_naming_their_file(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    pipe, link, target = (tmp_path / name for name in ("pairs", "alone", "far.tsv"))
    link.symlink_to(target)

    with listening(pipe) as heard:
        said = run_command(capfd, "align", aligned, "--out", pipe, "--unmatched", link)

    assert said.code == 0
    assert pipe.is_fifo()
    assert heard[0].startswith(b"first\tsecond\tscore\tknown\n")
    assert link.is_symlink()
    assert target.read_text().startswith("graph\tentity\n")


def test_a_person_reads_how_many_pairs_there_are(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    outcome = run_command(
        capfd, "align", aligned, "--out", tmp_path / "p.tsv", "--direction", "both"
    )

    assert outcome.code == 0
    assert "unmatched" in outcome.out
    assert "valid  precision" in outcome.out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--decode", "best"], "decode 'best' is unknown"),
        (["--direction", "up"], "direction 'up' is unknown. Choose source, target or both"),
        (["--threshold", "high"], "threshold 'high' is neither auto, none nor a number"),
        (["--threshold", "nan"], "threshold 'nan' is neither auto, none nor a number"),
        (["--threshold", "inf"], "threshold 'inf' is neither auto, none nor a number"),
        (["--unmatched", "pairs.tsv"], "Choose two names"),
        (["--top-k", "0"], "--top-k is 0"),
        (["--top-k", "2", "--one-to-one"], "Choose --top-k or --one-to-one"),
        (["--top-k", "2", "--decode", "hungarian"], "Leave --top-k out"),
        (["--iterate", "0"], "--iterate"),
        (["--epochs", "3"], "Give --iterate too"),
        (["--iterate", "1", "--epochs", "0"], "--epochs"),
    ],
)
def test_flags_that_cannot_work_exit_2_in_one_line_and_write_nothing(
    capfd: pytest.CaptureFixture[str],
    aligned: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, "align", aligned, "--out", "pairs.tsv", *flags)

    assert_refused(outcome, words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_said_before_anything_is_computed(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "nowhere" / "alone.tsv"

    outcome = run_command(
        capfd, "align", aligned, "--out", tmp_path / "pairs.tsv", "--unmatched", alone
    )

    assert outcome.code == 1
    assert f"{alone.parent} is not a folder" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_one_graph_cannot_be_aligned(
    capfd: pytest.CaptureFixture[str], linked: Path, tmp_path: Path
) -> None:
    outcome = run_command(capfd, "align", linked, "--out", tmp_path / "pairs.tsv")

    assert outcome.code == 2
    assert "trained on two graphs" in outcome.err
    assert "ask this one for predictions" in outcome.err


def test_an_unfinished_run_is_refused_with_advice(
    capfd: pytest.CaptureFixture[str], aligned: Path, tmp_path: Path
) -> None:
    result = aligned / "result.json"
    content = result.read_bytes()
    result.unlink()

    outcome = run_command(capfd, "align", aligned, "--out", tmp_path / "pairs.tsv")
    result.write_bytes(content)

    assert outcome.code == 2
    assert "has not finished training. Resume it" in outcome.err


@pytest.fixture
def well_aligned(aligned: Path, tmp_path: Path) -> Path:
    return copy_run(aligned, tmp_path)


def test_rounds_train_on_and_leave_only_given_pairs_known(
    capfd: pytest.CaptureFixture[str],
    well_aligned: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "pairs.tsv"
    monkeypatch.setattr(iterated_alignment, "propose_seeds", propose_test_pairs)
    command = ("align", well_aligned, "--out", out, "--iterate", 2, "--epochs", 1)

    outcome = run_command(capfd, *command, "--json")
    again = run_command(capfd, *command, "--overwrite", "--json")

    found = outcome.json
    assert [(r["round"], r["proposed"]) for r in found["rounds"]] == [(0, 0), (1, 5)]
    assert set(found["rounds"][1]) >= {"right_on_valid", "valid", "seconds", "threshold"}
    assert found["stopped"] == "no new pair was found"
    assert "stopped after round 1: no new pair was found" in outcome.err
    assert "epoch 1: " in outcome.err
    assert found["known"] == sum(row[3] == "true" for row in read_pairs(out)) == round(0.3 * N)
    assert again.json == found
    assert "epoch 1: " not in again.err


def propose_test_pairs(graph: GraphPair, *_: object, **_others: object) -> Proposal:
    """Propose five pairs, whatever the network says: it has learnt next to nothing."""
    valid = Quality.of(n_right=1, n_given=1, n_true=1)
    return Proposal(pairs=graph.test[:5], threshold=0.5, valid=valid)


def test_an_approximate_alignment_says_that_it_is_one(
    capfd: pytest.CaptureFixture[str], well_aligned: Path, tmp_path: Path
) -> None:
    pytest.importorskip("usearch")
    flags = ("--decode", "csls", "--approximate", "--json")

    outcome = run_command(capfd, "align", well_aligned, "--out", tmp_path / "pairs.tsv", *flags)
    refused = run_command(capfd, "align", well_aligned, "--out", tmp_path / "p.tsv", *flags[2:])

    assert json.loads(outcome.out)["approximate"] is True
    assert refused.code == 2
    assert "only the nearest by cosine or csls" in refused.err


def test_a_run_without_sure_pairs_is_aligned_as_it_is(
    capfd: pytest.CaptureFixture[str],
    well_aligned: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = replace(propose_test_pairs(graph_of(well_aligned)), pairs=NO_PAIRS)
    monkeypatch.setattr(iterated_alignment, "propose_seeds", lambda *_, **__: nothing)
    plain, iterated = tmp_path / "plain.tsv", tmp_path / "iterated.tsv"

    run_command(capfd, "align", well_aligned, "--out", plain)
    outcome = run_command(capfd, "align", well_aligned, "--out", iterated, "--iterate", 2)

    assert outcome.code == 0
    assert "best_round  0" in outcome.out
    assert iterated.read_text() == plain.read_text()


def test_rounds_with_other_epochs_are_refused_in_one_line(
    capfd: pytest.CaptureFixture[str], well_aligned: Path, tmp_path: Path
) -> None:
    command = ("align", well_aligned, "--out", tmp_path / "pairs.tsv", "--iterate", 1)
    folder = well_aligned / "iterations"
    folder.mkdir()
    settings = {"epochs": 7, "decoding": "csls", "least_precision": 0.9}
    write_json(folder / "settings.json", settings, kind="iteration settings", version=1)

    outcome = run_command(capfd, *command, "--epochs", 2)

    assert outcome.code == 2
    assert "begun with epochs = 7, and now 2 is asked for" in outcome.err
    assert not (tmp_path / "pairs.tsv").exists()


def graph_of(path: Path) -> GraphPair:
    graph = load_graph(RunFolder.open(path))
    assert isinstance(graph, GraphPair)
    return graph
