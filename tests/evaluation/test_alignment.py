"""Ranks of partners in the other graph."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.data.graph import Pairs
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.alignment import (
    Candidates,
    find_partners,
    hash_rows,
    rank_partners,
    rescore,
    share_offsets,
)
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.similarity import Decoding
from tests.evaluation.small_embeddings import noisy_pair

RANKING = [decoding for decoding in Decoding if not decoding.is_one_to_one]
MATCHING = [decoding for decoding in Decoding if decoding.is_one_to_one]


def diagonal(n: int) -> Pairs:
    """Return (0, 0), (1, 1), …: the order in which published pairs stand."""
    return np.stack([np.arange(n), np.arange(n)], axis=1).astype(np.int32)


def embeddings(n: int, *, dim: int = 8, seed: int = 0) -> Tensor:
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(seed))


def signs(n: int, *, seed: int) -> Tensor:
    """Return rows of ±1 with the length 4: their cosines are exact, and many are equal."""
    return embeddings(n, dim=16, seed=seed).sign()


def literal_cosine(x: Tensor, y: Tensor) -> list[list[float]]:
    """Return all cosines in float64, 0 for zero vectors."""
    return [[cosine(a, b) for b in y.double()] for a in x.double()]


def cosine(a: Tensor, b: Tensor) -> float:
    length = a.norm() * b.norm()
    return float(a @ b / length) if length > 0 else 0.0


def literal_rank(row: list[float], true: int) -> float:
    rivals = [value for place, value in enumerate(row) if place != true]
    ahead = sum(value > row[true] for value in rivals)
    level = sum(value == row[true] for value in rivals)
    return 1 + ahead + level / 2


def rank_ten(candidates: Candidates, decoding: Decoding) -> tuple[Tensor, list[list[float]]]:
    """Return the ranks of the last ten of fifteen pairs, and the cosines of all who take part."""
    first, second, reference = embeddings(20, seed=1), embeddings(25, seed=2), diagonal(15)
    ranks = rank_partners(
        first,
        second,
        reference[5:],
        reference=reference,
        candidates=candidates,
        decoding=decoding,
    )
    if candidates is Candidates.REFERENCE:
        first, second = first[:15], second[:15]
    return ranks, literal_cosine(first, second)


@given(seed=st.integers(0, 2**16), n=st.integers(1, 12))
def test_ranks_by_cosine_are_those_of_a_loop(seed: int, n: int) -> None:
    first, second = signs(n + 2, seed=seed), signs(n + 5, seed=seed + 1)
    first[0] = 0
    second[1] = 0
    pairs = np.random.default_rng(seed).permuted(diagonal(n), axis=0)

    ranks = rank_partners(first, second, pairs, reference=pairs, candidates=Candidates.ALL)

    cosines = literal_cosine(first, second)
    assert ranks.tolist() == [literal_rank(cosines[x], y) for x, y in pairs.tolist()]


@pytest.mark.parametrize("candidates", Candidates)
def test_csls_is_its_formula(candidates: Candidates) -> None:
    ranks, cosines = rank_ten(candidates, Decoding.CSLS)

    cos = np.array(cosines)
    r_1, r_2 = (np.sort(x, axis=1)[:, -10:].mean(axis=1) for x in (cos, cos.T))
    csls = 2 * cos - r_1[:, None] - r_2
    assert ranks.tolist() == [literal_rank(csls[i].tolist(), i) for i in range(5, 15)]


@pytest.mark.parametrize("decoding", RANKING)
@pytest.mark.parametrize("candidates", Candidates)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_embeddings_invent_no_hits(
    decoding: Decoding, candidates: Candidates, value: float
) -> None:
    constant = torch.full((300, 16), value)

    ranks = rank_partners(
        constant,
        constant,
        diagonal(300),
        reference=diagonal(300),
        candidates=candidates,
        decoding=decoding,
        chunk_size=64,
    )

    metrics = Metrics.of(ranks)
    assert (metrics.hits_at_1, metrics.hits_at_10, metrics.mean_rank) == (0, 0, 150.5)


@pytest.mark.parametrize("decoding", RANKING)
def test_equal_embeddings_are_found(decoding: Decoding) -> None:
    same = embeddings(50)

    ranks = rank_partners(same, 3 * same, diagonal(50), reference=diagonal(50), decoding=decoding)

    assert Metrics.of(ranks).hits_at_1 == 1


def test_reference_candidates_leave_other_entities_out() -> None:
    first = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    second = torch.tensor([[1.0, 0.1], [0.0, 1.0], [1.0, 0.0]])
    pairs = diagonal(2)

    among_reference = rank_partners(first, second, pairs, reference=pairs)
    among_all = rank_partners(first, second, pairs, reference=pairs, candidates=Candidates.ALL)

    assert among_reference.tolist() == [1, 1]
    assert among_all.tolist() == [2, 1]


@given(seed=st.integers(0, 2**16), decoding=st.sampled_from([Decoding.COSINE, Decoding.CSLS]))
def test_the_numbering_of_entities_does_not_matter(seed: int, decoding: Decoding) -> None:
    rng = np.random.default_rng(seed)
    first, second = signs(20, seed=seed), signs(20, seed=seed + 1)
    new_id = rng.permutation(20)
    renumbered = diagonal(20)
    renumbered[:, 1] = new_id

    ranks = rank_partners(first, second, diagonal(20), reference=diagonal(20), decoding=decoding)
    again = rank_partners(
        first,
        second[torch.from_numpy(np.argsort(new_id))],
        renumbered,
        reference=renumbered,
        decoding=decoding,
        chunk_size=20,
    )

    assert ranks.tolist() == again.tolist()


def test_a_partner_outside_the_reference_is_reported() -> None:
    with pytest.raises(DataError, match=r"1 of 3 pairs.*2 candidates, first entity 2"):
        rank_partners(embeddings(3), embeddings(3), diagonal(3), reference=diagonal(2))


@pytest.mark.parametrize("candidates", Candidates)
def test_sinkhorn_ranks_by_the_plan_of_all_that_take_part(
    candidates: Candidates,
) -> None:
    ranks, cosines = rank_ten(candidates, Decoding.SINKHORN)

    plan = torch.tensor(cosines).double().div(0.02)
    for _ in range(100):
        plan -= plan.logsumexp(dim=1, keepdim=True)
        plan -= plan.logsumexp(dim=0)
    assert ranks.tolist() == [literal_rank(plan[i].tolist(), i) for i in range(5, 15)]


def test_sinkhorn_does_not_depend_on_the_numbering_either() -> None:
    first, second = embeddings(40), embeddings(40, seed=1)
    new_id = np.random.default_rng(0).permutation(40)
    renumbered = diagonal(40)
    renumbered[:, 1] = new_id

    ranks = rank_partners(
        first, second, diagonal(40), reference=diagonal(40), decoding=Decoding.SINKHORN
    )
    again = rank_partners(
        first,
        second[torch.from_numpy(np.argsort(new_id))],
        renumbered,
        reference=renumbered,
        decoding=Decoding.SINKHORN,
    )

    assert ranks.tolist() == again.tolist()


@pytest.mark.parametrize("decoding", MATCHING)
def test_one_to_one_decodings_have_no_ranks(decoding: Decoding) -> None:
    same = embeddings(3)

    with pytest.raises(SettingsError, match=r"no ranks.*find_partners"):
        rank_partners(same, same, diagonal(3), reference=diagonal(3), decoding=decoding)


@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("candidates", Candidates)
def test_partners_of_constant_embeddings_are_found_by_chance(
    decoding: Decoding, candidates: Candidates
) -> None:
    constant = torch.ones(300, 16)

    n_found = [
        find_partners(
            constant,
            constant,
            diagonal(300)[:200],
            reference=diagonal(300),
            candidates=candidates,
            decoding=decoding,
            rng=np.random.default_rng(seed),
        ).sum()
        for seed in range(3)
    ]

    assert max(n_found) <= 6  # a random assignment holds 0.67 of them on average


@pytest.mark.parametrize("decoding", Decoding)
def test_partners_with_equal_embeddings_are_all_found(decoding: Decoding) -> None:
    first = embeddings(50)
    order = torch.from_numpy(np.random.default_rng(1).permutation(50))
    pairs = np.stack([order.numpy(), np.arange(50)], axis=1).astype(np.int32)

    is_found = find_partners(
        first,
        2 * first[order],
        pairs[10:],
        reference=pairs,
        candidates=Candidates.REFERENCE,
        decoding=decoding,
        rng=np.random.default_rng(0),
    )

    assert is_found.tolist() == [True] * 40


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("decoding", RANKING)
def test_ranks_on_cuda_are_those_on_the_cpu(decoding: Decoding) -> None:
    first, second, pairs = embeddings(500, dim=64), embeddings(500, dim=64, seed=1), diagonal(500)
    second += 0.5 * first

    on_cuda = rank_partners(
        first.cuda(), second.cuda(), pairs, reference=pairs, decoding=decoding, chunk_size=128
    )
    on_cpu = rank_partners(first, second, pairs, reference=pairs, decoding=decoding)

    assert (on_cuda - on_cpu).abs().max() <= 1


@pytest.mark.parametrize("decoding", Decoding)
def test_turning_around_exchanges_rows_and_columns(decoding: Decoding) -> None:
    first, second = noisy_pair(30)
    similarity = rescore(first[:20], second, decoding)

    turned = similarity.turned()

    torch.testing.assert_close(turned.rows(slice(None)), similarity.rows(slice(None)).T)


@pytest.mark.parametrize("decoding", Decoding)
def test_pairs_and_parts_have_the_similarities_of_the_whole(decoding: Decoding) -> None:
    similarity = rescore(*noisy_pair(30), decoding)
    rows, columns = torch.tensor([3, 1, 29]), torch.tensor([0, 7, 5])
    whole = similarity.rows(slice(None))

    part = similarity.take(rows, columns).rows(slice(None))

    torch.testing.assert_close(part, whole[rows][:, columns])
    torch.testing.assert_close(similarity.of_pairs(rows, columns), whole[rows, columns])


@pytest.mark.parametrize("decoding", [Decoding.CSLS, Decoding.SINKHORN])
def test_equal_embeddings_have_equal_similarities_to_the_last_bit(decoding: Decoding) -> None:
    first, second = noisy_pair(103)
    second[[5, 50, 102]] = second[0].clone()

    values = rescore(first, second, decoding).rows(slice(None))

    assert torch.equal(values[:, 5], values[:, 0])
    assert torch.equal(values[:, 50], values[:, 0])
    assert torch.equal(values[:, 102], values[:, 0])


def test_only_equal_rows_share_an_offset() -> None:
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]])

    offsets = share_offsets(embeddings, torch.tensor([1.0, 2.0, 3.0]))

    assert offsets.tolist() == [3, 2, 3]


def test_hashes_of_different_rows_differ() -> None:
    embeddings = torch.randn(5000, 3, generator=torch.Generator().manual_seed(0))

    assert len(set(hash_rows(embeddings).tolist())) == 5000
