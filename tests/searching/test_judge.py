"""The judge: what a proposal earns is what training it earns, and a bad one ends with a reason."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import code_text, read_architecture
from interstellar.architecture.search_space import N_CHOICES, N_MACRO
from interstellar.engine.engine import Plain, ignore
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import experiment_text
from interstellar.runs.kept_graph import save_graph
from interstellar.runs.search_plan import SearchPlan, SharedScore, StrategyName
from interstellar.runs.training_run import train_run
from interstellar.searching import judge as judge_module
from interstellar.searching import time_limits
from interstellar.searching.judge import TRIALS, Judge, build_workbench, checkpoint_file
from interstellar.searching.natural_gradient import ControllerState, uniform
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.training.checkpoints import load_checkpoint
from interstellar.training.settings import Metric, Precision
from interstellar.training.settings_changes import SettingsChanges
from tests.searching.fake_workbench import COMPL_EX, TRANS_E
from tests.searching.small_searches import CPU, small_search

ALIGNMENT = "synthetic-alignment:entities=60"
LONG: SettingsChanges = {"epochs": 6}


@pytest.fixture(scope="module")
def patient() -> Judge:
    """A judge whose trials take six epochs."""
    return Judge(small_search(settings=LONG), CPU)


def from_scratch(architecture: Architecture, number: int = 0, **more: Any) -> Plain:
    return Proposal(number=number, architecture=architecture).as_plain() | more


def from_supernet(
    controller: ControllerState | None = None, n_epochs: int = 1, number: int = 0, **more: Any
) -> Plain:
    """Return the work on a supernet with a controller, or without one a relaxed one."""
    supernet = SupernetRound(n_epochs=n_epochs, controller=controller)
    return Proposal(number=number, supernet=supernet).as_plain() | more


def from_round(judge: Judge, n_epochs: int = 1, **more: Any) -> Plain:
    """Return the work on the micro level of ComplEx, as hybrid search has it."""
    sizes = [len(choice.options) for choice in judge.space.choices()][N_MACRO:]
    supernet = SupernetRound(
        n_epochs=n_epochs, controller=uniform(sizes, N_CHOICES), macro=COMPL_EX.macro
    )
    return Proposal(number=2, supernet=supernet).as_plain() | more


def without_time(outcome: Plain) -> Plain:
    return {key: value for key, value in outcome.items() if key != "seconds"}


def test_a_trial_earns_what_training_it_earns(tmp_path: Path) -> None:
    search = small_search(architecture=code_text(COMPL_EX))
    trained = train_run(replace(search, plan=None), tmp_path / "run", device=CPU)

    outcome = Judge(search, CPU).do(from_scratch(COMPL_EX))

    assert outcome["valid"] == trained["metrics"]["valid"]
    assert outcome["score"] == outcome["valid"]["mrr"] == max(outcome["curve"])
    assert outcome["best_epoch"] == trained["best_epoch"]
    assert (outcome["epochs"], len(outcome["curve"])) == (2, 2)
    assert (outcome["stopped"], outcome["failure"]) == (None, None)


def test_a_trial_judged_again_earns_the_same_whatever_was_judged_before(patient: Judge) -> None:
    first = patient.do(from_scratch(TRANS_E))
    patient.do(from_scratch(COMPL_EX))
    again = patient.do(from_scratch(TRANS_E))

    assert without_time(first) == without_time(again)


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
def test_both_tasks_are_judged(data: str) -> None:
    outcome = Judge(small_search(data=data), CPU).do(from_scratch(TRANS_E))

    assert 0 < outcome["score"] <= 1


def test_settings_of_a_tuning_are_changed_for_one_trial_only() -> None:
    judge = Judge(small_search(StrategyName.TUNE, architecture="TransE"), CPU)

    def tune(**changes: float | int) -> Plain:
        proposal = Proposal(number=0, architecture=TRANS_E, changes=changes)
        return without_time(judge.do(proposal.as_plain()))

    before, changed, after = tune(dropout=0.0), tune(dropout=0.5, dim=16), tune(dropout=0.0)

    assert before == after
    assert before != changed


def test_a_repetition_earns_what_training_with_its_seed_earns(tmp_path: Path) -> None:
    search = small_search(architecture=code_text(COMPL_EX))
    other = replace(search, plan=None, seed=8)
    trained = train_run(other, tmp_path / "run", device=CPU)
    judge = Judge(search, CPU)

    outcome = judge.do(from_scratch(COMPL_EX, -1, seed=8))

    assert outcome["valid"] == trained["metrics"]["valid"]
    assert outcome["valid"] != judge.do(from_scratch(COMPL_EX))["valid"]


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_promoted_trial_is_bit_for_bit_one_that_was_never_stopped(
    tmp_path: Path, data: str, optimizer: str
) -> None:
    search = small_search(data=data, settings={**LONG, "optimizer": optimizer})
    whole, rungs = tmp_path / "whole", tmp_path / "rungs"
    unbroken = Judge(search, CPU, checkpoints=whole).do(from_scratch(COMPL_EX))

    first, second, last = (
        Judge(search, CPU, checkpoints=rungs).do(from_scratch(COMPL_EX, **more))
        for more in ({"epochs": 1}, {"epochs": 3}, {})
    )

    assert [(each["stopped"], each["epochs"]) for each in (first, second)] == [
        ("rung", 1),
        ("rung", 3),
    ]
    assert first["curve"] == unbroken["curve"][:1]
    assert second["curve"] == unbroken["curve"][:3]
    assert second["score"] == max(second["curve"])
    assert without_time(last) == without_time(unbroken)
    assert_same_state(rungs, whole)


@pytest.mark.parametrize("is_slow", [False, True], ids=["quick to write", "slow to write"])
def test_what_is_trained_sooner_than_written_is_trained_again_and_earns_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    monkeypatch.setattr(judge_module, "WRITTEN_BYTES", 1.0 if is_slow else 1e12)
    search = small_search(settings=LONG, plan=SearchPlan(from_scratch=True))
    judge = Judge(search, CPU, checkpoints=tmp_path)
    whole = Judge(search, CPU).do(from_scratch(COMPL_EX))

    judge.do(from_scratch(COMPL_EX, epochs=1))

    assert checkpoint_file(tmp_path, 0).exists() is not is_slow
    assert without_time(judge.do(from_scratch(COMPL_EX))) == without_time(whole)
    assert checkpoint_file(tmp_path, 0).exists()


def assert_same_state(first: Path, second: Path) -> None:
    """Compare where a trial left off in two folders, but for the time it took."""
    ours, theirs = (load_checkpoint(checkpoint_file(folder, 0)) for folder in (first, second))
    assert ours.tensors.keys() == theirs.tensors.keys()
    for name, tensor in ours.tensors.items():
        assert torch.equal(tensor, theirs.tensors[name]), name
    losses = [[r["loss"] for r in found.metadata["reports"]] for found in (ours, theirs)]  # type: ignore[attr-defined]
    assert losses[0] == losses[1]


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)


def take_other(file: Path) -> None:
    """Have the checkpoint of another trial under this one's name."""
    file.unlink()
    Judge(small_search(settings=LONG), CPU, checkpoints=file.parent).do(
        from_scratch(TRANS_E, epochs=1)
    )


