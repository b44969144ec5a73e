"""Stable matching has no blocking pair, however short its lists are."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.evaluation.similarity import Similarity
from interstellar.evaluation.stable_matching import NOBODY, match_stably
from tests.evaluation.small_embeddings import draw_cosine, noisy_pair, tied_cosine

SIZES = st.integers(0, 25)


def blocking_pairs(values: Tensor, partner: list[int]) -> list[tuple[int, int]]:
    """Return the pairs that are more alike than what each of the two got."""
    n_asking, n_answering = values.shape
    holder = {column: row for row, column in enumerate(partner) if column != NOBODY}
    worst = float("-inf")
    got_row = [
        worst if partner[i] == NOBODY else float(values[i, partner[i]]) for i in range(n_asking)
    ]
    got_column = [float(values[holder[j], j]) if j in holder else worst for j in range(n_answering)]
    return [
        (i, j)
        for i in range(n_asking)
        for j in range(n_answering)
        if values[i, j] > got_row[i] and values[i, j] > got_column[j]
    ]


@pytest.mark.parametrize("draw", [draw_cosine, tied_cosine])
@given(n_asking=SIZES, n_answering=SIZES, list_length=st.integers(1, 30), seed=st.integers(0, 999))
def test_no_two_like_each_other_better_than_what_they_got(
    draw: Callable[..., Similarity], n_asking: int, n_answering: int, list_length: int, seed: int
) -> None:
    cosine = draw(n_asking, n_answering, seed=seed)

    partner = match_stably(cosine, list_length=list_length).tolist()

    matched = [column for column in partner if column != NOBODY]
    assert len(matched) == len(set(matched)) == min(n_asking, n_answering)
    assert blocking_pairs(cosine.rows(slice(None)), partner) == []


@given(n=st.integers(1, 12), seed=st.integers(0, 999))
def test_without_ties_it_is_the_greedy_matching(n: int, seed: int) -> None:
    cosine = draw_cosine(n, n + 2, seed=seed)

    partner = match_stably(cosine, list_length=3).tolist()

    values, expected = cosine.rows(slice(None)).clone(), [NOBODY] * n
    for _ in range(n):
        row, column = divmod(int(values.argmax()), n + 2)
        expected[row] = column
        values[row], values[:, column] = -2, -2
    assert partner == expected


def test_lists_of_any_length_give_the_same_matching() -> None:
    cosine = Similarity.cosine(*noisy_pair(400))

    short, long = match_stably(cosine, list_length=2), match_stably(cosine, list_length=400)

    assert torch.equal(short, long)


def test_a_diverged_network_has_no_partners_and_no_endless_loop() -> None:
    nothing = torch.full((5, 4), float("nan"))

    partner = match_stably(Similarity.cosine(nothing, nothing))

    assert partner.tolist() == [NOBODY] * 5
