"""Checkpoints: what resuming needs, in files that show any damage.

`epoch-000012.safetensors` holds the tensors; its header holds the epoch, the metadata as JSON and a
SHA-256 of the whole file (taken with zeros in the place of the hash itself), so a file that was
cut or altered in any byte is known for it. The two newest are kept. Nothing is ever unpickled.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file as load_tensors

from interstellar.errors import DataError
from interstellar.records.json_files import check_format, parse_object
from interstellar.records.safe_files import replacing_file, sync_folder
from interstellar.training.tensor_files import make_header, write_tensors

VERSION = 1
N_KEPT = 2
BLOCK_BYTES = 2**20
"""Of a file that is read to be hashed."""

_NAME = re.compile(r"epoch-([0-9]{6,9})\.safetensors")
_HASH = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_NO_HASH = b"0" * 64
_DAMAGED = "The file was cut or altered; an older checkpoint is needed."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """The state of a training after an epoch."""

    epoch: int
    tensors: Mapping[str, Any]
    """Tensors, or where it is to be written `Pieces` of them."""
    metadata: Mapping[str, object]
    """What else is to be remembered, of the types of JSON; NaN and infinities come back too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latest:
    """The newest checkpoint that can be used, and why newer ones cannot."""

    checkpoint: Checkpoint | None
    """On the CPU; None where there is none to be used."""
    damaged: tuple[str, ...]
    """A sentence for each file that was passed over, the newest first."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, whole or not at all, and then remove what is no longer needed.

    Where writing fails, the checkpoints before it are still there. The folder has one writer.
    """
    folder.mkdir(exist_ok=True)  # some ways of copying a run leave empty folders out
    path = folder / f"epoch-{checkpoint.epoch:06d}.safetensors"
    write_checkpoint(path, checkpoint)
    _prune(folder, newest=checkpoint.epoch)
    return path


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint into a file, whole or not at all."""
    whole = {
        "format": "interstellar checkpoint",
        "version": VERSION,
        "epoch": checkpoint.epoch,
        "metadata": dict(checkpoint.metadata),
    }
    entries = {"checkpoint": json.dumps(whole), "sha256": _NO_HASH.decode()}
    header = make_header(checkpoint.tensors, entries)
    place = _find_hash(header)
    assert place is not None, "it has just been written there"
    with replacing_file(path) as file:
        sha256 = write_tensors(file, header, checkpoint.tensors)
        file.seek(place[0])
        file.write(sha256.encode())
    sync_folder(path.parent)


def remove_checkpoints(folder: Path) -> None:
    """Remove every checkpoint of a folder."""
    for _, path in _list_epochs(folder):
        path.unlink(missing_ok=True)


def load_latest(folder: Path) -> Latest:
    """Return the newest checkpoint that is whole."""
    damaged: list[str] = []
    for _, path in sorted(_list_epochs(folder), reverse=True):
        try:
            return Latest(checkpoint=load_checkpoint(path), damaged=tuple(damaged))
        except DataError as error:
            logger.warning("Passed over: %s", error)
            damaged.append(str(error))
    return Latest(checkpoint=None, damaged=tuple(damaged))


def load_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint in a file.

    Raises:
        DataError: The file is missing, damaged, no checkpoint, or of a newer version.
    """
    if not path.is_file():
        raise DataError(f"{path} is not a file, but a checkpoint is one. Check the path.")
    try:
        header = _check_hash(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). {_DAMAGED}") from None
    try:
        entries = parse_object(header, f"The header of {path}")["__metadata__"]
        whole = json.loads(entries["checkpoint"])  # type: ignore[index]
        check_format(whole, str(path), kind="checkpoint", version=VERSION)
        tensors = load_tensors(path)
        found = Checkpoint(epoch=whole["epoch"], tensors=tensors, metadata=whole["metadata"])
    except (ValueError, LookupError, TypeError, RecursionError, SafetensorError) as error:
        raise DataError(f"{path} is no checkpoint ({error}). {_DAMAGED}") from None
    named = _NAME.fullmatch(path.name)
    if type(found.epoch) is not int or (named and int(named[1]) != found.epoch):
        raise DataError(
            f"{path} says that it is of epoch {str(found.epoch)[:20]}, but its name says "
            "otherwise. Give it back its own name."
        )
    return found


def _check_hash(path: Path) -> bytes:
    """Return the header of a file that is as it was written."""
    with path.open("rb") as file:
        length = file.read(8)
        n_bytes = int.from_bytes(length, "little")
        header = file.read(n_bytes) if n_bytes <= path.stat().st_size else b""
        place = _find_hash(header)
        if place is None:
            raise DataError(f"{path} has no hash in its header. {_DAMAGED}")
        start, end = place
        digest = hashlib.sha256(length + header[:start] + _NO_HASH + header[end:])
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    if digest.hexdigest().encode() != header[start:end]:
        raise DataError(f"{path} does not have the hash that its header says. {_DAMAGED}")
    return header


def _find_hash(header: bytes) -> tuple[int, int] | None:
    # Quotes inside other strings of the header are escaped, so this can only be the key itself.
    found = _HASH.search(header)
    return None if found is None else found.span(1)


def _list_epochs(folder: Path) -> list[tuple[int, Path]]:
    paths = folder.iterdir() if folder.is_dir() else ()
    found = ((_NAME.fullmatch(path.name), path) for path in paths)
    return [(int(name[1]), path) for name, path in found if name]


def _prune(folder: Path, *, newest: int) -> None:
    """Remove old checkpoints, those of a future that was given up, and half-written files."""
    kept = sorted(epoch for epoch, _ in _list_epochs(folder) if epoch <= newest)[-N_KEPT:]
    for epoch, path in _list_epochs(folder):
        if epoch not in kept:
            path.unlink(missing_ok=True)
    for draft in folder.glob(".*.safetensors.*.draft"):
        draft.unlink(missing_ok=True)
