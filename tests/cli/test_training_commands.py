"""`train`, `evaluate` and `update` as a user meets them: results, refusals, kills, full disks."""

import json
import re
import signal
from pathlib import Path

import pytest
import torch

from tests.cli.run_command import assert_refused, make_run, run_command
from tests.cli.started_programs import start, start_slow
from tests.runs.small_runs import copy_run
from tests.tiny_graphs import write_openke_folder, write_rows

SMALL = ("--dim", 16, "--batch-size", 256, "--epochs", 4, "--dropout", 0.2)
GEOGRAPHY = ("train", "geography-S1", "--architecture", "ComplEx", *SMALL)
MORE = [("atlantis", "neighbor", "france"), ("atlantis", "discovered by", "plato")]
ALIGNMENT = ("train", "synthetic-alignment:entities=60", "--architecture", "RSN", *SMALL)

FULL_DISK_PROGRAM = """
import resource, signal, sys
from interstellar.runs import training_run
from interstellar.cli.app import main

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
training_run.CHECKPOINT_SECONDS = 0.0
save = training_run.save_checkpoint

def save_with_little_room(folder, checkpoint):
    if checkpoint.epoch == 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    return save(folder, checkpoint)

training_run.save_checkpoint = save_with_little_room
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    return make_run(tmp_path_factory.mktemp("finished") / "run", *GEOGRAPHY)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an alignment."""
    return make_run(tmp_path_factory.mktemp("aligned") / "run", *ALIGNMENT)


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """New triplets with two new entities and a new relation."""
    return write_rows(tmp_path / "more.tsv", MORE)


