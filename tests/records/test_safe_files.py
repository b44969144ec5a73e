"""Files and folders that appear whole or not at all."""

import errno
import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from interstellar.errors import SettingsError, WriteError
from interstellar.records.safe_files import (
    find_run_around,
    new_folder,
    refuse_taken,
    replacing_file,
)


def write_half(path: Path) -> None:
    with replacing_file(path) as file:
        file.write(b"half")
        raise RuntimeError("the writer failed")


def fill_half(path: Path) -> None:
    with new_folder(path) as draft:
        (draft / "one").write_text("half")
        raise RuntimeError("the writer failed")


def test_a_file_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    with replacing_file(path) as file:
        file.write(b"after")
        assert path.read_text() == "before"

    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_file_before_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    with pytest.raises(RuntimeError, match="the writer failed"):
        write_half(path)

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    with new_folder(path) as draft:
        (draft / "one").write_text("1")
        assert not path.exists()

    assert [child.name for child in path.iterdir()] == ["one"]


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the writer failed"):
        fill_half(tmp_path / "folder")

    assert list(tmp_path.iterdir()) == []


def test_what_exists_and_what_has_no_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nothing is overwritten"), new_folder(tmp_path):
        pass
    with pytest.raises(WriteError, match="is not a folder"), new_folder(tmp_path / "a" / "b"):
        pass
    with pytest.raises(WriteError, match="is not a folder"), replacing_file(tmp_path / "a" / "b"):
        pass
    with pytest.raises(WriteError, match=r"It is a folder"), replacing_file(tmp_path):
        pass


TOO_LONG = 300 * "x"


def test_a_file_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=r"x cannot be written \(File name too long\). Choose a sh"),
        replacing_file(tmp_path / TOO_LONG) as file,
    ):
        file.write(b"all of it")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_the_system_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)

    with (
        pytest.raises(WriteError, match=r"folder cannot be written \(Permission denied\)"),
        new_folder(tmp_path / "folder"),
    ):
        pass


def test_what_the_writer_fails_at_keeps_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing_file(tmp_path / "file"):
        (tmp_path / "what was to be read").read_bytes()
    with pytest.raises(gzip.BadGzipFile), replacing_file(tmp_path / "file"):
        gzip.decompress(b"not packed")


def test_a_disk_that_is_full_is_said_of_the_file_with_one_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "file"

    with pytest.raises(WriteError) as raised, replacing_file(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    said = f"{path} cannot be written (No space left on device). Make room there"
    assert str(raised.value).startswith(said)
    assert raised.value.exit_code == 1
    assert raised.value.strerror == "No space left on device"


def test_a_failure_within_a_new_folder_names_the_file_that_is_to_be(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    with pytest.raises(WriteError, match=f"{path}/{TOO_LONG} cannot"), new_folder(path) as draft:
        (draft / TOO_LONG).touch()
    with (
        pytest.raises(WriteError, match=f"{path}/a is not a folder"),
        new_folder(path) as draft,
        replacing_file(draft / "a" / "b"),
    ):
        pass


@pytest.mark.parametrize("name", [63 * "🚀", 120 * "ä", 255 * "x"])
def test_the_longest_names_that_a_disk_takes_can_be_written(tmp_path: Path, name: str) -> None:
    with replacing_file(tmp_path / name) as file:
        file.write(b"all of it")

    assert (tmp_path / name).read_bytes() == b"all of it"


def test_a_link_keeps_naming_the_file_that_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)

    for content in (b"first, where there was nothing", b"then in place of the first"):
        with replacing_file(link) as file:
            file.write(content)

        assert link.is_symlink()
        assert target.read_bytes() == content
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_a_pipe_is_written_into_once_all_is_there(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    listener.start()

    with replacing_file(pipe) as file:
        file.write(b"he")
        file.seek(0)  # as those who write Parquet ask
        file.write(b"what was heard")
    assert pipe.is_fifo()
    listener.join(10)

    assert heard == [b"what was heard"]


def test_a_device_is_written_into() -> None:
    """A terminal, since in its folder nothing can be replaced, even if it were tried."""
    screen, terminal = os.openpty()
    device = Path(os.ttyname(terminal))

    with replacing_file(device) as file:
        file.write(b"what was shown")

    assert device.is_char_device()
    assert os.read(screen, 99) == b"what was shown"
    os.close(screen)
    os.close(terminal)


PRINTING = """
from pathlib import Path
from interstellar.records.safe_files import replacing_file
print("before")
with replacing_file(Path("/dev/stdout")) as file:
    file.write(b"within\\n")
print("after")
"""


@pytest.mark.parametrize("is_pipe", [True, False])
def test_standard_output_is_written_into_in_its_turn(tmp_path: Path, is_pipe: bool) -> None:
    path = tmp_path / "output"
    path.write_text("kept\n")
    with path.open("ab") as file:
        done = subprocess.run(
            [sys.executable, "-c", PRINTING],
            stdout=subprocess.PIPE if is_pipe else file,
            text=True,
            check=True,
        )

    printed = done.stdout if is_pipe else path.read_text().removeprefix("kept\n")
    assert printed.split() == ["before", "within", "after"]


def test_a_file_that_was_read_is_not_replaced_under_any_name(tmp_path: Path) -> None:
    read = tmp_path / "graph.tsv"
    read.write_text("a\tb\tc\n")
    link = tmp_path / "link.tsv"
    link.symlink_to(read)

    for path in (read, tmp_path / "x" / ".." / "graph.tsv", link):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(SettingsError, match="is what was read"):
            refuse_taken(path, (None, "no such set", read))


def test_no_file_of_a_run_is_replaced_and_a_new_one_may_lie_there(tmp_path: Path) -> None:
    for name in ("experiment.toml", "journal.jsonl", "result.json"):
        (tmp_path / name).write_text("")

    with pytest.raises(SettingsError, match="is a file of the run"):
        refuse_taken(tmp_path / "result.json", ())
    new = tmp_path / "alignment.tsv"
    refuse_taken(new, ())
    new.touch()
    with pytest.raises(SettingsError, match=f"{new} is a file of the run {tmp_path}"):
        refuse_taken(new, ())


def test_other_files_are_replaced(tmp_path: Path) -> None:
    answers = tmp_path / "answers.tsv"
    answers.write_text("before")

    refuse_taken(answers, (tmp_path / "graph.tsv", None, TOO_LONG))
    with replacing_file(answers) as file:
        file.write(b"after")

    assert answers.read_text() == "after"


def test_the_run_around_a_file_is_found_also_where_the_file_is_not_there_yet(
    tmp_path: Path,
) -> None:
    for name in ("experiment.toml", "journal.jsonl"):
        (tmp_path / name).touch()

    assert find_run_around(tmp_path / "deep" / "page.html") == tmp_path.resolve()
    assert find_run_around(tmp_path) is None
