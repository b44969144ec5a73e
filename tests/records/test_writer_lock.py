"""One writer, and never a dead one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interstellar.errors import SettingsError
from interstellar.records.writer_lock import holding_lock

HOLDER = """
import os, sys, time
from pathlib import Path
from interstellar.records.writer_lock import holding_lock
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
        with pytest.raises(SettingsError, match="cannot be opened"), holding_lock(path):
            pass

    assert not (tmp_path / "victim").exists()
