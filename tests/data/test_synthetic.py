import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interstellar.data.graph import GraphPair, KnowledgeGraph
from interstellar.data.synthetic import (
    is_synthetic,
    parse_synthetic,
    synthetic_graph,
    synthetic_pair,
)
from interstellar.data.synthetic_settings import (
    PlantedRule,
    SyntheticSettings,
    parse_settings,
    planted_rules,
    refuse_too_large,
)
from interstellar.data.triplets import Triplets
from interstellar.errors import DataError, SettingsError

SMALL = SyntheticSettings(entities=300, seed=3)


def test_every_held_out_triplet_follows_from_premises_in_train() -> None:
    graph = synthetic_graph(SMALL)
    objects_of = index_objects(graph.train)
    rule_by_conclusion = {rule.conclusion: rule for rule in planted_rules(SMALL)}

    held_out = [tuple(row) for row in np.concatenate([graph.valid, graph.test]).tolist()]

    assert held_out
    for subject, relation, answer in held_out:
        assert answer in follow(rule_by_conclusion[relation], subject, objects_of)


def test_a_predictor_that_knows_the_rules_ranks_the_answers_near_the_top() -> None:
    graph = synthetic_graph(SMALL)
    objects_of = index_objects(graph.train)

    for rule in planted_rules(SMALL):
        rows = graph.test[graph.test[:, 1] == rule.conclusion].tolist()
        n_candidates = [len(follow(rule, subject, objects_of)) for subject, _, _ in rows]
        mean_reciprocal_rank = np.mean([1 / n for n in n_candidates])
        assert mean_reciprocal_rank > 0.75, rule


def test_no_triplet_occurs_twice_in_any_split() -> None:
    graph = synthetic_graph(SMALL)

    rows = np.concatenate([graph.train, graph.valid, graph.test])

    assert len(np.unique(rows, axis=0)) == len(rows)


def test_everything_in_the_held_out_splits_occurs_in_train() -> None:
    graph = synthetic_graph(SMALL)

    for rows in (graph.valid, graph.test):
        assert set(rows[:, [0, 2]].ravel()) <= set(graph.train[:, [0, 2]].ravel())
        assert set(rows[:, 1]) <= set(graph.train[:, 1])


def test_each_rule_has_a_tenth_of_its_conclusions_in_validation_and_in_test() -> None:
    graph = synthetic_graph(SMALL)

    rules = planted_rules(SMALL)

    assert [rule.hops for rule in rules] == [1, 2, 3]
    for rule in rules:
        assert np.count_nonzero(graph.valid[:, 1] == rule.conclusion) == 30
        assert np.count_nonzero(graph.test[:, 1] == rule.conclusion) == 30


@given(
    entities=st.integers(10, 400),
    density=st.floats(3.4, 40),
    noise=st.floats(0, 0.5),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40)
def test_the_graph_has_as_many_triplets_as_asked_for_and_leaves_no_entity_out(
    entities: int, density: float, noise: float, seed: int
) -> None:
    triplets = int(entities * density)
    try:
        asked = SyntheticSettings(entities=entities, triplets=triplets, noise=noise, seed=seed)
    except SettingsError:
        return

    graph = synthetic_graph(asked)

    assert len(graph.train) + len(graph.valid) + len(graph.test) == triplets
    assert len(np.unique(graph.train[:, [0, 2]])) == entities
    assert set(graph.train[:, 1]) == set(range(len(graph.relations)))
    assert len(graph.valid) > 0
    assert len(graph.test) > 0


@pytest.mark.parametrize("entities", [10, 49, 100, 151, 1000, 12_345])
def test_the_least_number_of_triplets_that_an_error_names_is_enough(entities: int) -> None:
    with pytest.raises(SettingsError, match="too few") as caught:
        SyntheticSettings(entities=entities, triplets=entities)
    least = int(str(caught.value).partition("below ")[2].split()[0])

    graph = synthetic_graph(SyntheticSettings(entities=entities, triplets=least))

    assert len(np.unique(graph.train[:, [0, 2]])) == entities


def test_more_triplets_plant_more_rules() -> None:
    sparse = SyntheticSettings(entities=500, triplets=2500)
    dense = SyntheticSettings(entities=500, triplets=20_000)

    assert len(planted_rules(sparse)) == 3
    assert len(planted_rules(dense)) == 12
    assert len(synthetic_graph(dense).relations) == 36


def test_the_names_of_relations_tell_premises_from_conclusions() -> None:
    graph = synthetic_graph(SMALL)

    for number, rule in enumerate(planted_rules(SMALL)):
        stem = f"rule{number}_{rule.hops}hop"
        assert graph.relations.name(rule.conclusion) == f"{stem}_conclusion"
        for place, premise in enumerate(rule.premises, 1):
            assert graph.relations.name(premise) == f"{stem}_premise{place}"


