"""The biased walk."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interstellar.errors import SettingsError
from interstellar.paths import biased_walk
from interstellar.paths.biased_walk import (
    MAX_ROUND,
    MAX_STEP,
    BiasedWalk,
    path_states,
    sample_paths,
    uniform,
)
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkRule, WalkSettings

from .small_graphs import (
    LEAF,
    ONE_GRAPH,
    Rows,
    graph_pair,
    knowledge_graph,
    random_walk_graph,
    some_rows,
    some_seeds,
    two_graphs,
)

CPU = torch.device("cpu")
ALIGNMENT = WalkSettings.alignment()
PAPER = WalkSettings(length=5, depth_bias=0.8, cross_bias=0.7, rule=WalkRule.PAPER)


def sample(
    settings: WalkSettings = ALIGNMENT, *, seed: int = 0, chunk_size: int | None = None
) -> PathTable:
    return sample_paths(random_walk_graph(), settings, seed=seed, device=CPU, chunk_size=chunk_size)


def steps_of(paths: PathTable) -> list[tuple[int, int, int]]:
    columns = (paths.subjects, paths.relations, paths.objects)
    return list(zip(*(c.ravel().tolist() for c in columns), strict=True))


@given(
    rows=some_rows,
    seeds=some_seeds,
    rule=st.sampled_from(WalkRule),
    length=st.integers(1, 5),
    seed=st.integers(0, 9),
)
def test_paths_follow_edges_and_each_triplet_starts_its_share(
    rows: Rows, seeds: list[tuple[int, int]], rule: WalkRule, length: int, seed: int
) -> None:
    graph = WalkGraph.of(graph_pair(rows, rows[::2], seeds, n_entities=6))
    settings = WalkSettings(length=length, depth_bias=0.9, cross_bias=0.9, rule=rule)

    paths = sample_paths(graph, settings, seed=seed, device=CPU)

    triplets = list(map(tuple, graph.triplets().tolist()))
    assert paths.array.shape == (2 * len(triplets), 2 * length + 1)
    assert set(steps_of(paths)) <= set(triplets)
    assert Counter(map(tuple, paths.array[:, :3].tolist())) == dict.fromkeys(triplets, 2)


def test_paths_of_one_triplet_are_the_triplets() -> None:
    graph = WalkGraph.of(knowledge_graph(ONE_GRAPH))
    settings = WalkSettings(length=1, depth_bias=0.7, paths_per_triplet=3)

    paths = sample_paths(graph, settings, seed=0, device=CPU)

    assert sorted(paths.array.tolist()) == sorted(3 * graph.triplets().tolist())


def test_paths_are_ordered_by_their_first_subject() -> None:
    subjects = sample().array[:, 0]

    assert (np.diff(subjects) >= 0).all()


@pytest.mark.parametrize("settings", [ALIGNMENT, PAPER])
def test_the_same_seed_gives_the_same_paths_and_another_seed_others(
    settings: WalkSettings,
) -> None:
    hashes = [sample(settings, seed=seed).sha256 for seed in (0, 0, 1)]

    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


@pytest.mark.parametrize("settings", [ALIGNMENT, PAPER])
def test_chunks_and_threads_do_not_change_the_paths(settings: WalkSettings) -> None:
    expected = sample(settings).sha256
    n_threads = torch.get_num_threads()

    hashes = {sample(settings, chunk_size=n).sha256 for n in (97, 1000, 4096)}
    torch.set_num_threads(n_threads + 2)
    hashes.add(sample(settings).sha256)
    torch.set_num_threads(n_threads)

    assert hashes == {expected}


def test_more_edges_than_one_slab_holds_do_not_change_the_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(biased_walk, "MAX_ROUNDS", 1)
    expected = sample(PAPER).sha256

    monkeypatch.setattr("interstellar.paths.biased_walk.MAX_EDGES", 50)

    assert sample(PAPER).sha256 == expected


def test_the_paths_of_a_seed_stay_the_same_in_every_version() -> None:
    graph = WalkGraph.of(two_graphs())

    hashes = [sample_paths(graph, s, seed=0, device=CPU).sha256[:16] for s in (ALIGNMENT, PAPER)]

    assert hashes == ["a07ac238a7fea8e0", "3604101138ed6833"]


def test_the_order_of_the_triplets_does_not_change_the_paths() -> None:
    settings = WalkSettings.link_prediction()
    orders = itertools.islice(itertools.permutations(ONE_GRAPH), 0, 5040, 700)
    graphs = [WalkGraph.of(knowledge_graph(list(order))) for order in orders]

    hashes = {sample_paths(graph, settings, seed=0, device=CPU).sha256 for graph in graphs}

    assert len(hashes) == 1


@pytest.mark.parametrize("rule", WalkRule)
def test_a_walk_that_can_only_turn_back_ends_although_the_bias_is_extreme(rule: WalkRule) -> None:
    settings = WalkSettings(length=6, depth_bias=1 - 1e-12, rule=rule)

    paths = sample_paths(WalkGraph.of(knowledge_graph(LEAF)), settings, seed=0, device=CPU)

    assert paths.array[:, 0::2].tolist() == 2 * [[0, 1] * 3 + [0]] + 2 * [[1, 0] * 3 + [1]]


@pytest.mark.parametrize("settings", [ALIGNMENT, PAPER, WalkSettings.link_prediction()])
@pytest.mark.parametrize("u", [0.0, 1 - 2.0**-53])
def test_the_smallest_and_the_largest_random_number_stay_in_the_row(
    settings: WalkSettings, u: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def constant(states: torch.Tensor, *, step: int, round: int) -> torch.Tensor:
        return torch.full(states.shape, u, dtype=torch.float64)

    monkeypatch.setattr(biased_walk, "uniform", constant)

    steps = set(steps_of(sample(settings)))

    assert steps <= set(map(tuple, random_walk_graph().triplets().tolist()))


@given(
    ascending=st.lists(st.integers(0, 20), min_size=1, unique=True).map(sorted),
    keys=st.lists(st.integers(-2, 23), max_size=9),
)
def test_a_key_is_found_if_and_only_if_it_is_there(ascending: list[int], keys: list[int]) -> None:
    found = biased_walk.contains(
        torch.tensor(ascending), torch.tensor(keys, dtype=torch.int64)
    ).tolist()

    assert found == [key in ascending for key in keys]


def test_no_numbers_give_no_paths() -> None:
    settings = WalkSettings.link_prediction()
    walk = BiasedWalk(WalkIndex.build(random_walk_graph(), settings), settings, key=0)

    assert walk.paths(torch.empty(0, dtype=torch.int64)).shape == (0, 7)


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    graph = WalkGraph.of(knowledge_graph(ONE_GRAPH))

    sample_paths(
        graph,
        WalkSettings.link_prediction(),
        seed=0,
        device=CPU,
        chunk_size=10,
        progress=lambda done, total: told.append((done, total)),
    )

    assert told == [(10, 28), (20, 28), (28, 28)]


def test_an_empty_chunk_is_refused() -> None:
    with pytest.raises(SettingsError, match="chunk_size is 0"):
        sample(chunk_size=0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("settings", [ALIGNMENT, PAPER, WalkSettings.link_prediction()])
@pytest.mark.parametrize("max_rounds", [1, biased_walk.MAX_ROUNDS])
def test_a_cuda_device_gives_the_same_paths(
    settings: WalkSettings, max_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(biased_walk, "MAX_ROUNDS", max_rounds)
    graph = random_walk_graph(n_entities=3000, n_triplets=40_000)

    on_cpu = sample_paths(graph, settings, seed=5, device=CPU)
    on_cuda = sample_paths(graph, settings, seed=5, device=torch.device("cuda"))

    assert np.array_equal(on_cuda.array, on_cpu.array)


WORD = 2**64


def splitmix64(key: int, n: int) -> int:
    """Return the n-th number of SplitMix64, in Python's unbounded integers."""
    z = (key + n * 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def test_the_plain_python_stream_is_the_published_one() -> None:
    numbers = [splitmix64(1234567, n) for n in range(1, 4)]

    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(
    key=st.integers(0, WORD - 1),
    path=st.integers(0, 2**40 - 1),
    step=st.integers(0, MAX_STEP),
    round=st.integers(0, MAX_ROUND),
)
def test_numbers_are_those_of_splitmix64_at_their_place(
    key: int, path: int, step: int, round: int
) -> None:
    expected = splitmix64(key, path << 24 | step << 8 | round) >> 11

    u = uniform(path_states(key, torch.tensor([path])), step=step, round=round)

    assert u.item() == expected / 2**53


def test_numbers_fill_the_unit_interval_evenly() -> None:
    u = uniform(path_states(7, torch.arange(100_000)), step=3, round=0)

    counts = torch.histc(u, bins=100, min=0, max=1)
    assert u.min() >= 0
    assert u.max() < 1
    assert (counts - 1000).abs().max() < 6 * 1000**0.5


def test_another_step_or_round_gives_other_numbers() -> None:
    states = path_states(7, torch.arange(1000))

    numbers = torch.cat([uniform(states, step=s, round=r) for s in range(3) for r in range(3)])

    assert len(set(numbers.tolist())) == 9000
