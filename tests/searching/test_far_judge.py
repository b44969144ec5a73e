"""A judge that shares no disk with the search: its trials go on from where they stopped."""

from pathlib import Path

import pytest

from interstellar.engine.engine import Done, Engine, OnProgress, Plain, ThisProcess, ignore
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget, StrategyName
from interstellar.searching.far_judge import CarryingStates, build_far_workbench
from interstellar.searching.judge import Judge
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import build_strategy
from tests.searching.fake_workbench import lasting
from tests.searching.small_searches import CPU, small_plan, small_search

EXPERIMENT = small_search(
    StrategyName.RANDOM,
    settings={"epochs": 9},
    plan=small_plan(StrategyName.RANDOM, prune=True),
)


def search(path: Path, engine: Engine, trials: Path) -> None:
    rungs = Rungs.of(EXPERIMENT.settings, prune=True)
    with Journal.open(path) as journal:
        SearchLoop(
            build_strategy(EXPERIMENT),
            journal,
            Budget(trials=4),
            rungs=rungs,
            known={},
            checkpoints=trials,
        ).run(engine)


def test_a_search_whose_trials_are_elsewhere_is_the_search_whose_trials_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.searching.judge.is_worth_writing", lambda _: True)
    here, far = tmp_path / "here", tmp_path / "far"
    judge = Judge(EXPERIMENT, CPU, checkpoints=here)
    told: Plain = {"experiment": EXPERIMENT, "graph": judge.task.graph}
    sent: list[bool] = []
    workbench = build_far_workbench(told, "cpu")

    def look(work: Plain, on_progress: OnProgress) -> Plain:
        sent.append(work["state"] is not None)
        return workbench(work, on_progress)

    search(tmp_path / "journal-here", ThisProcess(judge.do), here)
    search(tmp_path / "journal-far", CarryingStates(ThisProcess(look), far), far)

    assert lasting(tmp_path / "journal-far") == lasting(tmp_path / "journal-here")
    assert True in sent
    kept = [sorted(path.name for path in folder.iterdir()) for folder in (here, far)]
    assert kept[0] == kept[1] != []


def test_a_state_for_which_there_is_no_room_is_left_out(tmp_path: Path) -> None:
    class Sending:
        """An engine that gives back a state."""

        n_free = 1

        def start(self, number: int, work: Plain) -> None:
            self.work = work

        def wait(
            self, deadline: float | None = None, on_progress: OnProgress = ignore
        ) -> list[Done]:
            return [Done(3, {"score": 0.5, "state": b"state"})]

        def close(self) -> None:
            pass

    (tmp_path / "trials").touch()  # a file, where there should be a folder
    engine = CarryingStates(Sending(), tmp_path / "trials")

    assert engine.wait() == [Done(3, {"score": 0.5})]
