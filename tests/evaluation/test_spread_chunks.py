"""Chunks on several cores give what they give one after the other."""

import threading
from collections.abc import Iterator

import pytest
import torch

from interstellar.evaluation.spread_chunks import spread_chunks

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(n_before)


@pytest.mark.parametrize("n", [0, 1, 10, 60, 1001])
@pytest.mark.parametrize("chunk_size", [1, 7])
def test_all_rows_are_computed_once_in_order(n: int, chunk_size: int) -> None:
    rows = torch.arange(n)

    parts = list(spread_chunks(lambda chunk: rows[chunk], n, chunk_size=chunk_size, device=CPU))

    assert torch.cat([rows[:0], *parts]).tolist() == list(range(n))
    assert max(map(len, parts), default=0) <= chunk_size


def test_each_core_works_by_itself_and_the_number_of_threads_is_as_before() -> None:
    def look(_: slice) -> tuple[int, int]:
        return threading.get_ident(), torch.get_num_threads()

    seen = list(spread_chunks(look, 30, chunk_size=1, device=CPU))

    assert threading.get_ident() not in {thread for thread, _ in seen}
    assert {n_threads for _, n_threads in seen} == {1}
    assert torch.get_num_threads() == 3


def test_a_chunk_without_memory_is_halved() -> None:
    sizes: list[int] = []

    def compute(chunk: slice) -> int:
        size = len(range(90)[chunk])
        if size > 2:
            raise MemoryError
        sizes.append(size)
        return size

    parts = list(spread_chunks(compute, 90, chunk_size=8, device=CPU))

    assert sum(parts) == 90
    assert max(sizes) == 2


def test_an_error_is_not_lost() -> None:
    def fail(_: slice) -> int:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        list(spread_chunks(fail, 30, chunk_size=1, device=CPU))

    assert torch.get_num_threads() == 3
