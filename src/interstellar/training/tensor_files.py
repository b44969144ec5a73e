"""Files of tensors in the form of safetensors, written without a copy of what they hold.

`safetensors.torch.save` makes all of a file in memory first. Here a tensor may even come piece by
piece, from wherever it is. What is written is the same, byte by byte, where all are of one type.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias, final

import torch
from torch import Tensor

NAMES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
ALIGNMENT = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A tensor that never exists as a whole."""

    shape: tuple[int, ...]
    iterate: Callable[[], Iterator[Tensor]]
    """Yields its numbers in their order."""
    dtype: torch.dtype = torch.float32


AnyTensor: TypeAlias = Tensor | Pieces


def make_header(
    tensors: Mapping[str, AnyTensor], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return what a file of tensors begins with."""
    entries: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    for name in order_of(tensors):
        shape, dtype = list(tensors[name].shape), tensors[name].dtype
        start, end = end, end + torch.Size(shape).numel() * dtype.itemsize
        entries[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // ALIGNMENT) * ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def write_tensors(file: BinaryIO, header: bytes, tensors: Mapping[str, AnyTensor]) -> str:
    """Write a header and the tensors that it is of; return the SHA-256 of all."""
    digest = hashlib.sha256(header)
    file.write(header)
    for name in order_of(tensors):
        tensor = tensors[name]
        for piece in tensor.iterate() if isinstance(tensor, Pieces) else [tensor]:
            content = piece.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data
            digest.update(content)
            file.write(content)
    return digest.hexdigest()


def order_of(tensors: Mapping[str, AnyTensor]) -> list[str]:
    """Return the names in the order of the file: long numbers first, so that all are aligned."""
    return sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
