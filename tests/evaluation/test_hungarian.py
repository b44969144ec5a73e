"""The Hungarian method is optimal, and refuses what does not fit."""

from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from interstellar.errors import SettingsError
from interstellar.evaluation.hungarian import match_optimally
from interstellar.evaluation.similarity import Similarity
from interstellar.evaluation.stable_matching import NOBODY
from tests.evaluation.small_embeddings import draw_cosine, noisy_pair


def total(cosine: Similarity, partner: list[int]) -> float:
    values = cosine.rows(slice(None)).double()
    return sum(float(values[i, j]) for i, j in enumerate(partner) if j != NOBODY)


@given(n_asking=st.integers(1, 6), n_answering=st.integers(1, 6), seed=st.integers(0, 999))
def test_no_other_assignment_has_a_higher_sum(n_asking: int, n_answering: int, seed: int) -> None:
    cosine = draw_cosine(n_asking, n_answering, seed=seed)

    partner = match_optimally(cosine).tolist()

    n_longer = max(n_asking, n_answering)
    choices = [
        [column if column < n_answering else NOBODY for column in order[:n_asking]]
        for order in permutations(range(n_longer))
    ]
    matched = [column for column in partner if column != NOBODY]
    assert len(matched) == len(set(matched)) == min(n_asking, n_answering)
    assert total(cosine, partner) == pytest.approx(max(total(cosine, c) for c in choices), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_prices_do_not_change_the_assignment(seed: int) -> None:
    cosine = Similarity.cosine(*noisy_pair(300, seed=seed))

    partner = match_optimally(cosine)

    _, expected = linear_sum_assignment(cosine.rows(slice(None)).double().numpy(), maximize=True)
    assert partner.tolist() == expected.tolist()


def test_what_does_not_fit_the_memory_is_refused_with_advice() -> None:
    cosine = draw_cosine(100, 50)

    with pytest.raises(SettingsError, match=r"100 × 50.*stable or sinkhorn"):
        match_optimally(cosine, memory_bytes=39_999)

    assert len(match_optimally(cosine, memory_bytes=40_000)) == 100


def test_a_diverged_network_gets_some_assignment() -> None:
    nothing = torch.full((5, 4), float("nan"))

    partner = match_optimally(Similarity.cosine(nothing, nothing))

    assert sorted(partner.tolist()) == [0, 1, 2, 3, 4]