def test_entities_are_named_by_numbers_of_one_length() -> None:
    graph = synthetic_graph(SyntheticSettings(entities=1001))

    names = graph.entities.to_list()

    assert names[0] == "e0000"
    assert names[-1] == "e1000"
    assert len(set(names)) == 1001


def test_without_links_across_the_graph_falls_apart_into_neighbourhoods() -> None:
    graph = synthetic_graph(SyntheticSettings(entities=1000, across=0))

    sizes = component_sizes(graph.train, 1000)

    assert sizes == [50] * 20


def test_neighbourhoods_have_numbers_of_their_own() -> None:
    graph = synthetic_graph(SyntheticSettings(entities=1000, across=0))

    assert np.array_equal(graph.train[:, 0] // 50, graph.train[:, 2] // 50)


def test_a_graph_made_in_many_blocks_is_like_one_made_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = SyntheticSettings(entities=1000, triplets=13_000, seed=3)
    whole = synthetic_graph(asked)
    monkeypatch.setattr("interstellar.data.synthetic._BLOCK", 70)

    graph = synthetic_graph(asked)

    rows = np.concatenate([graph.train, graph.valid, graph.test])
    assert len(np.unique(rows, axis=0)) == 13_000
    assert component_sizes(graph.train, 1000) == [1000]
    for split in ("train", "valid", "test"):
        counts, expected = (np.bincount(g.split(split)[:, 1]) for g in (graph, whole))
        assert len(graph.split(split)) == len(whole.split(split))
        assert np.allclose(counts, expected, atol=60)
    objects_of = index_objects(graph.train)
    rule_by_conclusion = {rule.conclusion: rule for rule in planted_rules(asked)}
    for subject, relation, answer in graph.test.tolist():
        assert answer in follow(rule_by_conclusion[relation], subject, objects_of)


def test_with_links_across_the_graph_is_connected_but_stays_local() -> None:
    graph = synthetic_graph(SyntheticSettings(entities=1000))

    assert component_sizes(graph.train, 1000) == [1000]
    assert clustering(graph.train) > 5 * clustering(rewired(graph.train))


def test_the_same_seed_gives_the_same_graph_and_another_seed_another() -> None:
    graph, again = synthetic_graph(SMALL), synthetic_graph(SMALL)
    other = synthetic_graph(SyntheticSettings(entities=300, seed=4))

    for split in ("train", "valid", "test"):
        assert np.array_equal(graph.split(split), again.split(split))
    assert not np.array_equal(graph.train, other.train)


def test_arrays_are_int32() -> None:
    graph = synthetic_graph(SMALL)
    pair = synthetic_pair(SMALL)

    arrays = [graph.train, graph.valid, graph.test, pair.source.triplets, pair.target.triplets]
    arrays += [pair.train, pair.valid, pair.test]

    assert {array.dtype for array in arrays} == {np.dtype(np.int32)}


def test_a_large_graph_is_made_quickly() -> None:
    start = time.perf_counter()

    graph = synthetic_graph(SyntheticSettings(entities=50_000))

    assert len(graph.train) + len(graph.valid) + len(graph.test) == 500_000
    assert time.perf_counter() - start < 10  # 0.3 s on an idle machine


def test_a_pair_divides_its_pairs_as_the_paper_does() -> None:
    pair = synthetic_pair(SyntheticSettings(entities=15_000))

    assert (len(pair.train), len(pair.valid), len(pair.test)) == (4500, 1050, 9450)


def test_a_pair_matches_every_entity_once() -> None:
    pair = synthetic_pair(SMALL)

    pairs = np.concatenate([pair.train, pair.valid, pair.test])

    assert sorted(pairs[:, 0]) == sorted(pairs[:, 1]) == list(range(300))
    for graph in (pair.source, pair.target):
        assert len(np.unique(graph.triplets[:, [0, 2]])) == 300
        assert len(np.unique(graph.triplets, axis=0)) == len(graph.triplets)


def test_neither_numbers_nor_names_nor_order_give_the_partners_away() -> None:
    pair = synthetic_pair(SyntheticSettings(entities=1000))

    pairs = np.concatenate([pair.train, pair.valid, pair.test])

    assert abs(np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1]) < 0.15
    assert np.count_nonzero(pairs[:, 0] == pairs[:, 1]) < 10
    assert abs(np.corrcoef(pairs[:, 0], np.arange(1000))[0, 1]) < 0.15
    assert not set(pair.source.entities.to_list()) & set(pair.target.entities.to_list())
    assert not set(pair.source.relations.to_list()) & set(pair.target.relations.to_list())


def test_the_two_views_share_some_triplets_but_not_all() -> None:
    pair = synthetic_pair(SMALL)
    partner = np.empty(300, dtype=np.int32)
    pairs = np.concatenate([pair.train, pair.valid, pair.test])
    partner[pairs[:, 0]] = pairs[:, 1]

    links = {(partner[s], partner[o]) for s, _, o in pair.source.triplets}
    other_links = {(s, o) for s, _, o in pair.target.triplets}

    assert 0.5 < len(links & other_links) / len(links) < 0.9


