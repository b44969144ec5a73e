"""What a run was made with."""

import json
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from interstellar.records.environment import (
    describe_environment,
    find_commit,
    find_version,
    has_changes,
)
from tests.imported_modules import list_imported


def make_checkout(folder: Path, message: str = "first") -> None:
    folder.mkdir()
    (folder / "tracked").write_text("1")
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*name, "commit", "-q", "-m", message]):
        subprocess.run(["git", "-C", folder, *arguments], check=True)


def test_the_description_fits_into_json_and_names_versions_and_device() -> None:
    found = describe_environment("a device")

    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["device"] == "a device"
    assert found["cpu"]
    versions = found["versions"]
    assert isinstance(versions, dict)
    assert versions["python"] == platform.python_version()
    assert versions["torch"] == metadata.version("torch")
    assert versions["interstellar"] == metadata.version("interstellar-kg")


def test_describing_imports_no_torch() -> None:
    code = (
        "from interstellar.records.environment import describe_environment;"
        "describe_environment('cpu')"
    )

    assert list_imported(code, "torch") == []


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert find_version("no-such-package-anywhere") is None


def test_a_checkout_has_a_commit_and_may_have_changes(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    make_checkout(folder)

    commit = find_commit(folder)

    assert commit is not None
    assert len(commit) == 40
    assert has_changes(folder) is False
    (folder / "tracked").write_text("2")
    assert has_changes(folder) is True


def test_a_folder_that_a_checkout_around_it_does_not_track_has_no_commit(tmp_path: Path) -> None:
    make_checkout(tmp_path / "checkout")
    inside = tmp_path / "checkout" / "site-packages"
    inside.mkdir()
    (inside / "module").write_text("1")

    assert find_commit(inside) is None
    assert find_commit(tmp_path) is None


def test_a_repository_named_in_the_environment_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_checkout(tmp_path / "ours")
    ours = find_commit(tmp_path / "ours")
    make_checkout(tmp_path / "other", message="another")

    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / ".git" / "index"))

    assert find_commit(tmp_path / "ours") == ours
    assert has_changes(tmp_path / "ours") is False


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    found = describe_environment("cpu")

    assert found["commit"] is None
    assert found["commit_has_changes"] is None
