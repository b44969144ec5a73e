"""What processes compute together is what one computes, here with a thread for each."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from interstellar.model.embedding_table import EntityTable
from interstellar.model.softmax_loss import LossPlan, softmax_loss
from interstellar.training.optimizers import FlatOptimizer, FlatParameters
from interstellar.training.shard import Shard

CPU = torch.device("cpu")
DIM = 6
Found = TypeVar("Found")


class Threads:
    """An exchange between threads of one process, as `Exchange` is between processes."""

    def __init__(self, number: int, given: list[Any], barrier: threading.Barrier) -> None:
        self.device, self.number, self.n_processes = CPU, number, len(given)
        self._given, self._barrier = given, barrier

    def rows_of(self, number: int, n_rows: int) -> range:
        return range(n_rows * number // self.n_processes, n_rows * (number + 1) // self.n_processes)

    def add_up(self, tensor: Tensor) -> Tensor:
        return tensor.copy_(self.gather(tensor).sum(dim=0))

    def gather(self, tensor: Tensor) -> Tensor:
        return torch.stack(self._all(tensor.clone()))

    def least(self, number: int) -> int:
        return min(self._all(number))

    def collect(self, tensor: Tensor, places: list[Tensor]) -> None:
        for place, sent in zip(places, self._all(tensor), strict=True):
            if self.number == 0:
                place.copy_(sent)

    def _all(self, value: Found) -> list[Found]:
        self._given[self.number] = value
        self._barrier.wait(30)
        values = list(self._given)
        self._barrier.wait(30)
        return values


def in_threads(n: int, table: Tensor, work: Callable[[Shard], Found]) -> list[Found]:
    """Do the same with all shards of a table, and return what each gives."""
    given, barrier, found = [None] * n, threading.Barrier(n), {}

    def run(number: int) -> None:
        exchange: Any = Threads(number, given, barrier)
        rows = exchange.rows_of(number, len(table))
        module = nn.Module()
        module.register_parameter("entities", nn.Parameter(table[rows.start : rows.stop].clone()))
        parameters = FlatParameters(module, CPU)
        optimizer = FlatOptimizer(parameters, weight_decay=0.0, max_norm=None, row_length=DIM)
        with torch.no_grad():
            found[number] = work(Shard(exchange, parameters, optimizer, len(table)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(n)]


def gradient_of(shard: Shard) -> Tensor:
    return shard.parameters.layout.split(shard.parameters.gradients)["entities"]


@settings(max_examples=20)
@given(
    n_shards=st.integers(1, 4),
    n_entities=st.integers(4, 300),
    n_rows=st.integers(1, 40),
    smoothing=st.sampled_from([0.0, 0.2]),
    length=st.sampled_from([1.0, 30.0]),
    seed=st.integers(0, 2**16),
)
def test_the_softmax_over_shards_is_the_softmax(
    n_shards: int, n_entities: int, n_rows: int, smoothing: float, length: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(n_entities, DIM, generator=generator) * length
    v = torch.randn(n_rows, DIM, generator=generator)
    true = torch.randint(n_entities, (n_rows,), generator=generator, dtype=torch.int32)
    whole = EntityTable(table, torch.zeros_like(table), n_entities)
    losses, slopes = softmax_loss(v, whole, true, LossPlan(7), label_smoothing=smoothing)

    told: Any = {"smoothing": smoothing, "is_mixed": False}

    def work(shard: Shard) -> tuple[Tensor, Tensor, Tensor]:
        return *shard.softmax(v.clone(), true, **told), gradient_of(shard).clone()

    found = in_threads(n_shards, table, work)

    close: Any = {"rtol": 1e-5, "atol": 2e-5 * length}
    for of_shard, _, _ in found:
        torch.testing.assert_close(of_shard, losses, **close)
    torch.testing.assert_close(found[0][1], slopes, **close)
    torch.testing.assert_close(torch.cat([rows for _, _, rows in found]), whole.gradient, **close)


def test_a_row_is_found_wherever_it_is_and_its_gradient_goes_there() -> None:
    table, ids = torch.rand(10, DIM), torch.tensor([9, 0, 4, 9])
    slopes = torch.rand(4, 2)

    def work(shard: Shard) -> tuple[Tensor, Tensor]:
        rows = shard.look_up(ids, table="entities", columns=(2, 4))
        shard.add(ids, slopes, table="entities", columns=(2, 4))
        return rows, gradient_of(shard).clone()

    found = in_threads(3, table, work)

    expected = torch.zeros_like(table)
    expected[:, 2:4].index_add_(0, ids, slopes)
    assert torch.equal(found[0][0], table[ids, 2:4])
    torch.testing.assert_close(torch.cat([rows for _, rows in found]), expected)


def test_the_leader_has_the_logits_of_all_entities_in_their_order() -> None:
    table, v = torch.rand(11, DIM), torch.rand(3, DIM)

    found = in_threads(4, table, lambda shard: shard.multiply_out(v))

    torch.testing.assert_close(found[0], v @ table.T)


@pytest.mark.parametrize("spoilt", [None, 0, 10])
def test_one_number_that_is_none_is_noticed_by_all(spoilt: int | None) -> None:
    table = torch.rand(11, DIM)
    if spoilt is not None:
        table[spoilt] = torch.nan

    assert in_threads(3, table, Shard.is_finite) == 3 * [spoilt is None]