def disturb(arguments: list[object], sent: signal.Signals, *, n_steps: int) -> tuple[int, str]:
    """Send a signal after some steps of training; return exit code and what was said."""
    process = start_slow(n_steps + 1, *arguments)  # one is tried out before the first epoch
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def weights_of(out: Path) -> bytes:
    return (out / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("command", [GEOGRAPHY, ALIGNMENT], ids=["geography", "alignment"])
def test_evaluating_a_run_gives_the_metrics_it_was_trained_to(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[object, ...]
) -> None:
    trained = run_command(capfd, *command, "--out", tmp_path / "run", "--json").json
    evaluated = {
        split: run_command(capfd, "evaluate", tmp_path / "run", "--split", split, "--json").json
        for split in ("valid", "test")
    }

    assert set(trained) >= {"metrics", "best_epoch", "epochs", "seconds", "step_ms", "device"}
    assert {split: found["metrics"] for split, found in evaluated.items()} == trained["metrics"]
    assert (trained["epochs"], trained["device"]) == (4, "cpu")


def test_without_json_a_person_reads_epochs_and_metrics(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, *GEOGRAPHY, "--out", tmp_path / "run")

    assert outcome.code == 0
    assert "epoch 4: loss" in outcome.err
    assert re.search(r"^time +\d+\.\d s, [\d.]+ ms a step$", outcome.out, re.MULTILINE)
    assert re.search(r"^test +mrr 0\.\d{3}, .*auc_pr 0\.\d{3}$", outcome.out, re.MULTILINE)


def test_alignment_is_evaluated_with_any_decoding_and_candidates(
    capfd: pytest.CaptureFixture[str], aligned: Path
) -> None:
    found = {
        (decode, candidates): run_command(
            capfd, "evaluate", aligned, "--decode", decode, "--candidates", candidates, "--json"
        ).json["metrics"]["mean_rank"]
        for decode in ("cosine", "csls", "sinkhorn")
        for candidates in ("reference", "all")
    }

    assert len(set(found.values())) == 6
    assert found["cosine", "reference"] <= found["cosine", "all"]


def test_one_to_one_decodings_report_hits_alone_and_all_decodings_stand_side_by_side(
    capfd: pytest.CaptureFixture[str], aligned: Path
) -> None:
    stable = run_command(capfd, "evaluate", aligned, "--decode", "stable", "--json").json
    every = run_command(capfd, "evaluate", aligned, "--decode", "all", "--json").json["decodings"]
    table = run_command(capfd, "evaluate", aligned, "--decode", "all")

    assert stable["metrics"] == every["stable"]["reference"]
    assert set(stable["metrics"]) == {"hits@1", "n"}
    assert set(every) == {"cosine", "csls", "sinkhorn", "hungarian", "stable"}
    assert all(set(found) == {"reference", "all"} for found in every.values())
    assert len(table.out.splitlines()) == 11


def test_a_finished_run_resumed_gives_the_same_result(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    first = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume", "--json")
    second = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume", "--json")

    assert first.json == second.json
    assert "epoch" not in first.err


def test_a_finished_run_is_trained_on_for_more_epochs_as_if_it_had_been_asked_for(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    out = copy_run(finished, tmp_path)
    longer = (*GEOGRAPHY, "--epochs", 6)

    prolonged = run_command(capfd, *longer, "--out", out, "--resume", "--json")
    whole = run_command(capfd, *longer, "--out", tmp_path / "whole", "--json")

    assert "epoch 4:" not in prolonged.err
    assert prolonged.json["epochs"] == whole.json["epochs"] == 6
    assert weights_of(out) == weights_of(tmp_path / "whole")


@pytest.mark.parametrize("n_steps", [4, 60])
def test_a_run_killed_in_mid_epoch_and_resumed_is_the_run_that_was_not(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, n_steps: int
) -> None:
    out = tmp_path / "run"
    code, _ = disturb([*GEOGRAPHY, "--out", out], signal.SIGKILL, n_steps=n_steps)

    resumed = run_command(capfd, *GEOGRAPHY, "--out", out, "--resume")

    assert code == -signal.SIGKILL
    assert resumed.code == 0
    assert weights_of(out) == weights_of(finished)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_exits_130_with_its_state_saved(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, sent: signal.Signals
) -> None:
    out = tmp_path / "run"
    code, err = disturb([*GEOGRAPHY, "--out", out], sent, n_steps=41)
    n_checkpoints = len(list((out / "checkpoints").iterdir()))

    resumed = run_command(capfd, *GEOGRAPHY, "--out", out, "--resume")

    assert code == 130
    assert "error: interrupted" in err
    assert "Traceback" not in err
    assert n_checkpoints > 0
    assert "epoch 1:" not in resumed.err
    assert weights_of(out) == weights_of(finished)


def test_a_full_disk_leaves_the_checkpoint_before_and_no_traceback(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    """A limit on the size of files stands for a disk without room."""
    out = tmp_path / "run"
    process = start(FULL_DISK_PROGRAM, *GEOGRAPHY, "--out", out)
    _, err = process.communicate(timeout=120)
    kept = sorted(path.name for path in (out / "checkpoints").iterdir())

    resumed = run_command(capfd, *GEOGRAPHY, "--out", out, "--resume")

    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(f"error: {out / 'checkpoints'}")
    assert "Traceback" not in err
    assert kept == ["epoch-000001.safetensors", "epoch-000002.safetensors"]
    assert resumed.code == 0
    assert weights_of(out) == weights_of(finished)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "geography-S1"], "no architecture was given"),
        ([*GEOGRAPHY, "--preset", "best"], "preset 'best' is unknown"),
        (["train", "geography-S1", "--preset", "paper"], "geography-S1"),
        (["train", "geography-S1", "--architecture", "TransX"], "'TransX'"),
        (["train", "nowhere.tsv", "--architecture", "TransE"], "nowhere.tsv"),
        ([*GEOGRAPHY, "--dim", "7"], "dim is 7"),
        ([*GEOGRAPHY, "--epochs", "0"], "max_epochs is 0"),
        ([*GEOGRAPHY, "--dropout", "1"], "dropout is 1.0"),
        ([*GEOGRAPHY, "--learning-rate", "nan"], "learning_rate is nan"),
        ([*GEOGRAPHY, "--precision", "half"], "precision 'half' is unknown"),
        ([*GEOGRAPHY, "--negatives", "0"], "n_negatives is 0"),
        ([*GEOGRAPHY, "--seed", "-1"], "seed is -1"),
        ([*GEOGRAPHY, "--settings", "no.toml"], "no.toml"),
    ],
)
def test_a_fault_of_the_user_exits_2_in_one_line_and_makes_no_folder(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, *arguments, "--out", "run")

    assert_refused(outcome, words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    training = run_command(capfd, *GEOGRAPHY, "--out", tmp_path / "run", "--device", "cuda")
    evaluating = run_command(capfd, "evaluate", finished, "--device", "cuda")

    assert (training.code, evaluating.code) == (2, 2)
    assert "CUDA devices here" in training.err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_exists_is_never_trained_into(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    outcome = run_command(capfd, *GEOGRAPHY, "--out", finished)

    assert outcome.code == 2
    assert "exists, and a run never overwrites another." in outcome.err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--dim", 18], "dim = 16"),
        (["--seed", 1], "seed = 0"),
        (["--architecture", "TransE"], "architecture"),
    ],
)
def test_resuming_with_something_else_is_refused_with_the_difference(
    capfd: pytest.CaptureFixture[str], finished: Path, changes: list[object], words: str
) -> None:
    outcome = run_command(capfd, *GEOGRAPHY, *changes, "--out", finished, "--resume")

    assert outcome.code == 2
    assert words in outcome.err


