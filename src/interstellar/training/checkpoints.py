"""Checkpoints: what resuming needs, in files that show any damage.

`epoch-000012.safetensors` holds the tensors; its header holds the epoch, the metadata as JSON and a
SHA-256 of the whole file (taken with zeros in the place of the hash itself), so a file that was
cut or altered in any byte is known for it. The two newest and the best are kept. Nothing is ever
unpickled.
"""

import errno
import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from interstellar.errors import DataError
from interstellar.records.journal import sync_folder
from interstellar.records.json_files import check_format, parse_object
from interstellar.records.safe_files import draft_beside, replacing_file

VERSION = 1
N_KEPT = 2

_BEST = "best.safetensors"
_NAME = re.compile(r"epoch-([0-9]{6,9})\.safetensors")
_HASH = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_NO_HASH = b"0" * 64
_DAMAGED = "The file was cut or altered; an older checkpoint is needed."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """The state of a training after an epoch."""

    epoch: int
    tensors: Mapping[str, torch.Tensor]
    metadata: Mapping[str, object]
    """What else is to be remembered, of the types of JSON; NaN and infinities come back too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latest:
    """The newest checkpoint that can be used, and why newer ones cannot."""

    checkpoint: Checkpoint | None
    """On the CPU; None where there is none to be used."""
    damaged: tuple[str, ...]
    """A sentence for each file that was passed over, the newest first."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint, *, is_best: bool = False) -> Path:
    """Write a checkpoint, whole or not at all, and then remove what is no longer needed.

    Where writing fails (OSError), the checkpoints before it are still there.

    Args:
        folder: Exists, and has no other writer.
        checkpoint: Tensors of any device; views and shared storage are fine.
        is_best: Keep it as the best, in the place of the best before.
    """
    content = _to_bytes(checkpoint)
    path = folder / f"epoch-{checkpoint.epoch:06d}.safetensors"
    with replacing_file(path) as file:
        file.write(content)
    if is_best:
        _keep_as_best(path)
    sync_folder(folder)
    _prune(folder, newest=checkpoint.epoch)
    return path


def load_latest(folder: Path) -> Latest:
    """Return the newest checkpoint that is whole; if no other is, the best one."""
    damaged: list[str] = []
    paths = [path for _, path in sorted(_list_epochs(folder), reverse=True)]
    for path in [*paths, folder / _BEST]:
        if not os.path.lexists(path):
            continue
        try:
            return Latest(checkpoint=load_checkpoint(path), damaged=tuple(damaged))
        except DataError as error:
            logger.warning("Passed over: %s", error)
            damaged.append(str(error))
    return Latest(checkpoint=None, damaged=tuple(damaged))


def load_best(folder: Path) -> Checkpoint:
    """Return the checkpoint that was last saved as the best."""
    return load_checkpoint(folder / _BEST)


def load_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint in a file.

    Raises:
        DataError: The file is missing, damaged, no checkpoint, or of a newer version.
    """
    content = _read(path)
    header = _check_hash(content, path)
    try:
        entries = parse_object(header, f"The header of {path}")["__metadata__"]
        whole = json.loads(entries["checkpoint"])  # type: ignore[index]
        check_format(whole, str(path), kind="checkpoint", version=VERSION)
        tensors = load_tensors(bytes(content))
        found = Checkpoint(epoch=whole["epoch"], tensors=tensors, metadata=whole["metadata"])
    except (ValueError, LookupError, TypeError, RecursionError, SafetensorError) as error:
        raise DataError(f"{path} is no checkpoint ({error}). {_DAMAGED}") from None
    _check_epoch(found.epoch, path)
    return found


def _to_bytes(checkpoint: Checkpoint) -> bytearray:
    whole = {
        "format": "interstellar checkpoint",
        "version": VERSION,
        "epoch": checkpoint.epoch,
        "metadata": dict(checkpoint.metadata),
    }
    entries = {"checkpoint": json.dumps(whole), "sha256": _NO_HASH.decode()}
    tensors = {name: _own_copy(tensor) for name, tensor in checkpoint.tensors.items()}
    content = bytearray(save_tensors(tensors, metadata=entries))
    start, end = _find_hash(content)
    content[start:end] = hashlib.sha256(content).hexdigest().encode()
    return content


def _own_copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor on the CPU in memory of its own, which the format asks for."""
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    return copy.copy_(tensor.detach())


def _read(path: Path) -> bytearray:
    if not path.is_file():
        raise DataError(f"{path} is not a file, but a checkpoint is one. Check the path.")
    try:
        return bytearray(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). {_DAMAGED}") from None


def _check_hash(content: bytearray, path: Path) -> bytes:
    """Return the header of a file that is as it was written."""
    try:
        start, end = _find_hash(content)
    except LookupError:
        raise DataError(f"{path} has no hash in its header. {_DAMAGED}") from None
    said = bytes(content[start:end])
    content[start:end] = _NO_HASH
    if hashlib.sha256(content).hexdigest().encode() != said:
        raise DataError(f"{path} does not have the hash that its header says. {_DAMAGED}")
    return bytes(content[8 : _header_end(content)])


def _find_hash(content: bytearray) -> tuple[int, int]:
    # Quotes inside other strings of the header are escaped, so this can only be the key itself.
    found = _HASH.search(content, 8, _header_end(content))
    if found is None:
        raise LookupError("sha256")
    return found.span(1)


def _header_end(content: bytearray) -> int:
    """Return where the header ends: its length stands in the first eight bytes."""
    return min(len(content), 8 + int.from_bytes(content[:8], "little"))


def _check_epoch(epoch: object, path: Path) -> None:
    named = _NAME.fullmatch(path.name)
    if type(epoch) is not int or (named and int(named[1]) != epoch):
        raise DataError(
            f"{path} says that it is of epoch {str(epoch)[:20]}, but its name says otherwise. "
            "Give it back its own name."
        )


def _list_epochs(folder: Path) -> list[tuple[int, Path]]:
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return [(int(name[1]), path) for name, path in found if name]


def _keep_as_best(path: Path) -> None:
    """Give a checkpoint a second name, which costs no space; copy where that cannot be."""
    best = path.with_name(_BEST)
    draft = draft_beside(best)
    try:
        os.link(path, draft)
        draft.replace(best)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        with replacing_file(best) as file:
            file.write(path.read_bytes())
    finally:
        draft.unlink(missing_ok=True)


def _prune(folder: Path, *, newest: int) -> None:
    """Remove old checkpoints, those of a future that was given up, and half-written files."""
    epochs = sorted(epoch for epoch, _ in _list_epochs(folder) if epoch <= newest)
    kept = epochs[-N_KEPT:]
    for epoch, path in _list_epochs(folder):
        if epoch not in kept:
            path.unlink(missing_ok=True)
    for draft in folder.glob(".*.safetensors.*.draft"):
        draft.unlink(missing_ok=True)
