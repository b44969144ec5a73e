"""How much memory is free, as far as one can tell."""

from pathlib import Path

import pytest
import torch

from interstellar.evaluation import memory

CPU = torch.device("cpu")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 1,000 KiB available and no groups yet."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    return tmp_path


def write_group(folder: Path, *, limit: str) -> None:
    (folder / "memory.max").write_text(limit + "\n")
    (folder / "memory.current").write_text("300000\n")
    (folder / "memory.stat").write_text("anon 5\ninactive_file 100000\n")


def test_half_of_what_the_system_has_may_be_used(system: Path) -> None:
    assert memory.usable_bytes(CPU) == 500 * 1024


def test_a_container_may_have_less(system: Path) -> None:
    write_group(system, limit="500000")

    assert memory.free_host_bytes() == 300_000


def test_a_container_without_a_limit_has_what_the_system_has(system: Path) -> None:
    write_group(system, limit="max")

    assert memory.free_host_bytes() == 1000 * 1024


def test_where_the_system_does_not_say_something_is_assumed(system: Path) -> None:
    (system / "meminfo").unlink()

    assert memory.free_host_bytes() == memory.UNKNOWN_BYTES
