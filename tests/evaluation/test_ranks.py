"""Ranks of the true objects."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.ranks import _count_at_once, _count_by_row, rank_objects
from tests.evaluation.small_rankings import CPU, Ranking, literal_ranks, rankings


def rank(
    ranking: Ranking, known: KnownAnswers | None = None, chunk_size: int | None = None
) -> list[float]:
    ranks = rank_objects(
        ranking.compute_logits,
        ranking.queries,
        known,
        n_entities=ranking.n_entities,
        device=CPU,
        chunk_size=chunk_size,
    )
    assert ranks.dtype == torch.float64
    return [float(x) for x in ranks]


@given(rankings())
def test_ranks_are_those_of_a_loop_over_all_candidates(ranking: Ranking) -> None:
    assert rank(ranking) == literal_ranks(ranking, is_filtered=False)
    assert rank(ranking, ranking.known) == literal_ranks(ranking, is_filtered=True)


@given(rankings(), st.integers(1, 7))
def test_the_chunk_size_changes_nothing(ranking: Ranking, chunk_size: int) -> None:
    assert rank(ranking, ranking.known, chunk_size) == rank(ranking, ranking.known)


@given(rankings())
def test_the_filtered_rank_is_at_most_the_raw_rank(ranking: Ranking) -> None:
    filtered, raw = rank(ranking, ranking.known), rank(ranking)

    assert all(f <= r for f, r in zip(filtered, raw, strict=True))


@given(rankings(), st.integers(0, 2**16))
def test_the_numbering_of_entities_does_not_matter(ranking: Ranking, seed: int) -> None:
    new_id = np.random.default_rng(seed).permutation(ranking.n_entities)
    old_id = torch.from_numpy(np.argsort(new_id))
    triplets = ranking.triplets.copy()
    triplets[:, [0, 2]] = new_id[triplets[:, [0, 2]]]
    renumbered = Ranking(
        n_entities=ranking.n_entities,
        n_relations=ranking.n_relations,
        triplets=triplets,
        logits=ranking.logits[old_id][:, :, old_id],
    )

    assert rank(renumbered, renumbered.known) == rank(ranking, ranking.known)


@given(rankings())
def test_both_ways_of_counting_agree(ranking: Ranking) -> None:
    logits = ranking.logits.flatten(end_dim=1)
    logits[0, 0] = torch.nan
    thresholds = logits[:, :1]

    at_once, by_row = _count_at_once(logits, thresholds), _count_by_row(logits, thresholds)

    assert torch.equal(torch.stack(at_once), torch.stack(by_row))


def one_query(logits: list[float], true: int) -> float:
    queries = np.array([[0, 0, true]], dtype=np.int32)
    ranks = rank_objects(
        lambda subjects, _: torch.tensor(logits).expand(len(subjects), -1),
        queries,
        None,
        n_entities=len(logits),
        device=CPU,
    )
    return ranks.item()


def test_equal_logits_share_the_mean_of_their_places() -> None:
    assert one_query([3.0, 2.0, 2.0, 2.0, 1.0], true=2) == 3.0
    assert one_query([2.0, 2.0], true=1) == 1.5


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_when_all_logits_are_equal_the_rank_is_in_the_middle(n: int) -> None:
    assert one_query([0.25] * n, true=n - 1) == (n + 1) / 2


def test_nan_never_wins() -> None:
    nan = float("nan")

    assert one_query([nan, 1.0, 2.0], true=0) == 3.0, "a NaN answer stands last"
    assert one_query([nan, 1.0, 0.0], true=1) == 2.0, "a NaN rival stands before the answer"
    assert one_query([nan, nan, nan], true=1) == 3.0, "a diverged network has the worst rank"


def test_a_nan_answer_stands_last_among_unknown_rivals() -> None:
    triplets = np.array([[0, 0, 0], [0, 0, 1]], dtype=np.int32)
    known = KnownAnswers.of_triplets(triplets, n_entities=5, n_relations=1)
    logits = torch.tensor([[torch.nan, 1.0, 2.0, 3.0, 4.0]])

    ranks = rank_objects(lambda s, _: logits[s], triplets[:1], known, n_entities=5, device=CPU)

    assert ranks.tolist() == [4.0]


def test_a_true_logit_of_minus_infinity_does_not_tie_with_known_answers() -> None:
    triplets = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2]], dtype=np.int32)
    known = KnownAnswers.of_triplets(triplets, n_entities=4, n_relations=1)
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, 0.0]])

    ranks = rank_objects(lambda s, _: logits[s], triplets[:1], known, n_entities=4, device=CPU)

    assert ranks.tolist() == [2.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_logits_may_have_any_precision(dtype: torch.dtype) -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]], dtype=dtype)
    queries = np.array([[0, 0, 1]], dtype=np.int32)

    ranks = rank_objects(lambda s, _: logits[s], queries, None, n_entities=3, device=CPU)

    assert ranks.tolist() == [2.0]


def test_the_logits_given_are_not_changed() -> None:
    logits = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    before = logits.detach().clone()
    triplets = np.array([[0, 0, 1], [0, 0, 2], [1, 0, 3], [2, 0, 0]], dtype=np.int32)
    known = KnownAnswers.of_triplets(triplets, n_entities=4, n_relations=1)

    rank_objects(lambda *_: logits, triplets, known, n_entities=4, device=CPU)

    assert torch.equal(logits, before)


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_out_of_memory_halves_the_chunk_and_changes_nothing(limit: int) -> None:
    ranking = random_ranking(n_triplets=20)
    sizes = []

    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        sizes.append(len(subjects))
        if len(subjects) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return ranking.compute_logits(subjects, relations)

    limited = rank_objects(
        compute_logits, ranking.queries, ranking.known, n_entities=ranking.n_entities, device=CPU
    )

    assert limited.tolist() == rank(ranking, ranking.known)
    assert sizes[0] == 40
    assert sizes[-1] <= limit


def test_a_single_query_that_does_not_fit_is_reported_with_advice() -> None:
    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes")

    with pytest.raises(SettingsError, match=r"single query.*--device"):
        rank_objects(compute_logits, as_queries(3), None, n_entities=4, device=CPU)


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        rank_objects(compute_logits, as_queries(3), None, n_entities=4, device=CPU)


def test_logits_for_too_few_entities_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"shape \(3, 2\).*4 candidates"):
        rank_objects(
            lambda s, _: torch.zeros(len(s), 2), as_queries(3), None, n_entities=4, device=CPU
        )


def test_no_queries_have_no_ranks() -> None:
    ranks = rank_objects(
        lambda s, _: torch.zeros(len(s), 4), as_queries(0), None, n_entities=4, device=CPU
    )

    assert ranks.shape == (0,)
    assert ranks.dtype == torch.float64


def as_queries(n: int) -> Triplets:
    return np.zeros((n, 3), dtype=np.int32)


def random_ranking(*, n_triplets: int) -> Ranking:
    rng = np.random.default_rng(0)
    triplets = np.stack([rng.integers(bound, size=n_triplets) for bound in (6, 2, 6)], axis=1)
    return Ranking(
        n_entities=6,
        n_relations=2,
        triplets=triplets.astype(np.int32),
        logits=torch.from_numpy(rng.normal(size=(6, 4, 6)).round(1).astype(np.float32)),
    )


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_ranks_on_cuda_are_those_on_the_cpu() -> None:
    ranking = random_ranking(n_triplets=200)
    cuda = torch.device("cuda")
    logits = ranking.logits.to(cuda)

    ranks = rank_objects(
        lambda s, r: logits[s, r], ranking.queries, ranking.known, n_entities=6, device=cuda
    )

    assert ranks.tolist() == rank(ranking, ranking.known)
