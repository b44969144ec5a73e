"""The life of a run: found again, made longer, and never gone on with as something else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import interstellar
from interstellar.data.graph import AnyGraph
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import graph_sha256
from interstellar.runs.run import Result
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import load_data, train_run
from tests.runs.small_runs import (
    CHANGED_RINGS,
    CPU,
    GRAPH,
    PAIR,
    Stop,
    checkpoints_in,
    copy_run,
    damage,
    events_of,
    files_of,
    lasting,
    resume,
    save_nothing,
    small_experiment,
    stop_training,
    train,
    weights_of,
)
from tests.tiny_graphs import ring, write_rows


def test_a_finished_run_gives_its_result_without_training(
    wholes: dict[str, tuple[Path, Result]],
) -> None:
    out, result = wholes[GRAPH]
    stop = Stop(1, AssertionError("it was trained again"))

    assert train_run(small_experiment(), out, device=CPU, resume=True, observer=stop) == result


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights_sha256", None),
        ("metrics", None),
        ("metrics", {"valid": "good", "test": None}),
        ("best_epoch", None),
        ("seconds", "x"),
        ("step_ms", [1]),
    ],
)
def test_an_altered_result_is_not_given_for_that_of_a_finished_run(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], name: str, value: object
) -> None:
    out, result = wholes[GRAPH]
    run = RunFolder.open(Path(shutil.copytree(out, tmp_path / "run")))
    run.write_result(result | {name: value})

    with pytest.raises(DataError, match=r"result\.json does not say .* Take it from a copy"):
        resume(run.path)


def test_resuming_where_there_is_nothing_begins_a_run(tmp_path: Path) -> None:
    resume(tmp_path / "run", max_epochs=1)

    assert (tmp_path / "run" / "result.json").is_file()


def test_a_folder_that_exists_is_refused_without_resuming(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"exists.* by `resume`"):
        train(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (small_experiment(dim=10), "dim = 8"),
        (small_experiment(seed=4), "seed = 3"),
        (small_experiment(max_epochs=3), "max_epochs = 4"),
        (small_experiment(max_epochs=5, dim=10), "dim = 8"),
        (small_experiment(architecture="TransE"), "architecture = "),
        (small_experiment("synthetic:entities=41"), "entities=40"),
    ],
)
def test_resuming_with_something_else_is_refused_with_the_difference(
    finished: Path, other: Experiment, words: str
) -> None:
    before = files_of(finished)

    with pytest.raises(SettingsError, match="was begun otherwise") as refusal:
        train_run(other, finished, device=CPU, resume=True)

    assert words in str(refusal.value)
    assert files_of(finished) == before


def test_an_architecture_may_be_resumed_under_another_name(
    wholes: dict[str, tuple[Path, Result]],
) -> None:
    out, result = wholes[GRAPH]
    by_code = small_experiment(architecture="[0,2,12,0,0,0,0,0,0,0,0]")

    assert train_run(by_code, out, device=CPU, resume=True) == result


def test_resuming_on_another_device_is_refused(wholes: dict[str, tuple[Path, Result]]) -> None:
    with pytest.raises(SettingsError, match="begun on cpu, and this is meta"):
        train_run(small_experiment(), wholes[GRAPH][0], device=torch.device("meta"), resume=True)


@pytest.mark.parametrize(("rows", "words"), CHANGED_RINGS)
def test_resuming_with_data_that_changed_is_refused_with_the_difference(
    tmp_path: Path, rows: list[tuple[str, str, str]], words: str
) -> None:
    file = write_rows(tmp_path / "ring.tsv", ring(40))
    stop_training(tmp_path / "run", 1, str(file))
    write_rows(file, rows)

    with pytest.raises(SettingsError, match="other data") as refusal:
        resume(tmp_path / "run", str(file))

    assert words in str(refusal.value)


@pytest.mark.parametrize("data", [GRAPH, PAIR])
def test_a_prolonged_run_is_the_run_that_was_so_long_from_the_start(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], data: str
) -> None:
    whole = train(tmp_path / "whole", data, max_epochs=6)
    out = copy_run(wholes[data][0], tmp_path)

    prolonged = resume(out, data, max_epochs=6)

    assert weights_of(out) == weights_of(tmp_path / "whole")
    assert lasting(prolonged) == lasting(whole)
    assert files_of(out).keys() == files_of(tmp_path / "whole").keys()
    assert read_experiment(out / "experiment.toml") == read_experiment(
        tmp_path / "whole" / "experiment.toml"
    )
    assert open_run(out, CPU).experiment.settings.max_epochs == 6


@pytest.mark.parametrize("n_steps", [1, 18])
def test_prolonging_that_is_killed_goes_on(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, n_steps: int
) -> None:
    whole = train(tmp_path / "whole", max_epochs=6)
    longer = small_experiment(max_epochs=6)
    with monkeypatch.context() as patch:
        save_nothing(patch)
        with pytest.raises(KeyboardInterrupt):
            train_run(longer, finished, device=CPU, resume=True, observer=Stop(n_steps))
    with pytest.raises(SettingsError, match="has not finished training"):
        open_run(finished, CPU)

    assert lasting(resume(finished, max_epochs=6)) == lasting(whole)
    assert weights_of(finished) == weights_of(tmp_path / "whole")


KILLED = """
import sys, time
from pathlib import Path
from tests.runs.small_runs import CPU, Stop, small_experiment, train_run

