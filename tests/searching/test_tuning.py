"""Tuning: settings in the paper's ranges, the same again after a kill."""

from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.searching.budget import Budget
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.tuning import BATCH_SIZES, DIMS, RANGES, Tuning, as_begun
from interstellar.training.presets import COUNTRIES, LINK_PREDICTION
from interstellar.training.settings import TrainingSettings
from tests.searching.fake_workbench import TRANS_E, FakeWorkbench, events_of, lasting, run_loop


def propose(tuning: Tuning, n: int) -> list[dict[str, float | int]]:
    found: list[dict[str, float | int]] = []
    for _ in range(n):
        proposal = tuning.ask()
        found.append(dict(proposal.changes))
        tuning.tell(proposal.number, 1.0 - float(proposal.changes["dropout"]))
    return found


@pytest.mark.parametrize("with_dim", [True, False])
def test_everything_proposed_lies_in_the_ranges_and_makes_settings(with_dim: bool) -> None:
    proposed = propose(Tuning(LINK_PREDICTION, 0, with_dim=with_dim), 40)

    for changes in proposed:
        assert isinstance(replace(LINK_PREDICTION, **changes), TrainingSettings)  # type: ignore[arg-type]
        assert all(r.low <= changes[name] <= r.high for name, r in RANGES.items())
        assert changes["batch_size"] in BATCH_SIZES
        assert changes.get("dim") in (DIMS if with_dim else (None,))


def test_the_settings_that_a_tuning_begins_with_are_tried_first() -> None:
    [first] = propose(Tuning(LINK_PREDICTION, 0, with_dim=True), 1)

    assert replace(LINK_PREDICTION, **first) == LINK_PREDICTION  # type: ignore[arg-type]


def test_of_settings_outside_the_ranges_only_the_others_are_tried_first() -> None:
    """Countries has no weight decay, and that is below the range."""
    begun = as_begun(COUNTRIES)
    [first] = propose(Tuning(COUNTRIES, 0, with_dim=False), 1)

    assert "l2" not in begun
    assert first["l2"] > 0
    assert {name: first[name] for name in begun if name != "dim"} == {
        name: value for name, value in begun.items() if name != "dim"
    }


def test_a_seed_decides_what_is_proposed() -> None:
    first, again, other = (
        propose(Tuning(LINK_PREDICTION, seed, with_dim=False), 30) for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other


def test_a_tuning_believes_in_no_architecture() -> None:
    assert Tuning(LINK_PREDICTION, 0, with_dim=False).answer() is None


def test_what_a_tuning_keeps_it_does_not_propose() -> None:
    proposed = propose(Tuning(LINK_PREDICTION, 0, kept=("batch_size", "l2")), 12)

    assert {name for changes in proposed for name in changes} == {
        "learning_rate",
        "decay",
        "dropout",
    }


def test_a_tuning_cut_anywhere_and_resumed_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)

    def tune(path: Path) -> SearchLoop:
        tuning = Tuning(LINK_PREDICTION, 1, with_dim=True)
        return run_loop(path, tuning, FakeWorkbench(), Budget(trials=24), tuned=TRANS_E)

    whole = tune(tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)

    for n_lines in range(1, len(lines)):
        path = tmp_path / f"cut-{n_lines}"
        path.write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:20])
        resumed = tune(path)
        assert lasting(path) == lasting(tmp_path / "whole")
        assert resumed.trials.best == whole.trials.best


def test_each_choice_of_settings_is_a_trial_of_its_own(tmp_path: Path) -> None:
    tuning = Tuning(LINK_PREDICTION, 1, with_dim=False)

    loop = run_loop(tmp_path / "journal", tuning, FakeWorkbench(), Budget(trials=5), tuned=TRANS_E)

    assert len(loop.trials.trained) == 5
    assert len(events_of(tmp_path / "journal", "proposed")) == 5
    assert {trial.architecture for trial in loop.trials.ended} == {TRANS_E}
    assert loop.trials.best is not None
    assert loop.trials.best.changes["dropout"] == max(
        trial.changes["dropout"] for trial in loop.trials.ended
    )
