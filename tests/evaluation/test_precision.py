"""Products in full float32."""

from collections.abc import Iterator

import pytest
import torch

from interstellar.evaluation.precision import exact_products
from tests.evaluation.small_rankings import CPU


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
