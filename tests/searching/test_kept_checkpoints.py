"""Checkpoints of trials: of whom they are kept, and how much room they take."""

from pathlib import Path

import pytest

from interstellar.engine.engine import OnProgress, Plain, ThisProcess, Workbench
from interstellar.records.journal import Journal
from interstellar.searching import kept_checkpoints
from interstellar.searching.kept_checkpoints import MOST_KEPT, worth_keeping
from interstellar.searching.trial import Stop, Trial
from interstellar.searching.trials import Trials
from tests.searching.fake_workbench import (
    N_EPOCHS,
    RUNGS,
    FakeWorkbench,
    Listed,
    draw,
    open_loop,
    trained,
)

NETWORKS = draw(30)


def trial(
    number: int,
    score: float,
    n_epochs: int,
    *,
    seed: int | None = None,
    of: int | None = None,
    is_late: bool = False,
) -> Trial:
    """Return a trial, or a repetition of another."""
    stopped = Stop.TIME if is_late else Stop.RUNG if n_epochs < N_EPOCHS else None
    architecture = NETWORKS[number if of is None else of]
    result = trained(score, n_epochs, stopped)
    return Trial(number=number, architecture=architecture, result=result, seed=seed)


def test_checkpoints_are_kept_of_the_winner_the_best_and_those_that_wait() -> None:
    waits = [trial(number, number / 100, 1) for number in range(20)]
    ended = [trial(number, number / 1000, N_EPOCHS) for number in range(20, 25)]
    late = trial(25, 1.9, 1, is_late=True)
    lost = trial(-2, 0.1, N_EPOCHS, seed=1, of=26)
    winner, again = trial(27, 0.01, N_EPOCHS), trial(-1, 0.01, N_EPOCHS, seed=1, of=27)

    kept = worth_keeping(Trials([*waits, *ended, late, lost, winner, again]))

    assert kept[:3] == [27, -1, 25]
    assert set(kept) == {27, -1, 25, -2, *range(20 - MOST_KEPT, 20)}


def leaving_off(folder: Path) -> Workbench:
    """Return a workbench that leaves a checkpoint of one byte of each trial."""
    workbench = FakeWorkbench()
    folder.mkdir()

    def leave_off(work: Plain, _: OnProgress) -> Plain:
        (folder / f"{work['number']}.safetensors").write_text("x")
        return workbench(work)

    return leave_off


def test_checkpoints_take_no_more_than_their_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_checkpoints, "MOST_BYTES", 3)
    folder = tmp_path / "trials"
    engine = ThisProcess(leaving_off(folder))

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed(draw(30)), rungs=RUNGS, checkpoints=folder)
        loop.run(engine)

    kept = {int(file.stem) for file in folder.iterdir()}
    assert kept == set(worth_keeping(loop.trials)[:3])


def test_only_checkpoints_that_may_be_of_use_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "trials"
    leave_off = leaving_off(folder)

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed(draw(60)), rungs=RUNGS, checkpoints=folder)
        loop.run(ThisProcess(leave_off))
        engine = ThisProcess(leave_off)
        loop.finish(engine, loop.trials.ranked[:2], seeds=[1])

    kept = {int(file.stem) for file in folder.iterdir()}
    assert kept == set(worth_keeping(loop.trials))
    assert {-1, -2} | {trial.number for trial in loop.trials.ranked[:3]} <= kept
    assert len(kept) <= 2 * MOST_KEPT + 2
