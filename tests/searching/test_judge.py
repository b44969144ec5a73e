"""The judge: what a proposal earns is what training it earns, and a bad one ends with a reason."""

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
from interstellar.searching.judge import Judge, build_workbench
from interstellar.searching.natural_gradient import ControllerState, uniform
from interstellar.searching.trial import Proposal, SupernetRound, TrialResult
from interstellar.training import group_training
from interstellar.training.settings import Metric, Precision, SettingsChanges
from tests.searching.fake_workbench import COMPL_EX, P_TRANS_E, TRANS_E
from tests.searching.small_searches import CPU, small_search

ALIGNMENT = "synthetic-alignment:entities=60"
BOTH = (TRANS_E, COMPL_EX)
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

    [outcome] = Judge(search, CPU).do([from_scratch(COMPL_EX)])

    assert outcome["valid"] == trained["metrics"]["valid"]
    assert outcome["score"] == outcome["valid"]["mrr"] == max(outcome["curve"])
    assert outcome["best_epoch"] == trained["best_epoch"]
    assert (outcome["epochs"], len(outcome["curve"])) == (2, 2)
    assert (outcome["stopped"], outcome["failure"]) == (None, None)


def test_a_trial_judged_again_earns_the_same_whatever_was_judged_before(patient: Judge) -> None:
    [first] = patient.do([from_scratch(TRANS_E)])
    patient.do([from_scratch(COMPL_EX)])
    [again] = patient.do([from_scratch(TRANS_E)])

    assert without_time(first) == without_time(again)


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
def test_both_tasks_are_judged(data: str) -> None:
    [outcome] = Judge(small_search(data=data), CPU).do([from_scratch(TRANS_E)])

    assert 0 < outcome["score"] <= 1


def test_settings_of_a_tuning_are_changed_for_one_trial_only() -> None:
    judge = Judge(small_search(StrategyName.TUNE, architecture="TransE"), CPU)

    def tune(**changes: float | int) -> Plain:
        proposal = Proposal(number=0, architecture=TRANS_E, changes=changes)
        return without_time(judge.do([proposal.as_plain()])[0])

    before, changed, after = tune(dropout=0.0), tune(dropout=0.5, dim=16), tune(dropout=0.0)

    assert before == after
    assert before != changed


def test_a_trial_that_cannot_win_is_stopped_with_what_it_has_earned(patient: Judge) -> None:
    [whole] = patient.do([from_scratch(TRANS_E)])
    [stopped] = patient.do([from_scratch(TRANS_E, prune_below=[2.0] * 6)])

    assert (stopped["stopped"], stopped["epochs"]) == ("pruned", 2)
    assert stopped["curve"] == whole["curve"][:2]
    assert stopped["score"] == max(stopped["curve"])


def test_a_trial_at_its_end_is_called_neither_pruned_nor_late() -> None:
    judge = Judge(small_search(), CPU)

    [pruned] = judge.do([from_scratch(TRANS_E, prune_below=[0.0, 2.0])])
    [late] = judge.do([from_scratch(TRANS_E, prune_below=[0.0, 2.0], seconds_left=-1.0)])
    [ended] = Judge(small_search(settings={"epochs": 1}), CPU).do(
        [from_scratch(TRANS_E, seconds_left=-1.0)]
    )

    assert (pruned["epochs"], pruned["stopped"]) == (2, None)
    assert (late["epochs"], late["stopped"]) == (1, "time")
    assert (ended["epochs"], ended["stopped"]) == (1, None)


def test_a_trial_out_of_time_is_stopped_after_the_epoch_it_is_at(patient: Judge) -> None:
    [outcome] = patient.do([from_scratch(TRANS_E, seconds_left=0.0)])

    assert (outcome["stopped"], outcome["epochs"]) == ("time", 1)


