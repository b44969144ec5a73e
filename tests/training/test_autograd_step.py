"""Steps whose loss says its gradients by itself: batches, draws, norms and bad losses."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from interstellar.errors import TrainingError
from interstellar.training.autograd_step import AutogradStep, norm_of, ready_on_card
from interstellar.training.defaults import LINK_PREDICTION
from interstellar.training.optimizers import FlatParameters
from interstellar.training.settings import Optimizer

CPU = torch.device("cpu")
SETTINGS = replace(
    LINK_PREDICTION, dim=2, batch_size=2, optimizer=Optimizer.ADAM, learning_rate=0.1
)


class Toward(nn.Module):
    """A point that is drawn toward the rows of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.entities = nn.Parameter(torch.zeros(1, 2))
        self.n_parts = 1
        self.most_rows = 9
        self.seen: list[Tensor] = []
        self.drawn: list[float] = []

    def add_gradients(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        if len(batch) > self.most_rows * self.n_parts:
            raise torch.OutOfMemoryError("a fake limit")
        self.seen.append(batch)
        self.drawn.append(torch.rand((), generator=generator, device=batch.device).item())
        loss = (self.entities - batch).square().sum(dim=1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def count_multiply_adds(self, batch_size: int) -> int:
        return batch_size


def build(
    rows: Tensor, device: torch.device = CPU, **changes: object
) -> tuple[AutogradStep, Toward]:
    loss = Toward()
    settings = replace(SETTINGS, **changes)  # type: ignore[arg-type]
    step = AutogradStep(loss, rows.to(device), settings, FlatParameters(loss, device))
    step.begin_epoch(torch.arange(len(rows)), 0.1, dropout_seed=3)
    return step, loss


def test_every_row_is_seen_in_its_order_and_the_last_batch_is_filled_up() -> None:
    step, loss = build(torch.tensor([[1, 1], [2, 2], [3, 3]]))

    for _ in range(step.n_steps):
        step.compute()

    assert torch.cat(loss.seen)[:, 0].tolist() == [1, 2, 3, 1]
    assert step.loss_sum.item() > 0


def test_draws_are_those_of_the_seed_of_the_epoch() -> None:
    found = []
    for _ in range(2):
        step, loss = build(torch.ones(4, 2, dtype=torch.long))
        step.compute()
        found.append(loss.drawn)

    assert found[0] == found[1]


def test_a_loss_that_is_not_finite_moves_nothing_and_is_remembered() -> None:
    step, loss = build(torch.ones(4, 2, dtype=torch.long))
    with torch.no_grad():
        loss.entities.fill_(torch.inf)
    before = step.parameters.values.clone()

    step.compute()

    assert int(step.bad_step) == 1
    assert torch.equal(step.parameters.values, before)


@pytest.mark.parametrize("most", [1e-3, 1e3])
def test_a_gradient_is_cut_to_the_norm_and_never_made_longer(most: float) -> None:
    """One step of Adagrad from nothing remembers the squares of the gradient it was given."""
    rows = torch.tensor([[1, 2], [3, 4]])
    norms = []
    for limit in (most, None):
        step, _ = build(rows, optimizer=Optimizer.ADAGRAD, gradient_norm=limit)
        step.compute()
        norms.append(step.optimizer.v.sum().sqrt().item())

    assert norms[0] == pytest.approx(min(most, norms[1]), rel=1e-4)


@pytest.mark.parametrize("n", [0, 5, 300_001])
def test_a_norm_is_the_same_with_any_number_of_threads(n: int) -> None:
    x = torch.randn(n, generator=torch.Generator().manual_seed(0))
    before, found = torch.get_num_threads(), []

    for n_threads in (1, 2, 3):
        torch.set_num_threads(n_threads)
        found.append(norm_of(x))
    torch.set_num_threads(before)

    assert found[0] == found[1] == found[2]
    torch.testing.assert_close(found[0].double(), x.double().norm())


@pytest.mark.parametrize(("most_rows", "n_parts"), [(2, 1), (1, 2)])
def test_a_batch_is_cut_until_its_parts_fit_into_the_memory(most_rows: int, n_parts: int) -> None:
    step, loss = build(torch.tensor([[1, 1], [2, 2]]))
    loss.most_rows = most_rows

    ready_on_card(step, can_capture=False, advice="Lower something.")

    assert loss.n_parts == n_parts
    assert loss.entities.tolist() == [[0, 0]], "what was tried is undone"


def test_a_row_that_no_memory_holds_is_said_with_advice() -> None:
    step, loss = build(torch.tensor([[1, 1], [2, 2]]))
    loss.most_rows = 0

    with pytest.raises(TrainingError, match=r"Lower something\. Or train on another device"):
        ready_on_card(step, can_capture=False, advice="Lower something.")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("kind", Optimizer)
def test_steps_on_a_card_lead_where_those_on_the_cpu_do(kind: Optimizer) -> None:
    rows = torch.tensor([[1, 2], [3, 4], [-5, 6], [7, 9]])
    found = []
    for device in (CPU, torch.device("cuda")):
        step, loss = build(rows, device, optimizer=kind)
        for _ in range(step.n_steps):
            step.compute()
        assert not step.parameters.gradients.any()
        found.append(loss.entities.detach().cpu())

    torch.testing.assert_close(found[0], found[1])
