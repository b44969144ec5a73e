"""What a run was made with: versions, machine, device and commit."""

import os
import platform
import shutil
import subprocess
from contextlib import suppress
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "numpy", "pyarrow", "safetensors", "scipy")
"""Whose versions can change a number; none of them is imported for it."""

_PACKAGE_FOLDER = Path(__file__).parents[1]


def describe_environment(device: str) -> dict[str, object]:
    """Return what must be known to repeat a run; `device` is named as users do: `NVIDIA H200`."""
    commit = find_commit(_PACKAGE_FOLDER)
    return {
        "device": device,
        "platform": platform.platform(),
        "cpu": _find_cpu_name(),
        "n_cpus": os.cpu_count(),
        "commit": commit,
        "commit_has_changes": None if commit is None else has_changes(_PACKAGE_FOLDER),
        "versions": {
            "python": platform.python_version(),
            "interstellar": find_version("interstellar-kg"),
            **{name: find_version(name) for name in PACKAGES},
        },
    }


def find_version(distribution: str) -> str | None:
    """Return the installed version, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _find_cpu_name() -> str:
    """Return the model of the processor, or at least its kind."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, model = line.partition(":")
            if name.strip() == "model name":
                return model.strip()
    return platform.processor() or platform.machine()


def find_commit(folder: Path) -> str | None:
    """Return the commit of the checkout that tracks this folder, or None.

    A package installed below somebody else's checkout is not part of it, hence the look at
    what is tracked.
    """
    if not _ask_git(folder, "ls-files", "--", "."):
        return None
    return _ask_git(folder, "rev-parse", "HEAD") or None


def has_changes(folder: Path) -> bool | None:
    """Return whether the folder differs from its commit, or None where git cannot say."""
    answer = _ask_git(folder, "status", "--porcelain", "--", ".")
    return None if answer is None else bool(answer)


def _ask_git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, or None where there is no git, no checkout or no answer."""
    # GIT_DIR and its like name another repository; without locks `git status` writes nothing.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = [shutil.which("git") or "git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, check=True, timeout=20, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()
