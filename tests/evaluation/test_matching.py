"""Whole alignments: one-to-one where they should be, blind to numbers, bounded in memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from interstellar.evaluation.matching import list_nearest, match_one_to_one
from interstellar.evaluation.rescoring import rescore
from interstellar.evaluation.similarity import Decoding
from interstellar.evaluation.stable_matching import NOBODY
from tests.evaluation.small_embeddings import noisy_pair

BOUNDED_PROGRAM = """
import resource, numpy as np, torch
from interstellar.evaluation.matching import list_nearest, match_one_to_one
from interstellar.evaluation.rescoring import rescore
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