def test_the_same_seed_gives_the_same_pair() -> None:
    pair, again = synthetic_pair(SMALL), synthetic_pair(SMALL)

    assert np.array_equal(pair.source.triplets, again.source.triplets)
    assert np.array_equal(pair.target.triplets, again.target.triplets)
    assert np.array_equal(pair.train, again.train)


def test_a_name_with_settings_gives_a_graph_or_a_pair() -> None:
    graph = parse_synthetic("Synthetic:entities=200, seed=3")
    pair = parse_synthetic("synthetic-alignment:entities=100")

    assert isinstance(graph, KnowledgeGraph)
    assert len(graph.entities) == 200
    assert isinstance(pair, GraphPair)
    assert len(pair.target.entities) == 100


def test_a_bare_name_gives_the_default_graph() -> None:
    graph = parse_synthetic("synthetic")

    assert isinstance(graph, KnowledgeGraph)
    assert len(graph.entities) == SyntheticSettings().entities


def test_a_bare_name_gives_a_pair_that_is_learnt_in_a_moment() -> None:
    pair = parse_synthetic("synthetic-alignment")

    assert isinstance(pair, GraphPair)
    assert pair.name == "synthetic-alignment:entities=100,seed=0"
    assert len(pair.source.entities) == len(pair.target.entities) == 100


def test_the_name_of_a_graph_gives_the_same_graph_again() -> None:
    asked = SyntheticSettings(entities=80, triplets=900, seed=7, noise=0.2, across=0.5)
    graph = synthetic_graph(asked)

    again = parse_synthetic(graph.name)

    assert isinstance(again, KnowledgeGraph)
    assert again.name == graph.name
    assert np.array_equal(again.train, graph.train)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("size=10", "the keys are entities, triplets, seed"),
        ("entities", "key=value"),
        ("entities=many", "not a whole number"),
        ("entities=1e3", "not a whole number"),
        ("entities=9", "from 10 to"),
        ("entities=100000001", "from 10 to 100000000"),
        ("seed=-1", "seed=-1"),
        ("noise=0.9", "from 0.0 to 0.5"),
        ("noise=nan", "noise=nan"),
        ("noise=much", "not a number"),
        ("entities=100,entities=200", "twice"),
        ("entities=100,triplets=150", "too few"),
        ("entities=100,triplets=10001", "too many"),
    ],
)
def test_settings_that_cannot_work_are_reported(text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        parse_settings(text)


def test_a_setting_of_the_wrong_type_is_reported() -> None:
    with pytest.raises(SettingsError, match=r"entities=10\.5"):
        SyntheticSettings(entities=10.5)  # type: ignore[arg-type]


def test_another_name_is_no_synthetic_set() -> None:
    assert is_synthetic("SYNTHETIC-alignment:seed=1")
    assert not is_synthetic("synthetics")
    with pytest.raises(DataError, match="'wn18rr' is no synthetic set"):
        parse_synthetic("WN18RR")


Objects = dict[tuple[int, int], set[int]]


def index_objects(triplets: Triplets) -> Objects:
    objects_of: Objects = {}
    for subject, relation, answer in triplets.tolist():
        objects_of.setdefault((subject, relation), set()).add(answer)
    return objects_of


def follow(rule: PlantedRule, subject: int, objects_of: Objects) -> set[int]:
    reached = {subject}
    for premise in rule.premises:
        reached = set().union(*(objects_of.get((entity, premise), set()) for entity in reached))
    return reached


def neighbours(triplets: Triplets) -> dict[int, set[int]]:
    near: dict[int, set[int]] = {}
    for subject, _, answer in triplets.tolist():
        near.setdefault(subject, set()).add(answer)
        near.setdefault(answer, set()).add(subject)
    return near


def component_sizes(triplets: Triplets, n_entities: int) -> list[int]:
    near = neighbours(triplets)
    unseen = set(range(n_entities))
    sizes = []
    while unseen:
        frontier = {unseen.pop()}
        size = 0
        while frontier:
            size += len(frontier)
            frontier = set().union(*(near[entity] for entity in frontier)) & unseen
            unseen -= frontier
        sizes.append(size)
    return sorted(sizes)


def clustering(triplets: Triplets) -> float:
    near = neighbours(triplets)
    pairs = [
        pair for entity in list(near)[:100] for pair in itertools.combinations(near[entity], 2)
    ]
    return float(np.mean([b in near[a] for a, b in pairs]))


def rewired(triplets: Triplets) -> Triplets:
    rows = triplets.copy()
    rows[:, 2] = np.random.default_rng(0).permutation(rows[:, 2])
    return rows


def test_a_graph_larger_than_the_memory_is_refused_with_both_sizes() -> None:
    settings = SyntheticSettings(entities=50_000_000)

    with pytest.raises(SettingsError, match=r"at least 8\.\d GB of memory.*has 4\.0 GB"):
        refuse_too_large(settings, 4_000_000_000)
    refuse_too_large(settings, 16_000_000_000)
