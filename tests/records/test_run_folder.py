"""The folder of a run: whole or not there, with one writer, and never a dead one."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interstellar.errors import DataError, SettingsError, WriteError
from interstellar.records.run_folder import RunFolder, holding_lock


def make_run(path: Path) -> RunFolder:
    return RunFolder.create(path, experiment="seed = 0\n", environment={"device": "cpu"})


def test_a_run_is_whole_from_its_first_moment(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "one")

    assert run == RunFolder.open(tmp_path / "runs" / "one")
    assert sorted(child.name for child in run.path.iterdir()) == [
        "checkpoints",
        "environment.json",
        "experiment.toml",
        "journal.jsonl",
        "names",
    ]
    assert run.experiment_file.read_text() == "seed = 0\n"
    assert run.read_environment() == {"device": "cpu"}
    assert list(run.read_events()) == []
    assert [child.name for child in run.path.parent.iterdir()] == ["one"]


@pytest.mark.parametrize("kind", ["empty folder", "run", "file", "dangling link"])
def test_a_run_never_takes_the_place_of_what_exists(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "run":
        make_run(path)
    elif kind == "file":
        path.touch()
    else:
        path.symlink_to(tmp_path / "nowhere")

    with pytest.raises(SettingsError, match="by `resume`, or choose a new folder"):
        make_run(path)


def test_a_run_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(WriteError, match=r"file/run cannot be written .* in the way"):
        make_run(tmp_path / "file" / "run")


def test_what_is_no_run_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.environment_file.unlink()
    run.journal_file.unlink()

    with pytest.raises(SettingsError, match=r"lacks environment\.json, journal\.jsonl"):
        RunFolder.open(run.path)
    with pytest.raises(SettingsError, match="is a file"):
        RunFolder.open(run.experiment_file)
    with pytest.raises(SettingsError, match="does not exist"):
        RunFolder.open(tmp_path / "none")


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    text = run.environment_file.read_text()
    run.environment_file.write_text(text.replace('"version": 1', '"version": 9'))

    with pytest.raises(DataError, match=r"version 9 .* newer interstellar"):
        RunFolder.open(run.path)


def test_one_writer_writes_while_others_read(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")

    with run.writing() as journal:
        journal.append("trial", score=1.0)
        with pytest.raises(SettingsError, match="one writer"), run.writing():
            pass
        assert [event["event"] for event in RunFolder.open(run.path).read_events()] == ["trial"]

    with run.writing() as journal:
        assert len(journal.events()) == 1


def test_a_writer_removes_what_a_killed_one_left_half_written(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    mine = (tmp_path / ".other.0123abcd.draft", run.path / ".my.draft")
    left = (
        run.path / ".result.json.0123abcd.draft",
        run.names_folder / ".entities.jsonl.0123abcd.draft",
        run.checkpoints_folder / ".epoch-000001.safetensors.0123abcd.draft",
    )
    for path in (*mine, *left):
        path.write_text("{")
    beside = tmp_path / ".run.0123abcd.draft"
    make_run(beside)

    with run.writing():
        assert not any(path.exists() for path in (*left, beside))

    assert all(path.exists() for path in mine)


def test_a_full_disk_is_said_of_the_run_and_not_of_its_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill_disk)

    with pytest.raises(WriteError) as raised:
        make_run(tmp_path / "run")

    path = tmp_path / "run" / "environment.json"
    assert str(raised.value).startswith(f"{path} cannot be written (No space left on device).")
    assert raised.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_folder_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="File name too long"):
        make_run(tmp_path / (300 * "x"))
    with pytest.raises(SettingsError, match="does not exist, but a run is a folder"):
        RunFolder.open(tmp_path / (300 * "x"))


def test_a_result_comes_back_and_can_be_replaced(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert not run.result_file.exists()
    with pytest.raises(SettingsError, match=r"not finished\. Go on with it by `resume`"):
        run.read_result()

    run.write_result({"metrics": {"valid": {"mrr": 0.25}}})
    run.write_result({"metrics": {"valid": {"mrr": 0.5}}})

    assert run.is_finished
    assert run.read_result() == {"metrics": {"valid": {"mrr": 0.5}}}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text()))
def test_names_come_back_whatever_they_hold(tmp_path: Path, names: list[str]) -> None:
    run = RunFolder(tmp_path)

    run.save_names("entities", pa.array(names, pa.string()))

    assert run.read_names("entities").to_pylist() == names
    written = (run.names_folder / "entities.jsonl").read_text(encoding="utf-8").split("\n")[1:-1]
    assert written == [json.dumps(name, ensure_ascii=False) for name in names]


def test_names_that_were_cut_or_altered_are_refused(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.save_names("entities", pa.array(["a", "tab\tand\nline", "c"]))
    path = run.names_folder / "entities.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(DataError, match="holds 2 names, but its first line says 3"):
        run.read_names("entities")
    path.write_bytes(b"".join([*lines[:2], b"[]\n", *lines[3:]]))
    with pytest.raises(DataError, match=r"entities\.jsonl:3 is not a JSON string"):
        run.read_names("entities")
    path.write_bytes(b"".join([*lines[:2], b'"\\ud800"\n', *lines[3:]]))
    with pytest.raises(DataError, match=r"entities\.jsonl:3 is not a JSON string of whole"):
        run.read_names("entities")
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"entities\.jsonl:1 is empty"):
        run.read_names("entities")
    path.write_bytes(b"".join([lines[0].replace(b": 1,", b": 2,"), *lines[1:]]))
    with pytest.raises(DataError, match="newer interstellar"):
        run.read_names("entities")
    path.unlink()
    with pytest.raises(DataError, match="holds no such names"):
        run.read_names("entities")


HOLDER = """
import os, sys, time
from pathlib import Path
from interstellar.records.run_folder import holding_lock
with holding_lock(Path(sys.argv[1])):
    child = 1
    if "fork" in sys.argv:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(1)
            os.write(writing, b"!")
            time.sleep(60)
        os.read(reading, 1)  # the child runs, so it has let go of what it inherited
    print(child, flush=True)
    time.sleep(60)
"""


def start_holder(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(path), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_second_writer_in_this_process_is_refused_with_our_process_id(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    with (
        holding_lock(path),
        pytest.raises(SettingsError, match=f"written by process {os.getpid()},"),
        holding_lock(path),
    ):
        pass

    with holding_lock(path):
        assert path.read_text() == f"{os.getpid()}\n"
    assert path.read_text() == ""


def test_a_writer_in_another_process_is_named_and_its_death_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with start_holder(path) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()

        with pytest.raises(SettingsError, match=f"process {holder.pid},"), holding_lock(path):
            pass

        holder.kill()
        holder.wait()
        with holding_lock(path):
            pass


def test_a_forked_child_that_outlives_the_writer_does_not_hold_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with start_holder(path, "fork") as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        try:
            with pytest.raises(SettingsError, match="one writer"), holding_lock(path):
                pass
            holder.kill()
            holder.wait()

            with holding_lock(path):
                pass
        finally:
            os.kill(child, signal.SIGKILL)


def test_an_error_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), holding_lock(tmp_path / "lock"):
        raise RuntimeError("the writer failed")

    with holding_lock(tmp_path / "lock"):
        pass


def test_a_lock_without_a_folder_or_through_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")

    for path in (tmp_path / "none" / "lock", tmp_path / "link"):
        with pytest.raises(WriteError, match=f"{path} cannot be written"), holding_lock(path):
            pass

    assert not (tmp_path / "victim").exists()
