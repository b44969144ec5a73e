"""What follows a search: its winner as a trained run, taken over where its trial is whole."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.notation import code_text
from interstellar.errors import SettingsError
from interstellar.model.path_network import PathNetwork
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import StrategyName
from interstellar.runs.training_run import train_run
from interstellar.searching.finalists import find_winner, list_finalists
from interstellar.searching.judge import TRIALS, checkpoint_file
from interstellar.searching.retraining import best_run, train_winner, tuned_settings
from interstellar.searching.search_journal import FINAL, trials_of
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.trial import Trial, TrialResult
from interstellar.searching.workers import Workers
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.training.loop import EpochReport, Training
from interstellar.training.settings_changes import with_changes
from tests.runs.small_runs import LASTING
from tests.searching.fake_workbench import TRANS_E
from tests.searching.small_searches import CPU, SETTINGS, run_search, small_plan, small_search

SEARCH = small_search(settings={"epochs": 4, "patience": 0})
RUNGS = replace(SEARCH, plan=small_plan(StrategyName.SURROGATE, prune=True))
FINAL_SETTINGS = with_changes(SETTINGS, dim=16, epochs=3)
HERE = Workers(device=CPU)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search with rungs and finalists."""
    out = tmp_path_factory.mktemp("searched") / "run"
    run_search(RUNGS, out, n_trials=4, n_finalists=2)
    return out


@pytest.fixture
def out(tmp_path: Path, searched: Path) -> Path:
    return Path(shutil.copytree(searched, tmp_path / "run"))


class NoEpochs:
    """Fails where an epoch is trained."""

    def on_step(self, n_done: int, n_steps: int) -> None:
        raise AssertionError(f"step {n_done} of {n_steps} was taken again")

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        raise AssertionError(f"epoch {report.epoch} was trained again")


def lasting(result: Result) -> Result:
    return {key: result[key] for key in LASTING}


def train_anew(search: Experiment, trial: Trial, out: Path) -> Result:
    """Train the network of a trial by itself."""
    experiment = replace(
        search,
        architecture=code_text(trial.point),
        settings=tuned_settings(search.settings, trial),
        seed=search.seed if trial.seed is None else trial.seed,
        plan=None,
    )
    return train_run(experiment, out, device=CPU)


def test_the_winner_is_handed_over_without_training_as_if_it_had_been_trained(
    tmp_path: Path, out: Path
) -> None:
    winner = best_run(RunFolder.open(out))

    final = train_winner(RUNGS, out, workers=HERE, observer=NoEpochs())

    anew = train_anew(RUNGS, winner, tmp_path / "anew")
    assert lasting(final) == lasting(anew)
    assert final["metrics"]["valid"]["mrr"] == winner.score
    assert (out / FINAL / "weights.safetensors").is_file()
    assert final["architecture"] == code_text(winner.point)


@pytest.mark.parametrize("is_there", [True, False], ids=["damaged", "missing"])
def test_a_winner_whose_checkpoint_is_lost_is_trained_again_and_is_the_same(
    out: Path, is_there: bool, tmp_path: Path
) -> None:
    intact = train_winner(RUNGS, Path(shutil.copytree(out, tmp_path / "intact")), workers=HERE)
    file = checkpoint_file(out / TRIALS, best_run(RunFolder.open(out)).number)
    file.write_bytes(file.read_bytes()[:-9])
    if not is_there:
        file.unlink()

    final = train_winner(RUNGS, out, workers=HERE)

    assert lasting(final) == lasting(intact)


def test_of_several_seeds_the_best_on_validation_is_handed_over(out: Path) -> None:
    trials = trials_of(RunFolder.open(out))
    first = list_finalists(trials)[0]

    final = train_winner(RUNGS, out, workers=HERE)

    assert first.trial == find_winner(trials)
    assert best_run(RunFolder.open(out)) == first.best_run
    seed = RUNGS.seed if first.best_run.seed is None else first.best_run.seed
    assert read_experiment(out / FINAL / "experiment.toml").seed == seed
    assert final["metrics"]["valid"]["mrr"] == max(run.score or 0.0 for run in first.runs.values())


