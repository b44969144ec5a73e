"""Whole alignments: one-to-one where they should be, blind to numbers, bounded in memory."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.matching import (
    NOBODY,
    Quality,
    choose_precise_threshold,
    choose_threshold,
    list_nearest,
    match_one_to_one,
    match_optimally,
    match_stably,
)
from interstellar.evaluation.similarity import Decoding, Similarity
from tests.evaluation.small_embeddings import draw_cosine, noisy_pair, tied_cosine

BOUNDED_PROGRAM = """
import resource, numpy as np, torch
from interstellar.evaluation.matching import list_nearest, match_one_to_one
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.similarity import Decoding
from interstellar.evaluation import sinkhorn

def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

sinkhorn.SinkhornSettings.__init__.__kwdefaults__.update(n_rounds=2)
rng = np.random.default_rng(0)
first, second = torch.randn(2, 12_000, 8, generator=torch.Generator().manual_seed(0))
list_nearest(rescore(first[:100], second[:100], Decoding.CSLS), 5, rng)
before = peak_bytes()
for decoding in (Decoding.COSINE, Decoding.CSLS, Decoding.SINKHORN):
    similarity = rescore(first, second, decoding, memory_bytes=2**26)
    list_nearest(similarity, 10, rng)
match_one_to_one(rescore(first, second, Decoding.STABLE), Decoding.STABLE, rng)
print(peak_bytes() - before)
"""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("sizes", [(40, 60), (60, 40), (50, 50)])
def test_nobody_has_two_partners_and_as_many_as_can_have_one(
    decoding: Decoding, sizes: tuple[int, int], rng: np.random.Generator
) -> None:
    first, second = noisy_pair(60)

    partner = match_one_to_one(
        rescore(first[: sizes[0]], second[: sizes[1]], decoding), decoding, rng
    )

    matched = partner[partner != NOBODY].tolist()
    assert len(partner) == sizes[0]
    assert len(matched) == len(set(matched)) == min(sizes)


@pytest.mark.parametrize("decoding", Decoding)
def test_the_numbering_of_entities_does_not_matter(
    decoding: Decoding, rng: np.random.Generator
) -> None:
    first, second = noisy_pair(80)
    order = torch.from_numpy(rng.permutation(80))

    partner = match_one_to_one(rescore(first, second, decoding), decoding, rng)
    again = match_one_to_one(rescore(first, second[order], decoding), decoding, rng)

    assert torch.equal(order[again], partner)


@pytest.mark.parametrize("decoding", Decoding)
def test_who_is_equal_to_all_is_matched_by_chance(decoding: Decoding) -> None:
    """Over seeds, every column is as likely: neither the first nor the one of the same number."""
    constant = torch.ones(8, 4)
    similarity = rescore(constant, constant, decoding)

    partners = torch.stack(
        [match_one_to_one(similarity, decoding, np.random.default_rng(s)) for s in range(200)]
    )

    share_of_own_number = (partners == torch.arange(8)).double().mean()
    assert share_of_own_number == pytest.approx(1 / 8, abs=0.04)
    assert (partners[:, 0] == 0).double().mean() == pytest.approx(1 / 8, abs=0.09)


def test_the_nearest_of_equals_are_drawn_by_chance() -> None:
    constant = torch.ones(8, 4)
    similarity = rescore(constant, constant, Decoding.COSINE)

    first = [
        list_nearest(similarity, 2, np.random.default_rng(seed))[1][0, 0].item()
        for seed in range(400)
    ]

    assert np.bincount(first, minlength=8).min() > 25  # 50 on average


@pytest.mark.parametrize("decoding", Decoding)
def test_lists_hold_the_nearest_in_order(decoding: Decoding, rng: np.random.Generator) -> None:
    similarity = rescore(*noisy_pair(30), decoding)

    values, columns = list_nearest(similarity, 4, rng)

    expected = similarity.rows(slice(None)).sort(dim=1, descending=True)
    torch.testing.assert_close(values, expected.values[:, :4])
    assert torch.equal(columns, expected.indices[:, :4])


def test_lists_are_as_long_as_there_are_candidates(rng: np.random.Generator) -> None:
    first, second = noisy_pair(5)

    assert list_nearest(rescore(first, second, Decoding.COSINE), 9, rng)[1].shape == (5, 5)
    assert list_nearest(rescore(first, second[:0], Decoding.CSLS), 9, rng)[1].shape == (5, 0)
    assert list_nearest(rescore(first[:0], second, Decoding.SINKHORN), 9, rng)[1].shape == (0, 5)


@pytest.mark.slow
def test_memory_stays_far_below_that_of_all_similarities() -> None:
    """12,000 × 12,000 in float32 take 549 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED_PROGRAM],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) < 160 * 2**20


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("memory_bytes", [0, 2**30])
def test_partners_on_cuda_are_those_on_the_cpu(decoding: Decoding, memory_bytes: int) -> None:
    first, second = noisy_pair(500, dim=32)

    on_cuda, on_cpu = (
        match_one_to_one(
            rescore(first.to(device), second.to(device), decoding, memory_bytes=memory_bytes),
            decoding,
            np.random.default_rng(0),
        )
        for device in ("cuda", "cpu")
    )

    assert (on_cuda == on_cpu).double().mean() > 0.98


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


