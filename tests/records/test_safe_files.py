"""Files and folders that appear whole or not at all."""

from pathlib import Path

import pytest

from interstellar.errors import SettingsError
from interstellar.records.safe_files import new_folder, replacing_file


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
    with pytest.raises(SettingsError, match="is not a folder"), new_folder(tmp_path / "a" / "b"):
        pass
    with pytest.raises(SettingsError, match="is a folder"), replacing_file(tmp_path):
        pass


TOO_LONG = 300 * "x"


def test_a_file_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"x cannot be made \(File name too long\)"),
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
        pytest.raises(SettingsError, match=r"folder cannot be made \(Permission denied\)"),
        new_folder(tmp_path / "folder"),
    ):
        pass


def test_what_the_writer_fails_at_keeps_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="disk is full"), replacing_file(tmp_path / "file"):
        raise OSError(28, "the disk is full")
