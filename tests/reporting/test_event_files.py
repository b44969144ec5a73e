"""Event files say what the journal says, as TensorBoard itself reads them."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import interstellar as ist
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from tests.reporting.written_runs import SEARCHES, metrics, write_search, write_training

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")


def read(folder: Path) -> Any:
    """Return what the reader of TensorBoard finds in a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return events


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


def choices(folder: Path) -> dict[str, Any]:
    """Return the hyper-parameters and the score that the tab HParams shows."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found: dict[str, Any] = {}
    metadata = read(folder).summary_metadata
    for summary in metadata.values():
        data = HParamsPluginData.FromString(summary.plugin_data.content)
        for name, value in data.session_start_info.hparams.items():
            found[name] = getattr(value, value.WhichOneof("kind"))
    return found


def write(runs: Any, out: Path, **others: Any) -> Path:
    return ist.report(runs, out, format="tensorboard", **others)


def test_a_training_has_its_losses_and_metrics_by_epoch_and_when_they_were(tmp_path: Path) -> None:
    run = write_training(tmp_path / "run", [None, 0.25, 0.5], test=0.375)

    folder = write(run, tmp_path / "logs") / "run"

    assert points(folder, "loss") == [(1, 4.0), (2, 2.0), (3, pytest.approx(4 / 3))]
    assert points(folder, "valid/mrr") == [(2, 0.25), (3, 0.5)]
    assert points(folder, "test/mrr") == [(1, 0.375)]
    assert points(folder, "score")[-1][1] == metrics(0.5)["mrr"]
    times = [
        datetime.fromisoformat(str(event["time"])).timestamp()
        for event in RunFolder(run).read_events()
        if event["event"] == "epoch"
    ]
    walls = [event.wall_time for event in read(folder).Scalars("loss")]
    assert walls == pytest.approx(times, rel=0, abs=0.01)
    shown = choices(folder)
    assert (shown["architecture"], shown["dim"]) == ("O_r = s ⊗ r; v = O_r", 8)


def test_a_search_has_its_best_and_each_trial_its_choices(tmp_path: Path) -> None:
    trials: list[dict[str, Any]] = [
        {"score": 0.25, "changes": {"dropout": 0.5}},
        {"score": 0.75, "formula": "RSN"},
        {"score": 0.5, "formula": "ComplEx"},
        {"failure": "no memory", "formula": "DistMult"},
        {"score": 0.25, "reused": "proposal 0"},
    ]

    folder = write(write_search(tmp_path / "found", trials), tmp_path / "logs") / "found"

    assert points(folder, "best mrr") == [(1, 0.25), (2, 0.75), (3, 0.75)]
    assert points(folder, "score of a trial/mrr") == [(1, 0.25), (2, 0.75), (3, 0.5)]
    assert sorted(path.name for path in folder.glob("trial *")) == [
        f"trial {number:05d}" for number in range(4)
    ]
    assert points(folder / "trial 00001", "valid/mrr") == [(2, 0.75)]
    assert choices(folder / "trial 00000") == {
        "architecture": "O_r = s + r; v = O_r",
        "dropout": 0.5,
    }


def test_the_curve_of_a_trial_has_its_epochs(tmp_path: Path) -> None:
    run = SEARCHES / "dbp_wd_hybrid"

    folder = write(run, tmp_path / "logs") / "dbp_wd_hybrid" / "trial 00001"

    curve = points(folder, "valid/hits@1")
    assert [step for step, _ in curve] == list(range(1, 11))
    assert curve[-1][1] == pytest.approx(0.171429, abs=1e-6)


def test_several_runs_are_folders_beside_each_other(tmp_path: Path) -> None:
    runs = [write_training(tmp_path / name / "run", [0.5]) for name in ("a", "b")]

    folder = write(runs, tmp_path / "logs")

    assert points(folder / "a" / "run", "valid/mrr") == points(folder / "b" / "run", "valid/mrr")


def test_a_folder_of_event_files_is_replaced_only_if_asked_and_another_never(
    tmp_path: Path,
) -> None:
    run, logs = write_training(tmp_path / "run", [0.5]), tmp_path / "logs"
    write(run, logs)

    with pytest.raises(SettingsError, match="exists"):
        write(run, logs)
    write(run, logs, overwrite=True)
    assert points(logs / "run", "valid/mrr") == [(1, 0.5)]

    (logs / "mine.txt").write_text("kept")
    with pytest.raises(SettingsError, match=r"mine\.txt is no event file"):
        write(run, logs, overwrite=True)
    assert (logs / "mine.txt").read_text() == "kept"


def test_no_event_file_is_written_into_a_run_and_ranks_are_no_part_of_one(tmp_path: Path) -> None:
    run = write_training(tmp_path / "run", [0.5])
    before = sorted(run.rglob("*"))

    with pytest.raises(SettingsError, match="never writes into a run"):
        write(run, run / "logs")
    with pytest.raises(SettingsError, match="ranks"):
        write(run, tmp_path / "logs", ranks=True)

    assert sorted(run.rglob("*")) == before
    assert not (tmp_path / "logs").exists()


def test_without_tensorboard_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_training(tmp_path / "run", [0.5])
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)

    with pytest.raises(SettingsError, match=r'pip install "interstellar-kg\[tensorboard\]"'):
        write(run, tmp_path / "logs")

    assert not (tmp_path / "logs").exists()
