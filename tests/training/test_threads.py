"""A step on the CPU has the threads that its work can feed, and no more than there were."""

from collections.abc import Iterator

import pytest
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.training import threads
from interstellar.training.threads import fitting_threads
from tests.training.test_loop import Quiet, build_training
from tests.training.test_step import DIM, LENGTH, N_ENTITIES, ONE_WAY, TWO_WAY, build_step

N_ROWS = 8 * LENGTH


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(n_before)


def test_work_is_that_of_logits_and_cell_forward_and_twice_backward() -> None:
    two_way, one_way = (build_step(LITERATURE["ComplEx"], form) for form in (TWO_WAY, ONE_WAY))
    sampled = build_step(LITERATURE["ComplEx"], ONE_WAY, n_negatives=5)
    recurrent = build_step(LITERATURE["RSN"], TWO_WAY)
    n_weights = sum(weight.numel() for weight in recurrent.network.cell.parameters())

    assert two_way.count_multiply_adds() == 3 * N_ROWS * N_ENTITIES * 2 * DIM
    assert one_way.count_multiply_adds() == 3 * N_ROWS * N_ENTITIES * DIM
    assert sampled.count_multiply_adds() == 3 * N_ROWS * 5 * DIM
    assert n_weights > 0
    of_cell = recurrent.count_multiply_adds() - two_way.count_multiply_adds()
    assert of_cell == 3 * N_ROWS * 2 * n_weights


@pytest.mark.parametrize(("share", "n_threads"), [(0.1, 1), (1.9, 1), (2, 2), (3.5, 3), (100, 4)])
def test_there_are_as_many_threads_as_the_work_can_feed(
    monkeypatch: pytest.MonkeyPatch, share: float, n_threads: int
) -> None:
    step = build_step(LITERATURE["ComplEx"], TWO_WAY)
    monkeypatch.setattr(threads, "WORK_A_THREAD", int(step.count_multiply_adds() / share))

    with fitting_threads(step):
        seen = torch.get_num_threads()

    assert (seen, torch.get_num_threads()) == (n_threads, 4)


def test_they_are_given_back_also_where_a_training_is_stopped() -> None:
    seen: list[int] = []

    class Stopping(Quiet):
        def on_step(self, n_done: int, n_steps: int) -> None:
            seen.append(torch.get_num_threads())
            raise KeyboardInterrupt

    training = build_training()
    with pytest.raises(KeyboardInterrupt):
        training.run(Stopping())

    assert seen == [1]
    assert torch.get_num_threads() == 4


def test_validation_has_all_threads() -> None:
    seen: list[int] = []

    def measure(_: object) -> dict[str, float]:
        seen.append(torch.get_num_threads())
        return {"mrr": 0.5}

    build_training(measure=measure, max_epochs=2).run(Quiet())

    assert seen == [4, 4]