@pytest.mark.parametrize(
    "spoil", [Path.unlink, cut, flip, take_other, lambda file: file.write_bytes(b"")]
)
def test_a_damaged_or_missing_checkpoint_changes_nothing(
    tmp_path: Path, patient: Judge, spoil: Callable[[Path], object]
) -> None:
    judge = Judge(small_search(settings=LONG), CPU, checkpoints=tmp_path)
    judge.do(from_scratch(COMPL_EX, epochs=1))
    spoil(checkpoint_file(tmp_path, 0))

    outcome = judge.do(from_scratch(COMPL_EX))

    assert without_time(outcome) == without_time(patient.do(from_scratch(COMPL_EX)))


@pytest.mark.parametrize(("before", "again"), [(1, 1), (3, 1), (None, 3), (None, None)])
def test_a_kill_between_checkpoint_and_journal_changes_nothing(
    tmp_path: Path, patient: Judge, before: int | None, again: int | None
) -> None:
    """The trial is begun again as it was, and its checkpoint is already there, or beyond."""
    judge = Judge(small_search(settings=LONG), CPU, checkpoints=tmp_path)
    judge.do(from_scratch(COMPL_EX, epochs=before))

    outcome = judge.do(from_scratch(COMPL_EX, epochs=again))

    assert without_time(outcome) == without_time(patient.do(from_scratch(COMPL_EX, epochs=again)))


