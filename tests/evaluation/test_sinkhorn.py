"""Sinkhorn's plan is that of a plain loop, whatever the memory."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation import chunks
from interstellar.evaluation.similarity import Similarity
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance
from tests.evaluation.small_embeddings import draw_cosine, literal_log_plan, noisy_pair

PUBLISHED = SinkhornSettings()
MEMORY = [0, 2**40]


def log_plan_of(cosine: Similarity, chosen: SinkhornSettings, memory_bytes: int) -> Tensor:
    log_u, log_v = balance(cosine, chosen, memory_bytes=memory_bytes)
    return cosine.rows(slice(None)) / chosen.temperature + log_u.unsqueeze(1) + log_v


@pytest.mark.parametrize("memory_bytes", MEMORY)
@settings(max_examples=25)
@given(
    n_asking=st.integers(1, 30),
    n_answering=st.integers(1, 30),
    n_rounds=st.integers(1, 120),
    temperature=st.sampled_from([0.01, 0.02, 0.1, 1.0]),
    seed=st.integers(0, 2**16),
)
def test_the_plan_is_that_of_a_plain_loop(
    memory_bytes: int,
    n_asking: int,
    n_answering: int,
    n_rounds: int,
    temperature: float,
    seed: int,
) -> None:
    cosine = draw_cosine(n_asking, n_answering, seed=seed)
    chosen = SinkhornSettings(temperature=temperature, n_rounds=n_rounds)

    log_plan = log_plan_of(cosine, chosen, memory_bytes)

    expected = literal_log_plan(
        cosine.rows(slice(None)), temperature=temperature, n_rounds=n_rounds
    )
    torch.testing.assert_close(log_plan.double(), expected, atol=2e-3, rtol=1e-4)


@pytest.mark.parametrize("memory_bytes", MEMORY)
def test_many_small_blocks_give_the_plan_of_one(
    monkeypatch: pytest.MonkeyPatch, memory_bytes: int
) -> None:
    cosine = Similarity.cosine(*noisy_pair(120))
    whole = log_plan_of(cosine, PUBLISHED, 2**40)

    monkeypatch.setattr(chunks, "CPU_BYTES", 7 * 4 * 120)
    monkeypatch.setattr("interstellar.evaluation.sinkhorn.CPU_SWEEP_BYTES", 5 * 4 * 120)
    in_blocks = log_plan_of(cosine, PUBLISHED, memory_bytes)

    torch.testing.assert_close(in_blocks, whole, atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("memory_bytes", MEMORY)
def test_opposite_vectors_and_small_temperatures_stay_finite(memory_bytes: int) -> None:
    """Exponents from -400 to 400: far more than float32 holds."""
    asking = torch.tensor([[1.0, 0.0], [1.0, 0.01], [1.0, -0.01], [0.0, 0.0]])
    answering = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [-1.0, 0.1], [0.3, 1.0]])
    cosine = Similarity.cosine(asking, answering)
    chosen = SinkhornSettings(temperature=0.005, n_rounds=50)

    log_plan = log_plan_of(cosine, chosen, memory_bytes)

    expected = literal_log_plan(cosine.rows(slice(None)), temperature=0.005, n_rounds=50)
    assert log_plan.isfinite().all()
    torch.testing.assert_close(log_plan.double(), expected, atol=1e-2, rtol=1e-4)


def test_columns_sum_to_one_and_rows_nearly() -> None:
    cosine = Similarity.cosine(*noisy_pair(200, dim=32))

    plan = log_plan_of(cosine, PUBLISHED, 2**40).exp()

    torch.testing.assert_close(plan.sum(dim=0), torch.ones(200), atol=1e-3, rtol=0)
    torch.testing.assert_close(plan.sum(dim=1), torch.ones(200), atol=0.2, rtol=0)


def test_the_plan_finds_more_partners_than_cosines() -> None:
    cosine = Similarity.cosine(*noisy_pair(1000, dim=64, noise=1.3))
    cosines, truth = cosine.rows(slice(None)), torch.arange(1000)

    log_plan = log_plan_of(cosine, PUBLISHED, 2**40)

    by_cosine, by_plan = ((x.argmax(dim=1) == truth).float().mean() for x in (cosines, log_plan))
    assert by_plan > by_cosine + 0.05


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nobody_is_balanced_with_nobody(shape: tuple[int, int]) -> None:
    log_u, log_v = balance(draw_cosine(*shape), PUBLISHED)

    assert (len(log_u), len(log_v)) == shape


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_cannot_work_is_refused(temperature: float) -> None:
    with pytest.raises(SettingsError, match="temperature is"):
        SinkhornSettings(temperature=temperature)


def test_no_rounds_are_refused() -> None:
    with pytest.raises(SettingsError, match="n_rounds is 0"):
        SinkhornSettings(n_rounds=0)
