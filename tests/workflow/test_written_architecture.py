"""Architectures as users write them; a folder stands for what was trained or found in it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from interstellar.architecture.notation import read_architecture, to_json
from interstellar.errors import SettingsError
from interstellar.tasks.training_run import train_run
from interstellar.workflow.written_architecture import read_written
from tests.searching.small_searches import CPU, run_search, small_search


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
    assert read_written(text) == text


def test_the_run_of_a_training_stands_for_its_architecture(tmp_path: Path) -> None:
    trained = small_search(architecture="RSN").experiment
    train_run(trained, tmp_path / "run", device=CPU)

    found = read_written(str(tmp_path / "run"))

    assert read_architecture(found) == read_architecture("RSN")


def test_the_run_of_a_search_stands_for_its_best(tmp_path: Path) -> None:
    result = run_search(small_search(), tmp_path / "run", n_trials=3)

    found = read_written(str(tmp_path / "run"))

    assert read_architecture(found) == read_architecture(str(result["best"]["code"]))


def test_a_search_that_is_not_finished_has_no_best_yet(tmp_path: Path) -> None:
    run_search(small_search(), tmp_path / "run", n_trials=1)
    (tmp_path / "run" / "result.json").unlink()

    with pytest.raises(SettingsError, match=r"not finished\. Go on with --resume"):
        read_written(str(tmp_path / "run"))


def test_a_folder_with_only_an_experiment_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()

    with pytest.raises(SettingsError, match="is no run: it lacks"):
        read_written(str(tmp_path))
