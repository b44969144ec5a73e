"""Checkpoints: the newest good one is always found."""

import errno
import math
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from interstellar.errors import DataError
from interstellar.training.checkpoints import (
    Checkpoint,
    load_checkpoint,
    load_latest,
    remove_checkpoints,
    save_checkpoint,
    write_checkpoint,
)

KINDS = (
    torch.int64,
    torch.float64,
    torch.uint8,
    torch.bfloat16,
    torch.float32,
    torch.float16,
    torch.int32,
    torch.bool,
)


def make_checkpoint(epoch: int, n: int = 5) -> Checkpoint:
    tensors = {"weights": torch.full((n,), float(epoch)), "step": torch.tensor(epoch)}
    return Checkpoint(epoch=epoch, tensors=tensors, metadata={"best": 0.1 + epoch})


def save_all(folder: Path, *epochs: int) -> list[Path]:
    return [save_checkpoint(folder, make_checkpoint(epoch)) for epoch in epochs]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def latest_epoch(folder: Path) -> int | None:
    found = load_latest(folder).checkpoint
    return None if found is None else found.epoch


def bits(tensor: torch.Tensor) -> list[int]:
    numbers: list[int] = tensor.reshape(-1).view(torch.uint8).tolist()
    return numbers


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_tensors_of_every_kind_come_back_bit_for_bit(tmp_path: Path, kind: torch.dtype) -> None:
    raw = torch.randint(0, 256, (48,), dtype=torch.uint8, generator=torch.Generator())
    tensor = raw > 99 if kind is torch.bool else raw.view(kind).reshape(2, -1)

    path = save_checkpoint(tmp_path, Checkpoint(epoch=1, tensors={"a": tensor}, metadata={}))

    back = load_checkpoint(path).tensors["a"]
    assert back.dtype == kind
    assert back.shape == tensor.shape
    assert bits(back) == bits(tensor)


def test_views_scalars_empty_and_shared_tensors_come_back(tmp_path: Path) -> None:
    base = torch.arange(12.0, requires_grad=True).reshape(3, 4)
    tensors = {
        "whole": base,
        "turned": base.T,
        "row": base[1],
        "one": torch.tensor(7),
        "none": torch.zeros(0, 3),
        'odd "name" ü\n': torch.ones(1),
    }

    path = save_checkpoint(tmp_path, Checkpoint(epoch=0, tensors=tensors, metadata={}))

    back = load_checkpoint(path).tensors
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)
    back["row"].add_(1)


def test_metadata_comes_back_exactly(tmp_path: Path) -> None:
    metadata = {"score": 0.1 + 0.2, "best": -math.inf, "reports": [{"loss": 1e-300}], "a": None}

    save_checkpoint(tmp_path, Checkpoint(epoch=3, tensors={}, metadata=metadata))

    latest = load_latest(tmp_path)
    assert latest.checkpoint is not None
    assert latest.checkpoint.metadata == metadata
    assert latest.damaged == ()


def test_a_flip_of_any_byte_is_noticed_and_the_one_before_is_used(tmp_path: Path) -> None:
    _, newest = save_all(tmp_path, 1, 2)
    whole = newest.read_bytes()

    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        newest.write_bytes(changed)
        latest = load_latest(tmp_path)
        assert latest.checkpoint is not None
        assert latest.checkpoint.epoch == 1, place
        [sentence] = latest.damaged
        assert newest.name in sentence


def test_a_file_cut_at_any_byte_is_noticed_and_the_one_before_is_used(tmp_path: Path) -> None:
    _, newest = save_all(tmp_path, 1, 2)
    whole = newest.read_bytes()

    for n_bytes in range(len(whole)):
        newest.write_bytes(whole[:n_bytes])
        assert latest_epoch(tmp_path) == 1
    newest.write_bytes(whole + b"\0")
    assert latest_epoch(tmp_path) == 1
    newest.write_bytes(whole)
    assert latest_epoch(tmp_path) == 2


def test_a_deleted_file_leaves_the_one_before(tmp_path: Path) -> None:
    _, newest = save_all(tmp_path, 1, 2)

    newest.unlink()

    assert latest_epoch(tmp_path) == 1