def test_a_loss_that_is_not_finite_ends_the_trial_with_the_reason() -> None:
    judge = Judge(small_search(settings={"learning_rate": 1e6}), CPU)
    products = read_architecture("O_r = W3 h ⊙ W4 r; v = h ⊗ W6 O_r")

    [outcome] = judge.do([from_scratch(products)])

    assert "not a finite number at step" in outcome["failure"]
    assert (outcome["score"], outcome["stopped"]) == (None, None)


def test_who_waits_is_told_of_every_epoch_of_a_trial(patient: Judge) -> None:
    told: list[tuple[int, int, int]] = []

    patient.do([from_scratch(TRANS_E, 5)], lambda *progress: told.append(progress))

    assert told == [(5, epoch, 6) for epoch in range(1, 7)]


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

    [outcome] = judge.do([work])

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
        patient.do([from_scratch(TRANS_E)])


def test_a_shared_round_moves_the_controller_the_same_way_each_time(patient: Judge) -> None:
    work = from_round(patient)

    first, again = (patient.do([work])[0]["controller"] for _ in range(2))

    assert first == again
    assert first != work["controller"]
    assert list(map(len, first["theta"])) == list(map(len, work["controller"]["theta"]))


def test_a_supernet_stops_where_it_is_when_the_time_is_over(patient: Judge) -> None:
    controller = uniform([len(c.options) for c in patient.space.choices()], N_CHOICES)

    [shared] = patient.do([from_supernet(controller, 10**6, seconds_left=0.0)])
    [mixed] = patient.do([from_supernet(None, 10**6, seconds_left=0.0)])

    assert shared["controller"] == controller.as_dict()
    assert all(len(set(options)) == 1 for options in mixed["weights"])


def test_a_round_of_hybrid_search_that_is_out_of_time_is_left_undone(patient: Judge) -> None:
    [cut] = patient.do([from_round(patient, 10**6, seconds_left=0.1)])

    assert cut["stopped"] == "time"
    assert "controller" not in cut


def test_what_is_done_later_has_the_time_that_is_left_then(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))
    left: list[float | None] = []

    def note(_: Judge, __: Proposal, seconds_left: float | None, *___: object) -> TrialResult:
        left.append(seconds_left)
        return TrialResult()

    monkeypatch.setattr(Judge, "judge", note)

    patient.do([from_supernet(number=i, seconds_left=9.0) for i in range(3)])

    assert left == [8.0, 7.0, 6.0]


def test_a_relaxed_supernet_gives_a_weight_to_each_option(patient: Judge) -> None:
    [outcome] = patient.do([from_supernet()])

    sizes = [len(choice.options) for choice in patient.space.choices()]
    assert [len(options) for options in outcome["weights"]] == sizes
    assert all(sum(options) == pytest.approx(1) for options in outcome["weights"])


def test_trials_trained_together_earn_what_each_earns_alone(patient: Judge) -> None:
    works = [from_scratch(a, n) for n, a in enumerate((TRANS_E, COMPL_EX, P_TRANS_E))]
    assert patient.can_train_together()

    together = patient.do(works)

    for outcome, work in zip(together, works, strict=True):
        [alone] = patient.do([work])
        assert outcome["curve"] == pytest.approx(alone["curve"], abs=0.02)
        assert {key: outcome[key] for key in ("epochs", "stopped", "failure")} == {
            key: alone[key] for key in ("epochs", "stopped", "failure")
        }


