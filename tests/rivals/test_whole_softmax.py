"""Cross-entropy among all rows of a table, in chunks."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from interstellar.rivals import whole_softmax
from interstellar.rivals.whole_softmax import among_rows


def arguments() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    v, table, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((5, 3), (7, 3), (7,))
    )
    return v, table, bias, torch.tensor([0, 6, 2, 2, 5])


@pytest.mark.parametrize("at_once", [1, 15, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_chunks_give_the_cross_entropy_of_torch(
    at_once: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_softmax, "LOGITS_AT_ONCE", at_once)
    v, table, bias, answers = arguments()

    loss = among_rows(v, table, bias, answers, smoothing)

    logits = v @ table.T + bias
    expected = functional.cross_entropy(logits, answers, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, expected)


def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_softmax, "LOGITS_AT_ONCE", 15)
    v, table, bias, answers = arguments()

    def triple(v: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        return 3 * among_rows(v, table, bias, answers, 0.1)

    assert torch.autograd.gradcheck(triple, (v, table, bias))
