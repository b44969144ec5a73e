"""Mixed operators: the kernel computes what the tensor operations do."""

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.architecture.architecture import Combinator, Source
from interstellar.architecture.search_space import Choice, choices
from interstellar.model.mixed_operator import MixedOperator
from interstellar.model.mixture import ALONE, OUT_OF_PLAY, Mixture

OPERATORS = (
    ("subject", "subject_activation"),
    ("relation", "relation_activation"),
    ("output", None),
)


def draw_mixture(seed: int, *, device: str, dtype: torch.dtype) -> Mixture:
    """Return a mixture of some options of each choice, weighed at random."""
    rng = np.random.default_rng(seed)
    in_play = []
    for choice in choices(Source, Source):
        n = int(rng.integers(1, len(choice.options) + 1))
        kept = sorted(rng.choice(len(choice.options), size=n, replace=False).tolist())
        in_play.append(Choice(choice.name, tuple(choice.options[i] for i in kept)))
    mixture = Mixture(in_play, device=torch.device(device), dtype=dtype)
    mixture.weights.copy_(torch.from_numpy(rng.random(len(mixture.weights))))
    return mixture


@pytest.mark.parametrize("seed", range(5))
def test_the_columns_of_a_table_are_those_of_the_weights(seed: int) -> None:
    mixture = draw_mixture(seed, device="cpu", dtype=torch.float32)

    for name, options in mixture.options.items():
        table = mixture.column_table[name].tolist()
        columns = [column for column in table if column >= 0]
        place = mixture.columns.get(name)
        assert columns == ([] if place is None else list(range(place.start, place.stop)))
        assert table.count(ALONE) == (len(options) == 1)
    assert mixture.column_table[None].tolist() == [ALONE] + 3 * [OUT_OF_PLAY]


def operate(
    mixture: Mixture, names: tuple[str, str | None], *, has_first: bool, length: int
) -> list[Tensor]:
    """An operator's output from strided inputs, and the gradients by them."""
    device, dtype = mixture.weights.device, mixture.weights.dtype
    drawn = torch.randn(3, 7, length, 10, generator=torch.Generator().manual_seed(0))
    a, b, logit = (x[:, 0].to(device, dtype).requires_grad_() for x in drawn)
    is_gated = Combinator.GATED in mixture.options[names[0]]
    operator = MixedOperator(mixture, *names, gate=None)

    y = operator.combine_gated(a if has_first else None, b, logit if is_gated else None)

    inputs = [x for x, is_there in ((a, has_first), (b, True), (logit, is_gated)) if is_there]
    gradients: tuple[Tensor, ...] = (torch.zeros_like(b),)
    if y.requires_grad:
        gradients = torch.autograd.grad(
            y, inputs, y.detach().cos(), allow_unused=True, materialize_grads=True
        )
    return [y.detach(), *gradients]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("has_first", [True, False], ids=["both", "second only"])
def test_the_kernel_computes_what_tensor_operations_do(seed: int, has_first: bool) -> None:
    """In float64 there is no kernel."""
    fused = draw_mixture(seed, device="cuda", dtype=torch.float32)
    plain = draw_mixture(seed, device="cuda", dtype=torch.float64)

    for names in OPERATORS:
        if not fused.options[names[0]]:
            continue
        found = operate(fused, names, has_first=has_first, length=1 + seed % 3)
        expected = operate(plain, names, has_first=has_first, length=1 + seed % 3)
        for one, other in zip(found, expected, strict=False):
            torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-4)