def test_where_a_trial_cannot_leave_off_it_is_trained_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, patient: Judge
) -> None:
    def run_out(*_: object) -> NoReturn:
        raise OSError("No space left on device")

    judge = Judge(small_search(settings=LONG), CPU, checkpoints=tmp_path)
    monkeypatch.setattr(judge_module, "write_checkpoint", run_out)
    judge.do(from_scratch(COMPL_EX, epochs=1))

    outcome = judge.do(from_scratch(COMPL_EX))

    assert list(tmp_path.iterdir()) == []
    assert without_time(outcome) == without_time(patient.do(from_scratch(COMPL_EX)))


class Clock:
    """Stands until an hour has passed, which is once so many epochs of a trial are over."""

    def __init__(self, n_epochs: float) -> None:
        self._n_epochs = n_epochs
        self._now = 0.0

    def read(self) -> float:
        return self._now

    def on_progress(self, number: int, n_done: float, n_parts: int, score: float | None) -> None:
        del number, n_parts, score
        if n_done >= self._n_epochs:
            self._now = 3600.0


@pytest.mark.parametrize(
    ("n_epochs", "asked", "stopped", "n_had"),
    [
        (0.01, None, "time", 0),
        (2, None, "time", 2),
        (2, 2, "rung", 2),
        (1, 3, "time", 1),
        (6, None, None, 6),
    ],
    ids=["within an epoch", "after one", "at a rung", "before a rung", "at its end"],
)
def test_a_trial_out_of_time_keeps_what_it_has_earned(
    monkeypatch: pytest.MonkeyPatch,
    patient: Judge,
    n_epochs: float,
    asked: int | None,
    stopped: str | None,
    n_had: int,
) -> None:
    whole, clock = patient.do(from_scratch(TRANS_E)), Clock(n_epochs)
    monkeypatch.setattr("time.perf_counter", clock.read)

    outcome = patient.do(
        from_scratch(TRANS_E, epochs=asked, seconds_left=1800.0), clock.on_progress
    )

    assert (outcome["stopped"], outcome["epochs"]) == (stopped, n_had)
    assert outcome["curve"] == whole["curve"][:n_had]
    assert outcome["score"] == max(outcome["curve"], default=None)


def test_a_trial_out_of_time_goes_on_where_its_last_epoch_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, patient: Judge
) -> None:
    """Time is over within the third epoch, which does not count."""
    search, clock = small_search(settings={**LONG, "batch_size": 32}), Clock(2.01)
    judge = Judge(search, CPU, checkpoints=tmp_path / "late")
    with monkeypatch.context() as patch:
        patch.setattr(time_limits, "PROGRESS_SECONDS", 0.0)
        patch.setattr("time.perf_counter", clock.read)
        late = judge.do(from_scratch(COMPL_EX, seconds_left=1800.0), clock.on_progress)

    outcome = judge.do(from_scratch(COMPL_EX))

    unbroken = Judge(search, CPU, checkpoints=tmp_path / "whole").do(from_scratch(COMPL_EX))
    assert (late["stopped"], late["epochs"]) == ("time", 2)
    assert without_time(outcome) == without_time(unbroken)
    assert_same_state(tmp_path / "late", tmp_path / "whole")


def test_who_waits_is_told_how_far_a_trial_is_from_its_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, float, int, float | None]] = []
    judge = Judge(small_search(settings={**LONG, "batch_size": 32}), CPU)
    monkeypatch.setattr(time_limits, "PROGRESS_SECONDS", 0.0)

    outcome = judge.do(from_scratch(TRANS_E, 5), lambda *progress: told.append(progress))

    epochs = [n_done for _, n_done, _, _ in told]
    assert {(number, most) for number, _, most, _ in told} == {(5, 6)}
    assert [score for *_, score in told if score is not None] == outcome["curve"]
    assert 0 < epochs[0] < 0.5
    assert epochs == sorted(epochs)
    assert {1, 2, 3, 4, 5, 6} <= set(epochs)
    assert epochs[-1] == 6


