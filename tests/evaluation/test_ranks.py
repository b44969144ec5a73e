"""Ranks of the true objects, and queries that ask the same."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.ranks import (
    BLOCK,
    QueryGroups,
    count_at_once,
    count_by_row,
    find_highest,
    rank_objects,
)
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

    at_once, by_row = count_at_once(logits, thresholds), count_by_row(logits, thresholds)

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
    queries = np.array([[0, 0, 1], [0, 0, 2]], dtype=np.int32)
    known = KnownAnswers.of_triplets(queries, n_entities=3, n_relations=1)

    raw, filtered = (
        rank_objects(lambda s, _: logits[s], queries, facts, n_entities=3, device=CPU)
        for facts in (None, known)
    )

    assert raw.tolist() == [2.0, 1.0]
    assert filtered.tolist() == [1.0, 1.0]


def test_the_logits_given_are_not_changed() -> None:
    logits = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    before = logits.detach().clone()
    triplets = np.array([[0, 0, 1], [1, 0, 3], [2, 0, 0], [3, 0, 2], [0, 0, 2]], dtype=np.int32)
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
    assert sizes[0] == len(QueryGroups.of(ranking.queries))
    assert sizes[-1] <= limit


def test_a_single_query_that_does_not_fit_is_reported_with_advice() -> None:
    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes")

    with pytest.raises(SettingsError, match=r"single query.*another device"):
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


@given(rankings(), st.integers(0, 2**16))
def test_answers_that_are_not_known_and_nan_are_ranked_as_by_masking(
    ranking: Ranking, seed: int
) -> None:
    """Known are only some of the triplets, and some logits are NaN."""
    rng = np.random.default_rng(seed)
    known = KnownAnswers.of_triplets(
        ranking.triplets[rng.random(len(ranking.triplets)) < 0.5],
        n_entities=ranking.n_entities,
        n_relations=ranking.n_relations,
    )
    ranking.logits[torch.from_numpy(rng.random(ranking.logits.shape) < 0.2)] = torch.nan

    assert rank(ranking, known) == masked_ranks(ranking, known)


def masked_ranks(ranking: Ranking, known: KnownAnswers) -> list[float]:
    """Rank each answer among the candidates that are left, one query at a time."""
    ranks = []
    for query in ranking.queries:
        s, r, true = query.tolist()
        _, answers = known.look_up(query[:1], query[1:2])
        rivals = np.setdiff1d(np.arange(ranking.n_entities), [*answers, true])
        logits = ranking.logits[s, r]
        n_level = int((logits[rivals] == logits[true]).sum())
        n_below = int((logits[rivals] < logits[true]).sum())
        ranks.append(1 + (len(rivals) - n_below - n_level) + n_level / 2)
    return ranks


@pytest.mark.parametrize("n_known", [1, 400_000])
def test_chunks_have_few_rows_where_many_answers_are_known(n_known: int) -> None:
    """Each of 8 queries has the first entities as known answers; 400,000 fill a chunk alone."""
    n_entities, n_queries = 500_000, 8
    known = KnownAnswers(
        n_entities=n_entities,
        n_relations=8,
        queries=np.arange(n_queries),
        bounds=n_known * np.arange(n_queries + 1),
        objects=np.tile(np.arange(n_known, dtype=np.int32), n_queries),
    )
    queries = np.stack([np.zeros(8), np.arange(8), np.zeros(8)], axis=1).astype(np.int32)
    sizes = []

    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        sizes.append(len(subjects))
        return torch.zeros(len(subjects), n_entities)

    rank_objects(compute_logits, queries, known, n_entities=n_entities, device=CPU)

    assert sizes == ([8] if n_known == 1 else [1] * 8)


def test_a_hub_is_ranked_in_little_memory() -> None:
    """A star of 20,000 leaves, 4,000 of them asked for: 80 million pairs of an answer and a rival.

    Compared one by one they took 3.4 GB.
    """
    program = textwrap.dedent(
        """
        import resource
        import numpy as np, torch
        from interstellar.data.known_answers import KnownAnswers
        from interstellar.evaluation.ranks import rank_objects

        n = 20_000
        star = np.stack([np.zeros(n), np.zeros(n), np.arange(1, n + 1)], axis=1).astype(np.int32)
        known = KnownAnswers.of_triplets(star, n_entities=n + 1, n_relations=1)
        row = torch.rand(1, n + 1)
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        before = peak()
        ranks = rank_objects(
            lambda s, r: row.expand(len(s), -1).clone(),
            star[:4_000],
            known,
            n_entities=n + 1,
            device=torch.device("cpu"),
        )
        assert ((ranks == 1) | (ranks == 2)).all()
        print(peak() - before)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100, "MiB"


@given(rankings())
def test_a_group_holds_all_queries_of_one_subject_and_relation(ranking: Ranking) -> None:
    queries = ranking.queries

    groups = QueryGroups.of(queries)

    assert sorted(groups.order) == list(range(len(queries)))
    asked = [tuple(pair) for pair in queries[groups.order, :2].tolist()]
    parts = [set(asked[a:b]) for a, b in zip(groups.starts, groups.starts[1:], strict=False)]
    assert all(len(part) == 1 for part in parts)
    assert len(groups) == len(set(asked))


def test_groups_stand_in_the_order_of_their_first_query() -> None:
    queries = np.array([[3, 1, 0], [0, 0, 1], [3, 1, 2], [2, 5, 0], [0, 0, 4]], dtype=np.int32)

    groups = QueryGroups.of(queries)

    assert groups.asked.tolist() == [[3, 1], [0, 0], [2, 5]]
    assert groups.order.tolist() == [0, 2, 1, 4, 3]
    assert groups.starts.tolist() == [0, 2, 4, 5]
    assert groups.members(slice(1, 3)) == slice(2, 5)
    assert groups.rows(slice(1, 3)).tolist() == [0, 0, 1]


def test_no_queries_make_no_groups() -> None:
    groups = QueryGroups.of(np.empty((0, 3), dtype=np.int32))

    assert len(groups) == 0


def test_queries_may_be_left_on_their_own() -> None:
    groups = QueryGroups.of_one_each(as_queries(3))

    assert groups.order.tolist() == [0, 1, 2]
    assert groups.rows(slice(1, 3)).tolist() == [0, 1]


def as_queries(n: int) -> Triplets:
    queries = np.zeros((n, 3), dtype=np.int32)
    queries[:, 0] = np.arange(n)
    return queries


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


def sort_fully(logits: torch.Tensor, k: int) -> torch.Tensor:
    return torch.sort(logits, dim=1, descending=True, stable=True).indices[:, :k]


@given(
    n=st.integers(1, 20 * BLOCK),
    k=st.integers(1, 12),
    levels=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_they_are_in_the_order_of_a_full_sort(n: int, k: int, levels: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(-levels, levels, (3, n), generator=generator) / 7

    assert torch.equal(find_highest(logits, min(k, n)), sort_fully(logits, min(k, n)))


@pytest.mark.parametrize("value", [0.0, -torch.inf])
def test_level_rows_are_in_the_order_of_ids(value: float) -> None:
    logits = torch.full((2, 40 * BLOCK + 5), value)

    assert find_highest(logits, 3).tolist() == [[0, 1, 2]] * 2


def test_minus_zero_is_level_with_zero() -> None:
    assert find_highest(torch.tensor([[-0.0, 0.0, -1.0]]), 3).tolist() == [[0, 1, 2]]
