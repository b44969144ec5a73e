"""The judge: what a proposal earns is what training it earns, and a bad one ends with a reason."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.coordinates import N_CHOICES, N_MACRO
from interstellar.architecture.notation import code_text, read_architecture
from interstellar.engine.engine import Plain
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.searching import judge as judge_module
from interstellar.searching.judge import Judge, build_workbench
from interstellar.searching.natural_gradient import uniform
from interstellar.searching.search_experiment import (
    SearchPlan,
    SharedScore,
    StrategyName,
    search_text,
)
from interstellar.searching.strategy import FromScratch, Relaxed, WithSettings, WithSharedWeights
from interstellar.searching.works import from_plain, to_plain, told_outcome
from interstellar.tasks.kept_graph import save_graph
from interstellar.tasks.training_run import train_run
from interstellar.training import group_training
from interstellar.training.settings import Precision, Selection, SettingsChanges
from tests.searching.fake_workbench import COMPL_EX, P_TRANS_E, TRANS_E
from tests.searching.small_searches import CPU, small_search

ALIGNMENT = "synthetic-alignment:entities=60"
LONG: SettingsChanges = {"max_epochs": 6}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)


@pytest.fixture(scope="module")
def patient() -> Judge:
    """A judge whose trials take six epochs."""
    return Judge(small_search(settings=LONG), CPU)


def from_scratch(architecture: Architecture, number: int = 0, **more: Any) -> Plain:
    return to_plain(FromScratch(number=number, architecture=architecture)) | {"bar": None, **more}


def without_time(outcome: Plain) -> Plain:
    return {key: value for key, value in outcome.items() if key != "seconds"}


def test_a_trial_earns_what_training_it_earns(tmp_path: Path) -> None:
    search = small_search(architecture=code_text(COMPL_EX))
    trained = train_run(search.experiment, tmp_path / "run", device=CPU)

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
        work = to_plain(WithSettings(number=0, changes=changes))
        return without_time(judge.do([work | {"bar": None}])[0])

    before, changed, after = tune(dropout=0.0), tune(dropout=0.5, dim=16), tune(dropout=0.0)

    assert before == after
    assert before != changed


def test_a_hopeless_trial_is_stopped_with_what_it_has_earned(patient: Judge) -> None:
    [whole] = patient.do([from_scratch(TRANS_E)])
    [stopped] = patient.do([from_scratch(TRANS_E, bar=[2.0] * 6)])

    assert (stopped["stopped"], stopped["epochs"]) == ("hopeless", 2)
    assert stopped["curve"] == whole["curve"][:2]
    assert stopped["score"] == max(stopped["curve"])


def test_a_trial_at_its_end_is_called_neither_hopeless_nor_late() -> None:
    judge = Judge(small_search(), CPU)

    [hopeless] = judge.do([from_scratch(TRANS_E, bar=[0.0, 2.0])])
    [late] = judge.do([from_scratch(TRANS_E, bar=[0.0, 2.0], seconds_left=-1.0)])
    [ended] = Judge(small_search(settings={"max_epochs": 1}), CPU).do(
        [from_scratch(TRANS_E, seconds_left=-1.0)]
    )

    assert (hopeless["epochs"], hopeless["stopped"]) == (2, None)
    assert (late["epochs"], late["stopped"]) == (1, "time")
    assert (ended["epochs"], ended["stopped"]) == (1, None)


def test_a_trial_out_of_time_is_stopped_after_the_epoch_it_is_at(patient: Judge) -> None:
    [outcome] = patient.do([from_scratch(TRANS_E, seconds_left=0.0)])

    assert (outcome["stopped"], outcome["epochs"]) == ("time", 1)


def test_a_loss_that_is_not_finite_ends_the_trial_with_the_reason() -> None:
    judge = Judge(small_search(settings={"learning_rate": 1e30}), CPU)

    [outcome] = judge.do([from_scratch(read_architecture("RSN"))])

    assert "not a finite number at step" in outcome["failure"]
    assert (outcome["score"], outcome["stopped"]) == (None, None)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError("no room for it")]
)
@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("Training", from_scratch(TRANS_E)),
        (
            "Supernet",
            to_plain(
                WithSharedWeights(
                    number=0, macro=None, controller=uniform([2] * N_CHOICES, N_CHOICES), n_epochs=1
                )
            ),
        ),
        ("Supernet", to_plain(Relaxed(number=0, n_epochs=1))),
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
    assert told_outcome(from_plain(work), outcome) is None


def test_a_fault_of_the_program_is_no_fault_of_the_trial(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(judge_module, "Training", fail)

    with pytest.raises(ZeroDivisionError):
        patient.do([from_scratch(TRANS_E)])


def test_a_shared_round_moves_the_controller_the_same_way_each_time(patient: Judge) -> None:
    sizes = [len(choice.options) for choice in patient.space.choices()][N_MACRO:]
    proposal = WithSharedWeights(
        number=2, macro=COMPL_EX.macro, controller=uniform(sizes, N_CHOICES), n_epochs=1
    )

    first, again = (patient.do([to_plain(proposal)])[0]["controller"] for _ in range(2))

    assert first == again
    assert first != proposal.controller.as_dict()
    assert [len(theta) for theta in first["theta"]] == sizes


def test_a_supernet_stops_where_it_is_when_the_time_is_over(patient: Judge) -> None:
    controller = uniform([len(c.options) for c in patient.space.choices()], N_CHOICES)
    proposal = WithSharedWeights(number=0, macro=None, controller=controller, n_epochs=10**6)
    relaxed = Relaxed(number=0, n_epochs=10**6)

    [shared] = patient.do([to_plain(proposal) | {"seconds_left": 0.0}])
    [mixed] = patient.do([to_plain(relaxed) | {"seconds_left": 0.0}])

    assert shared["controller"] == controller.as_dict()
    assert all(len(set(options)) == 1 for options in mixed["weights"])


def test_a_round_of_hybrid_search_that_is_out_of_time_is_left_undone(patient: Judge) -> None:
    sizes = [len(choice.options) for choice in patient.space.choices()][N_MACRO:]
    proposal = WithSharedWeights(
        number=2, macro=COMPL_EX.macro, controller=uniform(sizes, N_CHOICES), n_epochs=10**6
    )

    [cut] = patient.do([to_plain(proposal) | {"seconds_left": 0.1}])

    assert cut == {"stopped": "time"}


def test_what_is_done_later_has_the_time_that_is_left_then(
    monkeypatch: pytest.MonkeyPatch, patient: Judge
) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))
    left: list[float] = []

    def note(_: Judge, work: Plain) -> Plain:
        left.append(work["seconds_left"])
        return {}

    monkeypatch.setattr(Judge, "_do_one", note)

    patient.do([to_plain(Relaxed(number=i, n_epochs=1)) | {"seconds_left": 9.0} for i in range(3)])

    assert left == [8.0, 7.0, 6.0]


def test_a_relaxed_supernet_gives_a_weight_to_each_option(patient: Judge) -> None:
    [outcome] = patient.do([to_plain(Relaxed(number=0, n_epochs=1))])

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
    relaxed = to_plain(Relaxed(number=1, n_epochs=1))

    outcomes = patient.do([from_scratch(TRANS_E), relaxed, from_scratch(COMPL_EX, 2)])

    assert groups == [2]
    assert ["weights" in outcome for outcome in outcomes] == [False, True, False]
    assert outcomes[2]["curve"] == pytest.approx(
        patient.do([from_scratch(COMPL_EX)])[0]["curve"], abs=0.02
    )


def test_of_trials_trained_together_each_is_stopped_by_its_own_bar_and_time(
    patient: Judge,
) -> None:
    outcomes = patient.do(
        [
            from_scratch(TRANS_E, bar=[2.0] * 6),
            from_scratch(COMPL_EX, seconds_left=0.0),
            from_scratch(P_TRANS_E, seconds_left=600.0),
        ]
    )

    assert [outcome["stopped"] for outcome in outcomes] == ["hopeless", "time", None]
    assert [outcome["epochs"] for outcome in outcomes] == [2, 1, 6]


def test_trials_that_lose_patience_together_are_not_called_hopeless() -> None:
    """Nothing is learnt at this rate, so each of them is over after its second validation."""
    judge = Judge(
        small_search(settings={"max_epochs": 6, "patience": 1, "learning_rate": 1e-30}), CPU
    )
    works = [from_scratch(a, n, bar=[2.0] * 6) for n, a in enumerate((TRANS_E, COMPL_EX))]

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
    run = RunFolder.create(tmp_path / "run", experiment=search_text(search), environment={})
    save_graph(run, judge.task.graph)
    workbench = build_workbench({"run": str(run.path)}, "cpu")

    [there], [here] = (do([from_scratch(TRANS_E)]) for do in (workbench, judge.do))

    assert without_time(there) == without_time(here)


@pytest.mark.parametrize("data", ["synthetic:entities=60", ALIGNMENT])
def test_a_metric_that_the_data_does_not_have_is_refused_before_any_trial(data: str) -> None:
    with pytest.raises(SettingsError, match="selection is auc_pr"):
        Judge(small_search(data=data, settings={"selection": Selection.AUC_PR}), CPU)


def test_a_plan_says_by_what_architectures_are_compared_with_shared_weights(patient: Judge) -> None:
    sizes = [len(choice.options) for choice in patient.space.choices()]
    proposal = WithSharedWeights(
        number=0, macro=None, controller=uniform(sizes, N_CHOICES), n_epochs=8
    )
    by_mrr = SearchPlan(strategy=StrategyName.ONE_SHOT, shared_score=SharedScore.MRR)
    by_loss, by_rank = (
        Judge(small_search(StrategyName.ONE_SHOT, plan=plan), CPU).do([to_plain(proposal)])
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