def test_a_winner_that_waits_at_a_rung_is_trained_to_its_end(tmp_path: Path) -> None:
    """Without finalists, and with a search that was stopped before anybody was promoted."""
    search_out, plan = tmp_path / "run", small_plan(StrategyName.RANDOM, prune=True)
    search = replace(SEARCH, plan=plan)

    def stop(loop: SearchLoop) -> None:
        if len(loop.trials.ended) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(search, search_out, on_change=stop)
    winner = best_run(RunFolder.open(search_out))
    copy = Path(shutil.copytree(search_out, tmp_path / "copy"))

    final = train_winner(search, search_out, workers=HERE)
    late = train_winner(search, copy, workers=HERE, is_over=True, observer=NoEpochs())

    assert winner.result.epochs < 4
    assert lasting(final) == lasting(train_anew(search, winner, tmp_path / "anew"))
    assert late["epochs"] == winner.result.epochs
    assert late["metrics"]["valid"]["mrr"] == winner.score


def test_with_settings_of_its_own_the_winner_is_trained_with_those(out: Path) -> None:
    final = train_winner(RUNGS, out, settings=FINAL_SETTINGS, workers=HERE)

    experiment = read_experiment(out / FINAL / "experiment.toml")
    assert experiment.settings == FINAL_SETTINGS
    assert experiment.seed == RUNGS.seed
    assert final["epochs"] == 3
    assert set(final["metrics"]) == {"valid", "test"}


def test_a_winner_that_is_there_is_not_trained_again(out: Path) -> None:
    first = train_winner(RUNGS, out, settings=FINAL_SETTINGS, workers=HERE)

    again = train_winner(RUNGS, out, settings=FINAL_SETTINGS, workers=HERE, observer=NoEpochs())

    assert again == first


def test_the_training_of_an_earlier_winner_is_in_the_way_and_said_so(out: Path) -> None:
    train_winner(RUNGS, out, settings=FINAL_SETTINGS, workers=HERE)

    with pytest.raises(SettingsError, match=r"final is of .* Move that folder away, and resume"):
        train_winner(RUNGS, out, workers=HERE)


def test_what_a_trial_changed_is_taken_over() -> None:
    changes = {"dropout": 0.25, "dim": 12, "path_length": 1}
    tuned = Trial(architecture=TRANS_E, result=TrialResult(), settings=changes)

    settings = tuned_settings(SETTINGS, tuned)

    assert settings == with_changes(SETTINGS, dropout=0.25, dim=12, path_length=1)


@pytest.mark.parametrize("gain", [1.0, -1.0], ids=["better", "no better"])
def test_an_ensemble_of_seeds_is_handed_over_where_it_is_better(
    out: Path, monkeypatch: pytest.MonkeyPatch, gain: float
) -> None:
    """What joined networks reach on validation is planted."""
    [finalist, *_] = list_finalists(trials_of(RunFolder.open(out)))
    dim = tuned_settings(RUNGS.settings, finalist.trial).dim
    measure = LinkPrediction.measure

    def measure_or_plant(task: LinkPrediction, network: PathNetwork, *more: object) -> object:
        metrics = measure(task, network, *more)  # type: ignore[arg-type]
        is_joined = network.size.dim == len(finalist.runs) * dim
        return replace(metrics, mrr=metrics.mrr + gain) if is_joined else metrics

    with monkeypatch.context() as patch:
        patch.setattr(LinkPrediction, "measure", measure_or_plant)
        final = train_winner(RUNGS, out, workers=HERE, ensemble=True, observer=NoEpochs())

    settings = read_experiment(out / FINAL / "experiment.toml").settings
    assert settings.dim == (2 * dim if gain > 0 else dim)
    assert final["metrics"]["test"]["mrr"] > 0
