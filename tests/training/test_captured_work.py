"""Work as a captured graph: the same work, and nothing changed by capturing it."""

import pytest
import torch

from interstellar.training.captured_work import capture, keeping

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
        ],
    ),
]


@pytest.mark.parametrize("device", DEVICES)
def test_captured_work_is_done_each_time_and_not_before(device: str) -> None:
    total, amount = torch.zeros(2, device=device), torch.ones(2, device=device)

    def add() -> None:
        total.add_(amount)

    work = capture(add, torch.device(device), kept=[total])

    assert total.tolist() == [0.0, 0.0]
    work()
    amount.fill_(10.0)
    work()
    assert total.tolist() == [11.0, 11.0]


def test_what_is_kept_is_as_it_was_before() -> None:
    tensor = torch.arange(3.0)

    with keeping([tensor]):
        tensor.fill_(7)

    assert tensor.tolist() == [0.0, 1.0, 2.0]
