"""Search, tune, train: each stage in its folder, and each goes on where it was stopped."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from interstellar.architecture.notation import from_code
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.searching.procedure import train_finally, tune_winner, tuned_settings
from interstellar.searching.search_experiment import StrategyName, parse_search
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import Workers
from interstellar.tasks.training_run import Result
from interstellar.training.experiment import read_experiment
from interstellar.training.settings import with_changes
from tests.searching.fake_workbench import lasting
from tests.searching.small_searches import CPU, SETTINGS, run_search, small_search

SEARCH = small_search(StrategyName.RANDOM)
FINAL = with_changes(SETTINGS, dim=16, max_epochs=3)
HERE = Workers(device=CPU)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def found(out: Path) -> Result:
    return run_search(SEARCH, out, n_trials=2)


def code_of(found: Result) -> str:
    return str(found["best"]["code"])


def without_time(result: Result) -> Result:
    return {
        key: value for key, value in result.items() if "seconds" not in key and key != "step_ms"
    }


def test_the_winner_is_tuned_from_the_settings_of_the_final_training(
    out: Path, found: Result
) -> None:
    tuned = tune_winner(SEARCH, code_of(found), FINAL, out, n_trials=3, workers=HERE)

    tuning = parse_search((out / "tuning" / "experiment.toml").read_text())
    assert tuning.experiment.settings == FINAL
    assert tuning.plan.strategy is StrategyName.TUNE
    assert tuned["best"]["code"] == found["best"]["code"]
    assert tuned["trials"] == 3
    assert set(tuned["best"]["settings"]) == {
        "learning_rate",
        "l2",
        "decay",
        "dropout",
        "batch_size",
    }


def test_what_a_tuning_found_is_taken_over(out: Path, found: Result) -> None:
    tuned = tune_winner(SEARCH, code_of(found), FINAL, out, n_trials=2, workers=HERE)

    settings = tuned_settings(FINAL, tuned)

    assert settings == replace(FINAL, **tuned["best"]["settings"])
    assert settings.dim == FINAL.dim


def test_a_tuning_that_was_stopped_goes_on(tmp_path: Path, out: Path, found: Result) -> None:
    n_left = 3

    def interrupt(_: SearchLoop) -> None:
        nonlocal n_left
        n_left -= 1
        if n_left == 0:
            raise KeyboardInterrupt

    shutil.copytree(out, tmp_path / "whole")
    whole = tune_winner(SEARCH, code_of(found), FINAL, tmp_path / "whole", n_trials=3, workers=HERE)
    with pytest.raises(KeyboardInterrupt):
        tune_winner(
            SEARCH, code_of(found), FINAL, out, n_trials=3, workers=HERE, on_change=interrupt
        )

    resumed = tune_winner(SEARCH, code_of(found), FINAL, out, n_trials=3, workers=HERE)

    assert without_time(resumed) == without_time(whole)
    assert lasting(out / "tuning" / "journal.jsonl") == lasting(
        tmp_path / "whole" / "tuning" / "journal.jsonl"
    )


def test_a_tuning_of_another_winner_is_refused(out: Path, found: Result) -> None:
    tune_winner(SEARCH, code_of(found), FINAL, out, n_trials=1, workers=HERE)

    with pytest.raises(
        SettingsError,
        match=r"tuning is of .*, which was the best .* now that is O_r = s ⊗ r; v = s \+ O_r",
    ):
        tune_winner(
            SEARCH, "[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]", FINAL, out, n_trials=1, workers=HERE
        )


def test_the_winner_is_trained_finally_with_the_settings_given(out: Path, found: Result) -> None:
    trained = train_finally(SEARCH, code_of(found), FINAL, out, workers=HERE)

    experiment = read_experiment(out / "final" / "experiment.toml")
    assert experiment.settings == FINAL
    assert experiment.seed == SEARCH.experiment.seed
    assert trained["epochs"] == 3
    assert set(trained["metrics"]) == {"valid", "test"}
    assert (out / "final" / "weights.safetensors").is_file()
    assert from_code(found["best"]["code"])
    assert RunFolder.open(out).read_result() == found


def test_a_final_training_that_is_finished_is_not_repeated(out: Path, found: Result) -> None:
    first = train_finally(SEARCH, code_of(found), FINAL, out, workers=HERE)
    epochs: list[int] = []

    again = train_finally(
        SEARCH,
        code_of(found),
        FINAL,
        out,
        workers=HERE,
        on_epoch=lambda report: epochs.append(report.epoch),
    )

    assert again == first
    assert epochs == []


def test_the_final_training_of_an_earlier_winner_is_in_the_way_and_said_so(
    out: Path, found: Result
) -> None:
    train_finally(SEARCH, code_of(found), FINAL, out, workers=HERE)

    with pytest.raises(SettingsError, match=r"final is of .* Move that folder away, and resume"):
        train_finally(SEARCH, "[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]", FINAL, out, workers=HERE)
