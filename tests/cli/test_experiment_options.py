"""Flags that `train`, `search` and `tune` share."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from interstellar.architecture.notation import read_architecture, to_json
from interstellar.cli.experiment_options import (
    GivenData,
    parse_precision,
    parse_selection,
    read_architecture_option,
    stop_on_sigterm,
)
from interstellar.data.splitting import Split
from interstellar.errors import SettingsError
from interstellar.tasks.training_run import train_run
from interstellar.training.settings import Precision, Selection
from tests.search.small_searches import CPU, SETTINGS, run_search, small_search
from tests.tiny_graphs import ring, write_rows


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)


@pytest.mark.parametrize(
    "text",
    [
        "TransE",
        "[0,2,0,0,0,0,0,0,0,0,0]",
        "O_r = tanh(h + W4 r); v = s ⊗ W6 O_r",
        json.dumps(to_json(read_architecture("RSN")), indent=8),
        "no\0path",
        "",
    ],
)
def test_an_architecture_that_is_no_run_stays_as_it_was_written(text: str) -> None:
    assert read_architecture_option(text) == text


def test_the_run_of_a_training_stands_for_its_architecture(tmp_path: Path) -> None:
    trained = small_search(architecture="RSN").experiment
    train_run(trained, tmp_path / "run", device=CPU)

    found = read_architecture_option(str(tmp_path / "run"))

    assert read_architecture(found) == read_architecture("RSN")


def test_the_run_of_a_search_stands_for_its_best(tmp_path: Path) -> None:
    result = run_search(small_search(), tmp_path / "run", n_trials=3)

    found = read_architecture_option(str(tmp_path / "run"))

    assert read_architecture(found) == read_architecture(str(result["best"]["code"]))


def test_a_search_that_is_not_finished_has_no_best_yet(tmp_path: Path) -> None:
    run_search(small_search(), tmp_path / "run", n_trials=1)
    (tmp_path / "run" / "result.json").unlink()

    with pytest.raises(SettingsError, match=r"not finished\. Go on with --resume"):
        read_architecture_option(str(tmp_path / "run"))


def test_a_folder_with_only_an_experiment_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()

    with pytest.raises(SettingsError, match="is no run: it lacks"):
        read_architecture_option(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "precision"),
    [(None, None), ("auto", Precision.AUTO), ("float32", Precision.FLOAT32)],
)
def test_a_precision_is_read(text: str | None, precision: Precision | None) -> None:
    assert parse_precision(text) == precision


@pytest.mark.parametrize(
    ("text", "selection"),
    [(None, None), ("mrr", Selection.MRR), ("hits@1", Selection.HITS_AT_1)],
)
def test_a_metric_is_read(text: str | None, selection: Selection | None) -> None:
    assert parse_selection(text) == selection


def test_what_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(SettingsError, match=r"--precision 'half' is unknown\. Choose auto"):
        parse_precision("half")
    with pytest.raises(SettingsError, match=r"--select 'loss' is unknown\. Choose hits@1, mrr"):
        parse_selection("loss")


def test_the_experiment_names_the_data_as_it_can_be_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "ring.tsv", ring(40))
    monkeypatch.chdir(tmp_path)

    given = GivenData.load("ring.tsv", None, None, "80/10/10")
    experiment = given.experiment(architecture="TransE", seed=5, settings=SETTINGS)

    assert given.task == "link-prediction"
    assert experiment.data == str(tmp_path / "ring.tsv")
    assert experiment.split == Split(train=0.8, valid=0.1, test=0.1)
    assert (experiment.architecture, experiment.seed) == ("TransE", 5)


def test_sigterm_is_taken_for_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        stop_on_sigterm()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
