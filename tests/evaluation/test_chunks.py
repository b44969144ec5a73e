"""Work in chunks."""

import pytest
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import CPU_BYTES, fit_chunk_size, map_chunks
from tests.evaluation.small_rankings import CPU


def identity(rows: slice) -> Tensor:
    return torch.arange(10)[rows]


@pytest.mark.parametrize("chunk_size", [1, 3, 10, 99])
def test_chunks_come_back_whole_and_in_order(chunk_size: int) -> None:
    result = map_chunks(identity, 10, chunk_size=chunk_size, device=CPU)

    assert result.tolist() == list(range(10))


@pytest.mark.parametrize("chunk_size", [1, 3, 10])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_an_item_may_give_none_or_several_rows_of_any_shape(
    chunk_size: int, shape: tuple[int, ...]
) -> None:
    expected = torch.arange(10).repeat_interleave(torch.tensor([0, 3, 1, 0, 9, 1, 1, 2, 7, 0]))

    def compute(rows: slice) -> Tensor:
        chosen = (expected >= rows.start) & (expected < rows.stop)
        return expected[chosen].view(-1, *[1] * len(shape)).expand(-1, *shape)

    result = map_chunks(compute, 10, chunk_size=chunk_size, device=CPU)

    assert result.shape == (len(expected), *shape)
    assert result.reshape(len(expected), -1)[:, 0].tolist() == expected.tolist()


def test_a_chunk_stays_halved_for_the_rest() -> None:
    sizes = []

    def compute(rows: slice) -> Tensor:
        part = identity(rows)
        sizes.append(len(part))
        if len(part) > 3:
            raise MemoryError
        return part

    result = map_chunks(compute, 10, chunk_size=8, device=CPU)

    assert result.tolist() == list(range(10))
    assert sizes == [8, 4, 2, 2, 2, 2, 2]


def test_a_chunk_of_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match="chunk_size is 0"):
        map_chunks(identity, 10, chunk_size=0, device=CPU)


def test_a_chunk_holds_at_least_one_row_however_long() -> None:
    assert fit_chunk_size(CPU_BYTES // 4, CPU) == 4
    assert fit_chunk_size(2 * CPU_BYTES, CPU) == 1
