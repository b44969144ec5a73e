"""Files of tensors written as they come: the same as the library writes."""

import hashlib
import io
from collections.abc import Mapping

import pytest
import torch
from safetensors.torch import load, save

from interstellar.training.tensor_files import AnyTensor, Pieces, make_header, write_tensors

METADATA = {"what": 'quoted "ü"'}


def write(tensors: Mapping[str, AnyTensor], metadata: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    sha256 = write_tensors(file, make_header(tensors, metadata), tensors)
    assert sha256 == hashlib.sha256(file.getvalue()).hexdigest()
    return file.getvalue()


@pytest.mark.parametrize("metadata", [None, METADATA])
def test_a_file_is_the_one_that_the_library_writes(metadata: dict[str, str] | None) -> None:
    tensors = {"b": torch.rand(3, 5), "a": torch.tensor(2.0), "ü/c": torch.zeros(0, 4)}

    assert write(tensors, metadata) == save(tensors, metadata)


def test_types_and_shapes_come_back() -> None:
    tensors = {
        "bits": torch.tensor([True, False, True]),
        "half": torch.rand(3).bfloat16(),
        "ids": torch.arange(4),
        "turned": torch.rand(3, 2).T,
    }

    read = load(write(tensors))

    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())


def test_a_tensor_in_pieces_is_written_as_if_it_were_whole() -> None:
    whole = torch.rand(7, 3)
    pieces = Pieces((7, 3), lambda: iter(torch.split(whole, 2)))

    assert write({"a": pieces}) == save({"a": whole})
