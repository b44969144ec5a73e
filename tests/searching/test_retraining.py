"""What follows a search: each stage in its folder, and each goes on where it was stopped."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.notation import from_code
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.retraining import (
    finalist_folder,
    find_winner,
    note_retrained,
    retrain,
    tune_winner,
    tuned_settings,
)
from interstellar.searching.search_journal import best_trial
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import Workers
from interstellar.searching.trial import Trial, TrialResult
from interstellar.training.loop import EpochReport, Training
from interstellar.training.settings import Metric, with_changes
from tests.searching.fake_workbench import ALSO_TRANS_E, TRANS_E, lasting
from tests.searching.small_searches import CPU, SETTINGS, run_search, small_search

SEARCH = small_search(StrategyName.RANDOM)
FINAL = with_changes(SETTINGS, dim=16, epochs=3)
HERE = Workers(device=CPU)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("searched") / "run"
    run_search(SEARCH, out, n_trials=2)
    return out


@pytest.fixture
def out(tmp_path: Path, searched: Path) -> Path:
    return Path(shutil.copytree(searched, tmp_path / "run"))


@pytest.fixture
def found(out: Path) -> Result:
    return RunFolder.open(out).read_result()


class NoEpochs:
    """Fails where an epoch is trained."""

    def on_step(self, n_done: int, n_steps: int) -> None:
        raise AssertionError(f"step {n_done} of {n_steps} was taken again")

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        raise AssertionError(f"epoch {report.epoch} was trained again")


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

    tuning = read_experiment(out / "tuning" / "experiment.toml")
    assert tuning.settings == FINAL
    assert tuning.plan is not None
    assert tuning.plan.strategy is StrategyName.TUNE
    assert tuned["best"]["code"] == found["best"]["code"]
    assert tuned["trials"] == 3
    assert set(tuned["best"]["settings"]) == {
        "learning_rate",
        "weight_decay",
        "lr_decay",
        "dropout",
        "batch_size",
    }


def test_what_a_tuning_found_is_taken_over(out: Path, found: Result) -> None:
    tuned = tune_winner(SEARCH, code_of(found), FINAL, out, n_trials=2, workers=HERE)

    settings = tuned_settings(FINAL, best_trial(RunFolder.open(out / "tuning")))

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


def test_the_winner_is_retrained_with_the_settings_given(out: Path, found: Result) -> None:
    trained = retrain(SEARCH, code_of(found), FINAL, out, workers=HERE)

    experiment = read_experiment(out / "final" / "experiment.toml")
    assert experiment.settings == FINAL
    assert experiment.seed == SEARCH.seed
    assert trained["epochs"] == 3
    assert set(trained["metrics"]) == {"valid", "test"}
    assert (out / "final" / "weights.safetensors").is_file()
    assert from_code(found["best"]["code"])
    assert RunFolder.open(out).read_result() == found


def test_a_retraining_that_is_finished_is_not_repeated(out: Path, found: Result) -> None:
    first = retrain(SEARCH, code_of(found), FINAL, out, workers=HERE)

    again = retrain(SEARCH, code_of(found), FINAL, out, workers=HERE, observer=NoEpochs())

    assert again == first


def test_the_retraining_of_an_earlier_winner_is_in_the_way_and_said_so(
    out: Path, found: Result
) -> None:
    retrain(SEARCH, code_of(found), FINAL, out, workers=HERE)

    with pytest.raises(SettingsError, match=r"final is of .* Move that folder away, and resume"):
        retrain(SEARCH, "[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]", FINAL, out, workers=HERE)


def test_the_result_of_a_search_says_what_its_finalists_and_its_winner_came_to(
    out: Path, found: Result
) -> None:
    final = retrain(SEARCH, code_of(found), FINAL, out, workers=HERE)

    noted = note_retrained(out, [final, final], final)

    assert noted == RunFolder.open(out).read_result()
    assert {key: noted[key] for key in found} == found
    assert [one["metrics"] for one in noted["finalists"]] == [final["metrics"]] * 2
    assert noted["final"]["architecture"] == final["architecture"]


def test_a_finalist_has_the_same_folder_under_any_name_of_its_network() -> None:
    first, again = (Trial(architecture=a, result=TrialResult()) for a in (TRANS_E, ALSO_TRANS_E))

    assert finalist_folder(first) == finalist_folder(again) == "finalists/0-0-12-0-0-0-0-0-0-0-0"


def test_the_best_on_validation_wins_and_of_equals_the_first() -> None:
    results = [{"metrics": {"valid": {"mrr": mrr}, "test": {"mrr": 1 - mrr}}} for mrr in (1, 3, 3)]

    assert find_winner(results, Metric.MRR) == 1