def test_a_loss_that_is_not_finite_ends_the_trial_with_the_reason() -> None:
    judge = Judge(small_search(settings={"learning_rate": 1e6}), CPU)
    products = read_architecture("O_r = W3 h ⊙ W4 r; v = h ⊗ W6 O_r")

    outcome = judge.do(from_scratch(products))

    assert "not a finite number at step" in outcome["failure"]
    assert (outcome["score"], outcome["stopped"]) == (None, None)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError("no room for it")]
)
@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("Training", from_scratch(TRANS_E)),
        ("Supernet", from_supernet(uniform([2] * N_CHOICES, N_CHOICES))),
        ("Supernet", from_supernet()),
    ],
    ids=["from scratch", "shared", "relaxed"],
)
def test_work_without_memory_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, name: str, work: Plain, error: Exception
) -> None:
    def run_out(*_: object, **__: object) -> NoReturn:
        raise error

    judge = Judge(small_search(), CPU)
    monkeypatch.setattr(judge_module, name, run_out)

    outcome = judge.do(work)

    assert outcome["failure"] == str(error)
    result = TrialResult.from_plain(outcome)
    assert (result.score, result.controller, result.weights) == (None, None, None)


def test_a_fault_of_the_program_is_no_fault_of_the_trial(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(judge_module, "Training", fail)

    with pytest.raises(ZeroDivisionError):
        patient.do(from_scratch(TRANS_E))


def test_a_shared_round_moves_the_controller_the_same_way_each_time(patient: Judge) -> None:
    work = from_round(patient)

    first, again = (patient.do(work)["controller"] for _ in range(2))

    assert first == again
    assert first != work["controller"]
    assert list(map(len, first["theta"])) == list(map(len, work["controller"]["theta"]))


def test_a_supernet_stops_where_it_is_when_the_time_is_over(patient: Judge) -> None:
    controller = uniform([len(c.options) for c in patient.space.choices()], N_CHOICES)

    shared = patient.do(from_supernet(controller, 10**6, seconds_left=0.0))
    mixed = patient.do(from_supernet(None, 10**6, seconds_left=0.0))

    assert shared["controller"] == controller.as_dict()
    assert all(len(set(options)) == 1 for options in mixed["weights"])


def test_a_round_of_hybrid_search_that_is_out_of_time_is_left_undone(patient: Judge) -> None:
    cut = patient.do(from_round(patient, 10**6, seconds_left=0.1))

    assert cut["stopped"] == "time"
    assert "controller" not in cut


def test_a_relaxed_supernet_gives_a_weight_to_each_option(patient: Judge) -> None:
    outcome = patient.do(from_supernet())

    sizes = [len(choice.options) for choice in patient.space.choices()]
    assert [len(options) for options in outcome["weights"]] == sizes
    assert all(sum(options) == pytest.approx(1) for options in outcome["weights"])


def test_a_worker_judges_as_this_process_does(tmp_path: Path) -> None:
    search = small_search()
    judge = Judge(search, CPU)
    run = RunFolder.create(tmp_path / "run", experiment=experiment_text(search), environment={})
    save_graph(run, judge.task.graph)
    workbench = build_workbench({"run": str(run.path)}, "cpu")

    there, here = (do(from_scratch(TRANS_E), ignore) for do in (workbench, judge.do))

    assert without_time(there) == without_time(here)
    assert checkpoint_file(run.path / TRIALS, 0).is_file()


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
def test_a_metric_that_the_data_does_not_have_is_refused_before_any_trial(data: str) -> None:
    with pytest.raises(SettingsError, match="metric is auc_pr"):
        Judge(small_search(data=data, settings={"metric": Metric.AUC_PR}), CPU)


def test_a_plan_says_by_what_architectures_are_compared_with_shared_weights(patient: Judge) -> None:
    sizes = [len(choice.options) for choice in patient.space.choices()]
    work = from_supernet(uniform(sizes, N_CHOICES), n_epochs=8)
    by_mrr = SearchPlan(strategy=StrategyName.ONE_SHOT, shared_score=SharedScore.MRR)
    by_loss, by_rank = (
        Judge(small_search(StrategyName.ONE_SHOT, plan=plan), CPU).do(work)
        for plan in (None, by_mrr)
    )

    assert by_loss["controller"] != by_rank["controller"]


def test_an_alignment_cannot_compare_by_rank() -> None:
    plan = SearchPlan(strategy=StrategyName.HYBRID, shared_score=SharedScore.MRR)
    with pytest.raises(SettingsError, match="does not see the architecture"):
        Judge(small_search(StrategyName.HYBRID, data=ALIGNMENT, plan=plan), CPU)


def test_a_precision_that_the_device_does_not_have_is_refused_before_any_trial() -> None:
    with pytest.raises(SettingsError, match="precision is mixed"):
        Judge(small_search(settings={"precision": Precision.MIXED}), CPU)