def test_a_diverged_network_has_no_stable_partners_and_no_endless_loop() -> None:
    nothing = torch.full((5, 4), float("nan"))

    partner = match_stably(Similarity.cosine(nothing, nothing))

    assert partner.tolist() == [NOBODY] * 5


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


PREDICTIONS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12)


@given(predictions=PREDICTIONS, n_missing=st.integers(0, 3))
def test_no_threshold_has_a_higher_f1_and_no_lower_one_the_same(
    predictions: list[tuple[int, bool]], n_missing: int
) -> None:
    n_true = len(predictions) + n_missing

    threshold = choose_threshold(
        np.array([float(value) for value, _ in predictions]),
        np.array([is_right for _, is_right in predictions]),
        n_true=n_true,
    )

    f1 = {}
    for tried in {value for value, _ in predictions}:
        kept = [is_right for value, is_right in predictions if value >= tried]
        f1[tried] = 2 * sum(kept) / (len(kept) + n_true)
    assert threshold == min(tried for tried in f1 if f1[tried] == max(f1.values()))


@given(predictions=PREDICTIONS, precision=st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_the_lowest_threshold_that_is_precise_enough_is_found(
    predictions: list[tuple[int, bool]], precision: float
) -> None:
    threshold = choose_precise_threshold(
        np.array([float(value) for value, _ in predictions]),
        np.array([is_right for _, is_right in predictions]),
        precision=precision,
    )

    precise = []
    for tried in {value for value, _ in predictions}:
        kept = [is_right for value, is_right in predictions if value >= tried]
        precise += [tried] if sum(kept) >= precision * len(kept) else []
    assert threshold == min(precise, default=np.inf)


def test_without_partners_no_threshold_is_precise() -> None:
    nothing = np.empty(0), np.empty(0, dtype=np.bool_)

    assert choose_precise_threshold(*nothing, precision=0.5) == np.inf


def test_without_partners_nothing_is_left_out() -> None:
    assert choose_threshold(np.empty(0), np.empty(0, dtype=np.bool_), n_true=3) == -np.inf


def test_quality_is_precision_recall_and_their_harmonic_mean() -> None:
    quality = Quality.of(n_right=3, n_given=4, n_true=6)

    assert (quality.precision, quality.recall) == (0.75, 0.5)
    assert quality.f1 == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert Quality.of(n_right=0, n_given=0, n_true=0).as_dict() == {
        "precision": 1,
        "recall": 1,
        "f1": 1,
        "n": 0,
    }
