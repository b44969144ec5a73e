"""The whole alignment: seeds as given, everyone else decoded, believed from a threshold on."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.data.graph import Graph, GraphPair, Pairs
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError
from interstellar.evaluation import chunks
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.whole_alignment import KEEP_ALL, AlignmentSettings, Asking, align

N = 60
NO_PAIRS = np.empty((0, 2), dtype=np.int32)


def make_graph(n: int, prefix: str) -> Graph:
    return Graph(
        entities=Vocabulary([f"{prefix}{i}" for i in range(n)]),
        relations=Vocabulary(["r"]),
        triplets=np.empty((0, 3), dtype=np.int32),
    )


def make_pair(*, n_first: int = N, n_second: int = N, valid: Pairs | None = None) -> GraphPair:
    """Return a pair in which i means i: 0 … 9 are seeds, 10 … 29 validation, to 49 test."""
    same = np.stack([np.arange(50)] * 2, axis=1).astype(np.int32)
    return GraphPair(
        name="small",
        source=make_graph(n_first, "a"),
        target=make_graph(n_second, "b"),
        train=same[:10],
        valid=same[10:30] if valid is None else valid,
        test=same[30:],
    )


def make_embeddings(
    n_second: int = N, *, noise: float = 0.9, seed: int = 0
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(N, 16, generator=generator)
    noisy = first + noise * torch.randn(N, 16, generator=generator)
    return first, noisy[:n_second]


@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("is_one_to_one", [True, False])
@pytest.mark.parametrize("asking", Asking)
def test_seeds_are_given_and_keep_their_partners_to_themselves(
    decoding: Decoding, is_one_to_one: bool, asking: Asking
) -> None:
    settings = AlignmentSettings(decoding=decoding, is_one_to_one=is_one_to_one, asking=asking)

    found = align(make_pair(), *make_embeddings(), settings)

    known, others = found.pairs[found.is_known], found.pairs[~found.is_known]
    assert known.tolist() == [[i, i] for i in range(10)]
    assert found.similarities[found.is_known].tolist() == [1.0] * 10
    assert others.min() >= 10


@pytest.mark.parametrize("decoding", Decoding)
@pytest.mark.parametrize("n_second", [50, N])
def test_everyone_is_in_a_pair_or_unmatched(decoding: Decoding, n_second: int) -> None:
    settings = AlignmentSettings(decoding=decoding, is_one_to_one=True)

    found = align(make_pair(n_second=n_second), *make_embeddings(n_second), settings)

    first, second = found.pairs.T.tolist()
    assert len(first) == len(set(first))
    assert len(second) == len(set(second))
    assert sorted(first + found.unmatched_first.tolist()) == list(range(N))
    assert sorted(second + found.unmatched_second.tolist()) == list(range(n_second))
    assert len(found.unmatched) == len(found.unmatched_first)


def test_without_a_threshold_each_who_asks_gets_its_nearest() -> None:
    first, second = make_embeddings()
    settings = AlignmentSettings(decoding=Decoding.COSINE, threshold=KEEP_ALL)

    found = align(make_pair(), first, second, settings)

    cosine = torch.nn.functional.cosine_similarity(first[10:, None], second[None, 10:], dim=2)
    best = cosine.max(dim=1)
    assert found.pairs[10:, 0].tolist() == list(range(10, N))
    assert found.pairs[10:, 1].tolist() == (best.indices + 10).tolist()
    assert found.similarities[10:] == pytest.approx(best.values.numpy(), abs=1e-6)
    assert (len(found.unmatched), found.threshold) == (0, KEEP_ALL)


def test_lists_have_the_length_asked_for_with_the_nearest_first() -> None:
    settings = AlignmentSettings(decoding=Decoding.CSLS, top_k=3, threshold=KEEP_ALL)

    found = align(make_pair(), *make_embeddings(), settings)

    lists = found.similarities[10:].reshape(50, 3)
    assert found.pairs[10:, 0].reshape(50, 3).tolist() == [[i] * 3 for i in range(10, N)]
    assert (np.diff(lists, axis=1) <= 0).all()


@pytest.mark.parametrize("top_k", [None, 4])
def test_both_directions_agree_where_each_alone_names_the_pair(top_k: int | None) -> None:
    graph, embeddings = make_pair(), make_embeddings(noise=1.5)

    first, second, both = (
        align(
            graph,
            *embeddings,
            AlignmentSettings(
                decoding=Decoding.COSINE, top_k=top_k, threshold=KEEP_ALL, asking=asking
            ),
        )
        for asking in (Asking.SOURCE, Asking.TARGET, Asking.BOTH)
    )

    pairs_of_first, pairs_of_second, pairs_of_both = (
        {(a, b) for a, b in found.pairs.tolist()} for found in (first, second, both)
    )
    assert pairs_of_both == pairs_of_first & pairs_of_second
    assert pairs_of_both != pairs_of_first


@pytest.mark.parametrize("decoding", Decoding)
def test_the_threshold_is_the_best_on_validation(decoding: Decoding) -> None:
    graph, embeddings = make_pair(), make_embeddings(noise=1.5)

    found = align(graph, *embeddings, AlignmentSettings(decoding=decoding))

    everything = align(graph, *embeddings, AlignmentSettings(decoding=decoding, threshold=KEEP_ALL))
    tried = [
        align(graph, *embeddings, AlignmentSettings(decoding=decoding, threshold=float(value)))
        for value in everything.similarities[10:]
    ]
    assert found.valid.f1 == max(other.valid.f1 for other in tried)
    assert (found.similarities[10:] >= found.threshold).all()


def test_quality_counts_pairs_of_the_split_alone() -> None:
    settings = AlignmentSettings(decoding=Decoding.COSINE, threshold=0.8)

    found = align(make_pair(), *make_embeddings(), settings)

    partner = dict(found.pairs.tolist())
    given = [i for i in range(30, 50) if i in partner]
    right = [i for i in given if partner[i] == i]
    assert found.test.precision == len(right) / len(given)
    assert found.test.recall == len(right) / 20
    assert 0 < found.test.recall < 1


def test_a_small_memory_gives_the_same_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    large = align(make_pair(), *make_embeddings(), AlignmentSettings())

    monkeypatch.setattr(chunks, "free_host_bytes", lambda: 0)
    small = align(make_pair(), *make_embeddings(), AlignmentSettings())

    assert small.pairs.tolist() == large.pairs.tolist()
    assert small.similarities == pytest.approx(large.similarities, abs=1e-3)


def test_shares_of_the_plan_are_from_0_to_1() -> None:
    found = align(make_pair(), *make_embeddings(), AlignmentSettings(threshold=KEEP_ALL))

    assert (found.similarities > 0).all()
    assert (found.similarities <= 1 + 1e-5).all()


@pytest.mark.parametrize("decoding", Decoding)
def test_embeddings_that_are_all_alike_find_partners_by_chance_alone(decoding: Decoding) -> None:
    constant = torch.ones(N, 4)

    found = [
        align(
            make_pair(),
            constant,
            constant,
            AlignmentSettings(decoding=decoding, threshold=KEEP_ALL),
            seed=seed,
        )
        for seed in range(20)
    ]

    n_right = [round(f.test.recall * 20) for f in found]
    assert sum(n_right) < 30  # 20 tests with 0.4 expected in each


def test_a_threshold_cannot_be_chosen_without_validation() -> None:
    with pytest.raises(SettingsError, match=r"no validation pairs.*Give `threshold` a number"):
        align(make_pair(valid=NO_PAIRS), *make_embeddings(), AlignmentSettings())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"top_k": 0}, "`top_k` is 0"),
        ({"top_k": 2, "is_one_to_one": True}, "Choose `top_k` or `one_to_one`"),
        ({"top_k": 2, "decoding": Decoding.STABLE}, "stable gives each entity one partner"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, object], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        AlignmentSettings(**settings)  # type: ignore[arg-type]


def test_seeds_may_leave_nobody_to_align() -> None:
    same = np.stack([np.arange(5)] * 2, axis=1).astype(np.int32)
    graph = GraphPair(
        name="done",
        source=make_graph(5, "a"),
        target=make_graph(5, "b"),
        train=same,
        valid=NO_PAIRS,
        test=NO_PAIRS,
    )

    for decoding in Decoding:
        found = align(
            graph,
            torch.ones(5, 2),
            torch.ones(5, 2),
            AlignmentSettings(decoding=decoding, threshold=KEEP_ALL),
        )

        assert found.pairs.tolist() == same.tolist()


@pytest.mark.parametrize("asking", Asking)
@pytest.mark.parametrize("decoding", [Decoding.COSINE, Decoding.CSLS])
def test_an_approximate_alignment_of_a_small_pair_is_the_exact_one(
    asking: Asking, decoding: Decoding
) -> None:
    pytest.importorskip("usearch")
    graph, tables = make_pair(), make_embeddings()
    settings = AlignmentSettings(decoding=decoding, asking=asking, threshold=KEEP_ALL)

    exact = align(graph, *tables, settings)
    found = align(graph, *tables, replace(settings, is_approximate=True))

    assert {*map(tuple, found.pairs.tolist())} == {*map(tuple, exact.pairs.tolist())}
    assert found.test == exact.test


@pytest.mark.parametrize(
    "changes",
    [{"decoding": Decoding.SINKHORN}, {"decoding": Decoding.CSLS, "is_one_to_one": True}],
)
def test_what_cannot_be_approximate_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="only the nearest by cosine or csls"):
        AlignmentSettings(is_approximate=True, **changes)
