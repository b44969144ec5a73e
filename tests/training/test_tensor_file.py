"""Files of tensors are those of safetensors, and no copy of them is made on the way."""

import tracemalloc
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from interstellar.training.checkpoints import Checkpoint, load_checkpoint, write_checkpoint
from interstellar.training.tensor_file import tensor_file

TENSORS = {
    "entities": torch.arange(14.0).view(7, 2),
    "a.ä": torch.tensor(2.5),
    "order": torch.arange(5),
    "none": torch.zeros(0, 3),
    "turned": torch.arange(6.0).view(2, 3).T,
    "half": torch.ones(3, dtype=torch.bfloat16),
    "is_bad": torch.tensor([True]),
}


@pytest.mark.parametrize("metadata", [None, {"b": 'quo"te', "a": "ü"}])
def test_a_file_is_byte_for_byte_that_of_the_library(metadata: dict[str, str] | None) -> None:
    content = b"".join(map(bytes, tensor_file(TENSORS, metadata)))

    whole = {name: tensor.contiguous() for name, tensor in TENSORS.items()}
    assert load(content).keys() == whole.keys()
    if metadata is None:  # whose order is the library's affair
        assert content == save(whole)


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