def test_resuming_with_another_set_is_refused_with_the_difference(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    other = ("train", "geography-S2", *GEOGRAPHY[2:])

    outcome = run_command(capfd, *other, "--out", finished, "--resume")

    assert outcome.code == 2
    assert "geography-S1" in outcome.err
    assert "geography-S2" in outcome.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--split", "train"], "split 'train' is unknown. Choose valid or test"),
        (["--decode", "best"], "decode 'best' is unknown. Choose cosine, csls, sinkhorn"),
        (["--candidates", "some"], "candidates 'some' is unknown"),
        (["--decode", "csls"], "Leave them out"),
        (["--decode", "stable"], "Leave them out"),
        (["--decode", "all"], "which has one graph"),
    ],
)
def test_evaluating_in_a_way_that_does_not_exist_is_refused(
    capfd: pytest.CaptureFixture[str], finished: Path, flags: list[str], words: str
) -> None:
    outcome = run_command(capfd, "evaluate", finished, *flags)

    assert outcome.code == 2
    assert words in outcome.err


def test_evaluating_what_is_no_run_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nowhere = run_command(capfd, "evaluate", tmp_path / "nowhere")
    empty = run_command(capfd, "evaluate", tmp_path)

    assert (nowhere.code, empty.code) == (2, 2)
    assert "is no run" in empty.err


def test_evaluating_an_unfinished_run_is_refused_with_advice(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    out = copy_run(finished, tmp_path)
    (out / "result.json").unlink()

    outcome = run_command(capfd, "evaluate", out)

    assert outcome.code == 2
    assert "has not finished training. Resume it" in outcome.err


@pytest.mark.parametrize("place", [100, 9, -3, None], ids=["cut", "header", "number", "gone"])
def test_a_weights_file_that_was_cut_or_altered_is_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path, place: int | None
) -> None:
    weights = copy_run(finished, tmp_path) / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    weights.unlink()
    if place is not None:
        content[place] ^= 1
        weights.write_bytes(content[:100] if place == 100 else content)

    outcome = run_command(capfd, "evaluate", weights.parent)

    assert outcome.code == 2
    assert str(weights) in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_run_whose_names_were_altered_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    names = copy_run(finished, tmp_path) / "names" / "relations.jsonl"
    names.write_text(names.read_text().replace("neighbor", "adjacent"))

    outcome = run_command(capfd, "evaluate", tmp_path / "run")

    assert outcome.code == 2
    assert "its hash is another" in outcome.err


def test_an_experiment_that_names_another_architecture_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, finished: Path
) -> None:
    experiment = copy_run(finished, tmp_path) / "experiment.toml"
    lines = experiment.read_text().splitlines()
    altered = ['architecture = "DistMult"' if "architecture" in line else line for line in lines]
    experiment.write_text("\n".join(altered) + "\n")

    outcome = run_command(capfd, "evaluate", tmp_path / "run")

    assert outcome.code == 2
    assert "names the architecture DistMult, but" in outcome.err