def test_an_empty_folder_has_no_checkpoint(tmp_path: Path) -> None:
    latest = load_latest(tmp_path)

    assert latest.checkpoint is None
    assert latest.damaged == ()
    assert load_latest(tmp_path / "missing").checkpoint is None
    with pytest.raises(DataError, match="is not a file"):
        load_checkpoint(tmp_path / "state.safetensors")


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    save_all(tmp_path, 1, 2, 3, 4, 4)

    assert names_in(tmp_path) == ["epoch-000003.safetensors", "epoch-000004.safetensors"]


def test_all_are_removed_and_nothing_else(tmp_path: Path) -> None:
    save_all(tmp_path, 1, 2)
    (tmp_path / "notes.txt").write_text("not ours")

    remove_checkpoints(tmp_path)

    assert names_in(tmp_path) == ["notes.txt"]


def test_a_state_under_a_name_of_its_own_comes_back(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "state.safetensors", make_checkpoint(7))

    assert load_checkpoint(tmp_path / "state.safetensors").epoch == 7
    assert latest_epoch(tmp_path) is None


def test_a_folder_that_was_not_copied_along_is_made_again(tmp_path: Path) -> None:
    save_all(tmp_path / "checkpoints", 1)

    assert latest_epoch(tmp_path / "checkpoints") == 1


def test_going_on_before_a_damaged_checkpoint_removes_it(tmp_path: Path) -> None:
    for path in save_all(tmp_path, 8, 9)[1:]:
        path.write_bytes(b"damaged")
    (tmp_path / ".epoch-000010.safetensors.0123abcd.draft").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("not ours")

    save_checkpoint(tmp_path, make_checkpoint(8))
    save_checkpoint(tmp_path, make_checkpoint(10))

    assert names_in(tmp_path) == [
        "epoch-000008.safetensors",
        "epoch-000010.safetensors",
        "notes.txt",
    ]


def raise_disk_full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_leaves_the_checkpoints_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    save_all(tmp_path, 1, 2)
    before = names_in(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(os, function, raise_disk_full)
        with pytest.raises(OSError, match="No space left"):
            save_all(tmp_path, 3)

    assert names_in(tmp_path) == before
    assert latest_epoch(tmp_path) == 2


def test_a_write_that_does_not_fit_leaves_the_checkpoints_before(tmp_path: Path) -> None:
    save_all(tmp_path, 1, 2)
    code = (
        "import resource, signal, sys, pathlib\n"
        "from tests.training.test_checkpoints import make_checkpoint, save_checkpoint\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "save_checkpoint(pathlib.Path(sys.argv[1]), make_checkpoint(3, n=5000))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert names_in(tmp_path) == ["epoch-000001.safetensors", "epoch-000002.safetensors"]
    assert latest_epoch(tmp_path) == 2


def rename(path: Path) -> None:
    path.rename(path.with_name("epoch-000009.safetensors"))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pickle(path: Path) -> None:
    torch.save({"a": torch.ones(2)}, path)


@pytest.mark.parametrize("harm", [rename, make_folder, make_pickle])
def test_what_is_no_checkpoint_is_passed_over(
    tmp_path: Path, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    harm(save_all(tmp_path, 1, 2)[1])

    latest = load_latest(tmp_path)

    assert latest.checkpoint is not None
    assert latest.checkpoint.epoch == 1
    assert len(latest.damaged) == 1
    assert "Passed over" in caplog.text


def test_a_checkpoint_of_a_newer_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.training.checkpoints.VERSION", 2)
    [path] = save_all(tmp_path, 1)
    monkeypatch.undo()

    with pytest.raises(DataError, match=r"version 2 .* newer interstellar"):
        load_checkpoint(path)


def test_a_checkpoint_is_written_and_read_without_a_copy_in_memory(tmp_path: Path) -> None:
    checkpoint = Checkpoint(epoch=1, tensors={"table": torch.ones(2**22)}, metadata={})
    path = tmp_path / "state.safetensors"

    tracemalloc.start()
    write_checkpoint(path, checkpoint)
    found = load_checkpoint(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert path.stat().st_size > 2**24
    assert peak < 2**22  # a quarter of the file
    assert torch.equal(found.tensors["table"], checkpoint.tensors["table"])