def test_trials_are_trained_together_also_where_a_shared_round_is_among_them(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    groups: list[int] = []
    train_together = group_training.train_together

    def note(architectures: list[Architecture], *arguments: Any, **more: Any) -> Any:
        groups.append(len(architectures))
        return train_together(architectures, *arguments, **more)

    monkeypatch.setattr(judge_module, "train_together", note)
    relaxed = from_supernet(number=1)

    outcomes = patient.do([from_scratch(TRANS_E), relaxed, from_scratch(COMPL_EX, 2)])

    assert groups == [2]
    assert ["weights" in outcome for outcome in outcomes] == [False, True, False]
    assert outcomes[2]["curve"] == pytest.approx(
        patient.do([from_scratch(COMPL_EX)])[0]["curve"], abs=0.02
    )


def test_of_trials_trained_together_each_is_stopped_by_its_own_bar(patient: Judge) -> None:
    outcomes = patient.do(
        [from_scratch(TRANS_E, 0, prune_below=[2.0] * 6), from_scratch(COMPL_EX, 1)]
    )

    assert [outcome["stopped"] for outcome in outcomes] == ["pruned", None]
    assert [outcome["epochs"] for outcome in outcomes] == [2, 6]


def test_trials_trained_together_are_out_of_time_together(patient: Judge) -> None:
    outcomes = patient.do([from_scratch(a, n, seconds_left=0.0) for n, a in enumerate(BOTH)])

    assert [(outcome["stopped"], outcome["epochs"]) for outcome in outcomes] == [("time", 1)] * 2


def test_trials_that_lose_patience_together_are_not_called_pruned() -> None:
    """Nothing is learnt at this rate, so each of them is over after its second validation."""
    judge = Judge(small_search(settings={"epochs": 6, "patience": 1, "learning_rate": 1e-30}), CPU)
    works = [from_scratch(a, n, prune_below=[2.0] * 6) for n, a in enumerate((TRANS_E, COMPL_EX))]

    together = judge.do(works)
    alone = [judge.do([work])[0] for work in works]

    assert [(outcome["epochs"], outcome["stopped"]) for outcome in together] == [(2, None)] * 2
    assert [(outcome["epochs"], outcome["stopped"]) for outcome in alone] == [(2, None)] * 2


def test_a_group_without_memory_is_trained_one_by_one(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    def run_out(*_: object, **__: object) -> NoReturn:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(judge_module, "train_together", run_out)

    outcomes = patient.do([from_scratch(TRANS_E), from_scratch(COMPL_EX, 1)])

    assert [outcome["failure"] for outcome in outcomes] == [None, None]


def test_a_worker_judges_as_this_process_does(tmp_path: Path) -> None:
    search = small_search()
    judge = Judge(search, CPU)
    run = RunFolder.create(tmp_path / "run", experiment=experiment_text(search), environment={})
    save_graph(run, judge.task.graph)
    workbench = build_workbench({"run": str(run.path)}, "cpu")

    [there], [here] = (do([from_scratch(TRANS_E)], ignore) for do in (workbench, judge.do))

    assert without_time(there) == without_time(here)


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
def test_a_metric_that_the_data_does_not_have_is_refused_before_any_trial(data: str) -> None:
    with pytest.raises(SettingsError, match="metric is auc_pr"):
        Judge(small_search(data=data, settings={"metric": Metric.AUC_PR}), CPU)


def test_a_plan_says_by_what_architectures_are_compared_with_shared_weights(patient: Judge) -> None:
    sizes = [len(choice.options) for choice in patient.space.choices()]
    work = from_supernet(uniform(sizes, N_CHOICES), n_epochs=8)
    by_mrr = SearchPlan(strategy=StrategyName.ONE_SHOT, shared_score=SharedScore.MRR)
    by_loss, by_rank = (
        Judge(small_search(StrategyName.ONE_SHOT, plan=plan), CPU).do([work])
        for plan in (None, by_mrr)
    )

    assert by_loss[0]["controller"] != by_rank[0]["controller"]


def test_an_alignment_cannot_compare_by_rank() -> None:
    plan = SearchPlan(strategy=StrategyName.HYBRID, shared_score=SharedScore.MRR)
    with pytest.raises(SettingsError, match="does not see the architecture"):
        Judge(small_search(StrategyName.HYBRID, data=ALIGNMENT, plan=plan), CPU)


def test_a_precision_that_the_device_does_not_have_is_refused_before_any_trial() -> None:
    with pytest.raises(SettingsError, match="precision is mixed"):
        Judge(small_search(settings={"precision": Precision.MIXED}), CPU)