class Slow(Stop):
    def on_step(self, n_done, n_steps):
        print("step", flush=True)
        time.sleep(0.02)

asked = small_experiment(max_epochs=7)
train_run(asked, Path(sys.argv[1]), device=CPU, resume=True, observer=Slow(0))
"""


def test_kill_9_in_the_middle_of_prolonging_loses_nothing(tmp_path: Path, finished: Path) -> None:
    whole = train(tmp_path / "whole", max_epochs=7)
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, finished], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    for _ in range(18):
        process.stdout.readline()
    process.kill()
    process.communicate()
    assert not (finished / "result.json").exists()

    assert lasting(resume(finished, max_epochs=7)) == lasting(whole)
    assert weights_of(finished) == weights_of(tmp_path / "whole")
    assert "stopped" not in events_of(finished)  # it had no time to say so


@pytest.mark.parametrize("max_epochs", [4, 6])
def test_a_kill_at_the_very_start_of_prolonging_leaves_both_ways_open(
    tmp_path: Path, finished: Path, max_epochs: int
) -> None:
    whole = train(tmp_path / "whole", max_epochs=max_epochs)
    (finished / "result.json").unlink()  # it goes first, and then the experiment is replaced

    assert lasting(resume(finished, max_epochs=max_epochs)) == lasting(whole)
    assert weights_of(finished) == weights_of(tmp_path / "whole")


def test_checkpoints_that_a_kill_left_behind_do_not_stand_for_the_last_state(
    tmp_path: Path, finished: Path
) -> None:
    stop_training(tmp_path / "stopped", 30)
    [old] = checkpoints_in(tmp_path / "stopped")
    shutil.copy(old, finished / "checkpoints")

    resume(finished, max_epochs=6)

    events = RunFolder.open(finished).read_events()
    assert [event["epoch"] for event in events if event["event"] == "epoch"] == [1, 2, 3, 4, 5, 6]
    assert checkpoints_in(finished) == []


def test_a_run_that_was_stopped_can_be_made_longer(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", max_epochs=6)
    stop_training(tmp_path / "run", 30)

    assert lasting(resume(tmp_path / "run", max_epochs=6)) == lasting(whole)


@pytest.mark.parametrize("is_missing", [True, False])
def test_prolonging_without_the_last_state_is_refused_and_destroys_nothing(
    finished: Path, is_missing: bool
) -> None:
    state = finished / "state.safetensors"
    if is_missing:
        state.unlink()  # as version 0.1 left it
    else:
        damage(state, is_cut=True)
    before = files_of(finished)

    refusal = pytest.raises(
        SettingsError if is_missing else DataError,
        match=r"has no state\.safetensors.*Train anew" if is_missing else r"state\.safetensors",
    )
    with refusal:
        resume(finished, max_epochs=6)

    assert files_of(finished) == before
    assert open_run(finished, CPU).experiment.settings.max_epochs == 4


def test_a_run_that_stopped_early_ends_where_it_did_however_long_it_may_be(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"patience": 1, "learning_rate": 1e-12}
    short = train(tmp_path / "run", **asked, max_epochs=20)

    longer = resume(tmp_path / "run", **asked, max_epochs=25)

    assert 2 < short["epochs"] < 20  # the patience is longer, because the validation is small
    assert lasting(longer) == lasting(short)


def train_graph(graph: AnyGraph, out: Path, *, resume: bool = False) -> Experiment:
    """Train on a graph that the user loaded, and return what the run says it was."""
    interstellar.train(
        graph, "TransE", dim=4, epochs=1, out=out, resume=resume, device="cpu", progress=False
    )
    return read_experiment(out / "experiment.toml")


def test_a_run_says_the_split_that_its_graph_was_loaded_with_and_reads_it_again(
    tmp_path: Path,
) -> None:
    file = write_rows(tmp_path / "ring.tsv", [*ring(40), *ring(40, relation="again")])
    graph = interstellar.load(file, split="80/10/10", seed=7)

    said = train_graph(graph, tmp_path / "run")

    assert (str(said.split), said.split_seed) == ("80/10/10", 7)
    assert graph_sha256(load_data(said)) == graph_sha256(graph)
    assert graph_sha256(graph) != graph_sha256(interstellar.load(file))


def test_a_run_says_the_columns_and_labels_that_its_graph_was_read_with(tmp_path: Path) -> None:
    rows = [(o, s, r) for s, r, o in [*ring(40), *ring(40, relation="again")]]
    file = write_rows(tmp_path / "ring.tsv", [("to", "from", "type"), *rows])
    graph = interstellar.load(file, columns=["from", "type", "to"])
    name = "<http://www.w3.org/2000/01/rdf-schema#label>"
    rdf = [f"<x:e{i}> <x:next> <x:e{(i + 1) % 40}> ." for i in range(40)]
    rdf += [f"<x:e{i}> <x:again> <x:e{(i + 2) % 40}> ." for i in range(40)]
    rdf += [f'<x:e{i}> {name} "entity {i}" .' for i in range(40)]
    (tmp_path / "ring.nt").write_text("\n".join(rdf) + "\n")
    labelled = interstellar.load(tmp_path / "ring.nt", labels=True)

    by_column = train_graph(graph, tmp_path / "columns")
    by_label = train_graph(labelled, tmp_path / "labels")

    assert by_column.columns == ("from", "type", "to")
    assert graph_sha256(load_data(by_column)) == graph_sha256(graph)
    assert by_label.labels
    assert graph_sha256(load_data(by_label)) == graph_sha256(labelled)


@pytest.mark.parametrize("is_pair", [True, False])
def test_a_run_from_before_default_splits_were_said_can_be_resumed(
    tmp_path: Path, is_pair: bool
) -> None:
    file = write_rows(tmp_path / "a.tsv", [*ring(40), *ring(40, relation="again")])
    others: dict[str, Any] = {}
    if is_pair:
        others["second"] = write_rows(tmp_path / "b.tsv", ring(40, prefix="f"))
        pairs = [(f"e{i}", f"f{i}") for i in range(40)]
        others["pairs"] = write_rows(tmp_path / "p.tsv", pairs)
    train_graph(interstellar.load(file, **others), tmp_path / "run")
    text = (tmp_path / "run" / "experiment.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("split =")]
    (tmp_path / "run" / "experiment.toml").write_text("\n".join(lines) + "\n")
    assert len(lines) == len(text.splitlines()) - 1

    train_graph(interstellar.load(file, **others), tmp_path / "run", resume=True)

    with pytest.raises(SettingsError, match=r"split = \[0\.6"):
        train_graph(
            interstellar.load(file, split="60/20/20", **others), tmp_path / "run", resume=True
        )


def test_shares_that_are_no_numbers_are_refused_before_there_is_a_run(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "ring.tsv", ring(40))

    with pytest.raises(SettingsError, match="is not three numbers"):
        train_graph(interstellar.load(file, split="nan/1/1"), tmp_path / "run")

    assert not (tmp_path / "run").exists()
