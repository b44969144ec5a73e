"""Work in chunks, one after the other or on several cores, and the memory for it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation import chunks
from interstellar.evaluation.chunks import (
    CPU_BYTES,
    exact_products,
    fit_chunk_size,
    map_chunks,
    spread_chunks,
)
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


@pytest.fixture
def three_threads() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(n_before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("n", [0, 1, 10, 60, 1001])
@pytest.mark.parametrize("chunk_size", [1, 7])
def test_all_rows_are_computed_once_in_order(n: int, chunk_size: int) -> None:
    rows = torch.arange(n)

    parts = list(spread_chunks(lambda chunk: rows[chunk], n, chunk_size=chunk_size, device=CPU))

    assert torch.cat([rows[:0], *parts]).tolist() == list(range(n))
    assert max(map(len, parts), default=0) <= chunk_size


@pytest.mark.usefixtures("three_threads")
def test_each_core_works_by_itself_and_the_number_of_threads_is_as_before() -> None:
    def look(_: slice) -> tuple[int, int]:
        return threading.get_ident(), torch.get_num_threads()

    seen = list(spread_chunks(look, 30, chunk_size=1, device=CPU))

    assert threading.get_ident() not in {thread for thread, _ in seen}
    assert {n_threads for _, n_threads in seen} == {1}
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_a_chunk_on_a_core_is_halved_where_memory_runs_out() -> None:
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


@pytest.mark.usefixtures("three_threads")
def test_an_error_is_not_lost() -> None:
    def fail(_: slice) -> int:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        list(spread_chunks(fail, 30, chunk_size=1, device=CPU))

    assert torch.get_num_threads() == 3


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 1,000 KiB available and no groups yet."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(chunks, "SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(chunks, "GROUP", tmp_path)
    return tmp_path


def write_group(folder: Path, *, limit: str) -> None:
    (folder / "memory.max").write_text(limit + "\n")
    (folder / "memory.current").write_text("300000\n")
    (folder / "memory.stat").write_text("anon 5\ninactive_file 100000\n")


def test_half_of_what_the_system_has_may_be_used(system: Path) -> None:
    assert chunks.usable_bytes(CPU) == 500 * 1024


def test_a_container_may_have_less(system: Path) -> None:
    write_group(system, limit="500000")

    assert chunks.free_host_bytes() == 300_000


def test_a_container_without_a_limit_has_what_the_system_has(system: Path) -> None:
    write_group(system, limit="max")

    assert chunks.free_host_bytes() == 1000 * 1024


def test_where_the_system_does_not_say_something_is_assumed(system: Path) -> None:
    (system / "meminfo").unlink()

    assert chunks.free_host_bytes() == chunks.UNKNOWN_BYTES


@pytest.fixture(autouse=True)
def _settings_of_torch_are_restored() -> Iterator[None]:
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.fp32_precision = "none"


@pytest.mark.parametrize("before", ["highest", "high", "medium"])
def test_products_are_exact_within_and_as_before_after(before: str) -> None:
    torch.set_float32_matmul_precision(before)

    with exact_products(CPU):
        within = torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32

    assert within == ("highest", False)
    assert torch.get_float32_matmul_precision() == before
    assert torch.backends.cuda.matmul.allow_tf32 == (before != "highest")


def test_a_precision_set_for_cuda_alone_is_set_again() -> None:
    torch.backends.cuda.matmul.fp32_precision = "tf32"

    with exact_products(CPU):
        within = torch.backends.cuda.matmul.fp32_precision

    assert within == "ieee"
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"


def test_settings_come_back_after_an_error() -> None:
    torch.set_float32_matmul_precision("high")

    with pytest.raises(ZeroDivisionError), exact_products(CPU):
        raise ZeroDivisionError

    assert torch.get_float32_matmul_precision() == "high"


def test_autocast_around_it_does_not_reach_in() -> None:
    x = torch.full((2, 2), 1.001)

    with torch.autocast("cpu", dtype=torch.bfloat16), exact_products(CPU):
        product = x @ x

    assert product.dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_product_on_cuda_has_float32_precision() -> None:
    cuda = torch.device("cuda")
    x = torch.randn(512, 512, device=cuda, generator=torch.Generator(cuda).manual_seed(0))
    truth = (x.double() @ x.double()).float()
    torch.set_float32_matmul_precision("high")

    rough = (x @ x - truth).abs().max()
    with exact_products(cuda):
        exact = (x @ x - truth).abs().max()

    assert exact < rough / 50
