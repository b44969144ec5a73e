"""Ranks among drawn entities: who is drawn, and the ranks as counted by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets, with_inverses
from interstellar.errors import SettingsError
from interstellar.evaluation.ranks import rank_objects
from interstellar.evaluation.sampled_ranks import NOBODY, draw_negatives, rank_among_drawn
from tests.evaluation.small_rankings import CPU

N_ENTITIES, N_RELATIONS = 30, 3
LOGITS = torch.randint(
    0, 9, (N_ENTITIES, 2 * N_RELATIONS, N_ENTITIES), generator=torch.Generator().manual_seed(0)
).float()


def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
    return LOGITS[subjects, relations]


def draw_queries() -> tuple[Triplets, KnownAnswers]:
    rng = np.random.default_rng(0)
    high = [N_ENTITIES, N_RELATIONS, N_ENTITIES]
    triplets = rng.integers(0, high, (60, 3), dtype=np.int32)
    sizes = {"n_entities": N_ENTITIES, "n_relations": N_RELATIONS}
    return with_inverses(triplets[:20], N_RELATIONS), KnownAnswers.of_triplets(triplets, **sizes)


def allowed(known: KnownAnswers, query: list[int]) -> set[int]:
    """Who may be drawn, one entity after the other."""
    s, r, o = query
    _, answers = known.look_up(np.array([s]), np.array([r]))
    return {e for e in range(N_ENTITIES) if e not in (s, o) and e not in answers.tolist()}


@pytest.mark.parametrize("n_negatives", [5, 50])
def test_distinct_entities_are_drawn_that_are_no_known_answers(n_negatives: int) -> None:
    queries, known = draw_queries()

    drawn = draw_negatives(queries, known, n_negatives, np.random.default_rng(1))

    for query, row in zip(queries.tolist(), drawn.tolist(), strict=True):
        others = [e for e in row if e != NOBODY]
        may = allowed(known, query)
        assert len(set(others)) == len(others) == min(n_negatives, len(may))
        assert set(others) <= may


def test_every_other_entity_is_drawn_equally_often() -> None:
    queries, known = draw_queries()
    rng = np.random.default_rng(2)
    asked = np.repeat(queries[:1], 6000, axis=0)

    drawn = draw_negatives(asked, known, 4, rng)

    may = allowed(known, queries[0].tolist())
    counts = np.bincount(drawn.ravel(), minlength=N_ENTITIES)
    expected = drawn.size / len(may)
    assert set(np.flatnonzero(counts).tolist()) == may
    assert counts[sorted(may)] == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("n_negatives", [5, 50])
def test_ranks_are_those_of_a_loop_by_hand(n_negatives: int) -> None:
    queries, known = draw_queries()

    found = rank_among_drawn(
        compute_logits,
        queries,
        known,
        n_negatives=n_negatives,
        rng=np.random.default_rng(1),
        device=CPU,
    )

    drawn = draw_negatives(queries, known, n_negatives, np.random.default_rng(1))
    for rank, (s, r, o), row in zip(found.tolist(), queries.tolist(), drawn.tolist(), strict=True):
        true = LOGITS[s, r, o]
        rivals = [LOGITS[s, r, e] for e in row if e != NOBODY]
        assert rank == 1 + sum(x > true for x in rivals) + sum(x == true for x in rivals) / 2


def test_among_all_others_ranks_are_filtered_ranks_but_for_the_entity_asked_about() -> None:
    queries, known = draw_queries()

    def compute(subjects: Tensor, relations: Tensor) -> Tensor:
        logits = compute_logits(subjects, relations).clone()
        return logits.scatter_(1, subjects.unsqueeze(1), -1.0)

    queries = queries[queries[:, 0] != queries[:, 2]]
    rng = np.random.default_rng(0)
    found = rank_among_drawn(compute, queries, known, n_negatives=N_ENTITIES, rng=rng, device=CPU)

    assert found.equal(rank_objects(compute, queries, known, n_entities=N_ENTITIES, device=CPU))


def test_what_is_no_number_never_wins() -> None:
    queries, known = draw_queries()

    def compute(subjects: Tensor, relations: Tensor) -> Tensor:
        return torch.full_like(compute_logits(subjects, relations), torch.nan)

    rng = np.random.default_rng(0)
    found = rank_among_drawn(compute, queries, known, n_negatives=5, rng=rng, device=CPU)

    assert found.tolist() == [6.0] * len(queries)


def test_at_least_one_other_is_drawn() -> None:
    queries, known = draw_queries()

    with pytest.raises(SettingsError, match="at least one other"):
        draw_negatives(queries, known, 0, np.random.default_rng(0))