def test_a_finished_run_is_not_the_result_of_other_data(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graph = tmp_path / "g.tsv"
    command = ("train", graph, "--architecture", "TransE", "--epochs", 1, "--dim", 4)
    for step in (1, 7):
        graph.write_text("".join(f"e{i}\tr\te{(i + step) % 40}\n" for i in range(40)))
        flags = () if step == 1 else ("--resume",)
        outcome = run_command(capfd, *command, "--out", tmp_path / "run", *flags)

    assert outcome.code == 2
    assert "was begun with other data: graph_sha256" in outcome.err


def test_an_update_says_its_result_and_what_was_taken_in(
    capfd: pytest.CaptureFixture[str], finished: Path, more: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new"

    done = run_command(capfd, "update", finished, more, "--out", out, "--epochs", 2, "--json").json

    assert done.keys() >= {"metrics", "best_epoch", "epochs", "seconds", "step_ms", "device"}
    assert (done["added"], done["new_entities"], done["new_relations"]) == (2, 2, 1)
    assert done["without_triplets"] == []
    assert done["epochs"] == 2
    assert done["continued_from"]["weights_sha256"] == old_weights(finished)


def old_weights(out: Path) -> object:
    return json.loads((out / "result.json").read_text())["weights_sha256"]


def test_an_updated_run_works_with_every_command_that_takes_a_run(
    capfd: pytest.CaptureFixture[str], finished: Path, more: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    run_command(capfd, "update", finished, more, "--out", new, "--epochs", 1)

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
    capfd: pytest.CaptureFixture[str], finished: Path, tmp_path: Path
) -> None:
    folder = write_openke_folder(tmp_path / "more")
    (folder / "entity2id.txt").write_text("4\nann\t0\nbob\t1\ncid\t2\nnobody\t3\n")
    new = tmp_path / "new"

    done = run_command(capfd, "update", finished, folder, "--out", new, "--epochs", 1, "--json")
    shown = run_command(capfd, "update", finished, folder, "--out", new, "--epochs", 1, "--resume")

    assert done.json["without_triplets"] == ["nobody"]
    assert 'no triplet names "nobody"' in shown.err
    assert "2 of valid and test are left out" in done.err
    names = (new / "names" / "entities.jsonl").read_text()
    assert '"ann"' in names
    assert '"nobody"' not in names


def test_a_killed_update_resumes_to_the_same_weights(
    capfd: pytest.CaptureFixture[str], finished: Path, more: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 3, "--json")
    whole = run_command(capfd, "update", finished, more, "--out", tmp_path / "whole", *flags).json
    new = tmp_path / "new"
    command: list[object] = ["update", finished, more, "--out", new, *flags]
    disturb(command, signal.SIGKILL, n_steps=20)

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
    finished: Path,
    tmp_path: Path,
    rows: list[tuple[str, ...]],
    words: str,
) -> None:
    file = write_rows(tmp_path / "known.tsv", rows)

    done = run_command(capfd, "update", finished, file, "--out", tmp_path / "new")

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not (tmp_path / "new").exists()


def test_flags_of_update_that_do_not_fit_the_run_are_refused(
    capfd: pytest.CaptureFixture[str], finished: Path, aligned: Path, more: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "new")

    for run_folder, flags, words in (
        (finished, ("--graph", "first"), "link prediction, which has one graph"),
        (finished, ("--pairs", more), "link prediction, which has one graph"),
        (aligned, ("--graph", "third"), "graph 'third' is unknown. Choose first or second"),
        (aligned, ("--pairs", tmp_path / "no.tsv"), "no.tsv: does not exist"),
        (finished, ("--epochs", 0), "max_epochs is 0"),
        (tmp_path, (), "is no run"),
    ):
        done = run_command(capfd, "update", run_folder, more, *out, *flags)

        assert done.code == 2, flags
        assert words in done.err, flags
    assert not (tmp_path / "new").exists()


def test_an_update_into_an_existing_folder_or_with_other_facts_is_refused(
    capfd: pytest.CaptureFixture[str], finished: Path, more: Path, tmp_path: Path
) -> None:
    command = ("update", finished, more, "--out", tmp_path / "new", "--epochs", 1)
    assert run_command(capfd, *command).code == 0

    existing = run_command(capfd, *command)
    write_rows(more, [("mu", "neighbor", "france")])
    other = run_command(capfd, *command, "--resume")

    assert (existing.code, other.code) == (2, 2)
    assert "exists, and a run never overwrites another" in existing.err
    assert "was begun otherwise: it has `graph_sha256" in other.err


def test_a_search_cannot_be_updated(
    capfd: pytest.CaptureFixture[str], more: Path, tmp_path: Path
) -> None:
    found = tmp_path / "search"
    flags = ("--strategy", "random", "--trials", 1, "--dim", 4, "--epochs", 1)
    assert run_command(capfd, "search", "geography-S1", "--out", found, *flags).code == 0

    done = run_command(capfd, "update", found, more, "--out", tmp_path / "new")

    assert done.code == 2
    assert "is the run of a search" in done.err
