import importlib.util
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from interstellar.data.geography import (
    LOCATED_IN,
    NEIGHBOR,
    Level,
    choose_held_out,
    geography_graph,
    parse_geography,
    read_world,
)
from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import DataError

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_geography.py"
REGIONS = {"africa", "americas", "asia", "europe", "oceania"}
Facts = set[tuple[str, str, str]]


@pytest.mark.parametrize("level", Level)
def test_each_set_has_five_regions_and_24_queries_in_each_split(level: Level) -> None:
    graph = geography_graph(level)

    assert graph.answers is not None
    assert {graph.entities.name(answer) for answer in graph.answers} == REGIONS
    assert graph.relations.to_list() == [LOCATED_IN, NEIGHBOR]
    assert len(graph.valid) == len(graph.test) == 24


@pytest.mark.parametrize(("level", "n_train"), [("S1", 1108), ("S2", 1060), ("S3", 983)])
def test_the_counts_are_those_in_the_manual(level: str, n_train: int) -> None:
    graph = geography_graph(Level(level))

    assert len(graph.entities) == 274
    assert len(graph.train) == len(names_of(graph, "train")) == n_train


@pytest.mark.parametrize("level", Level)
def test_each_query_asks_for_the_region_of_a_country(level: Level) -> None:
    graph = geography_graph(level)
    world = read_world()

    for country, relation, answer in names_of(graph, "valid") | names_of(graph, "test"):
        assert country in world.countries
        assert relation == LOCATED_IN
        assert answer in REGIONS


@pytest.mark.parametrize("level", Level)
def test_train_never_says_the_region_of_a_held_out_country(level: Level) -> None:
    graph = geography_graph(level)

    train = names_of(graph, "train")

    assert not train & (names_of(graph, "valid") | names_of(graph, "test"))
    for country in held_out_of(graph):
        assert not places_of(country, train) & REGIONS


def test_s1_keeps_the_subregion_of_held_out_countries() -> None:
    graph = geography_graph(Level.S1)

    train = names_of(graph, "train")

    for country in held_out_of(graph):
        assert len(places_of(country, train)) == 1


@pytest.mark.parametrize("level", [Level.S2, Level.S3])
def test_s2_and_s3_say_only_the_neighbours_of_held_out_countries(level: Level) -> None:
    graph = geography_graph(level)

    train = names_of(graph, "train")

    for country in held_out_of(graph):
        assert places_of(country, train) == set()
        assert neighbours_of(country, train)


def test_s2_keeps_the_region_of_some_neighbour() -> None:
    graph = geography_graph(Level.S2)

    train = names_of(graph, "train")

    for country in held_out_of(graph):
        assert any(places_of(n, train) & REGIONS for n in neighbours_of(country, train))


def test_s3_hides_the_region_of_all_neighbours_but_keeps_a_way_through_a_subregion() -> None:
    graph = geography_graph(Level.S3)

    train = names_of(graph, "train")

    for country in held_out_of(graph):
        near = neighbours_of(country, train)
        assert not any(places_of(n, train) & REGIONS for n in near)
        assert regions_through_neighbours(country, train)


def test_each_level_hides_more_than_the_one_before() -> None:
    s1, s2, s3 = (names_of(geography_graph(level), "train") for level in Level)

    assert s3 < s2 < s1


def test_all_levels_ask_the_same() -> None:
    s1, s2, s3 = map(geography_graph, Level)

    assert s1.test.tolist() == s2.test.tolist() == s3.test.tolist()
    assert s1.valid.tolist() == s2.valid.tolist() == s3.valid.tolist()
    assert s1.entities == s2.entities == s3.entities


def test_three_hops_through_the_neighbours_answer_most_of_s3() -> None:
    graph = geography_graph(Level.S3)
    train = names_of(graph, "train")

    queries = names_of(graph, "valid") | names_of(graph, "test")
    n_right = sum(
        regions_through_neighbours(country, train).most_common(1)[0][0] == region
        for country, _, region in queries
    )

    assert n_right >= 0.85 * len(queries)


@pytest.mark.parametrize("level", Level)
def test_every_entity_occurs_in_train(level: Level) -> None:
    graph = geography_graph(level)

    assert set(graph.train[:, [0, 2]].ravel()) == set(range(len(graph.entities)))


def test_the_held_out_countries_cover_four_regions_at_least() -> None:
    world = read_world()

    valid, test = choose_held_out(world)

    assert len({world.region_of(country) for country in valid}) >= 4
    assert len({world.region_of(country) for country in test}) >= 4
    assert not set(valid) & set(test)


def test_borders_have_two_sides_and_no_country_borders_itself() -> None:
    world = read_world()

    for country, neighbours in world.neighbours_of.items():
        assert country not in neighbours
        for neighbour in neighbours:
            assert country in world.neighbours_of[neighbour]


def test_well_known_facts_are_there() -> None:
    world = read_world()

    assert {"spain", "germany", "belgium"} <= set(world.neighbours_of["france"])
    assert world.place_of["kenya"] == "eastern_africa"
    assert world.place_of["cuba"] == "caribbean"
    assert world.region_of("brazil") == "americas"
    assert "japan" not in world.neighbours_of


def test_the_facts_are_what_the_script_makes_of_the_package() -> None:
    pytest.importorskip("countryinfo", reason="the package that the facts come from")
    spec = importlib.util.spec_from_file_location("build_geography", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    text = files("interstellar.data").joinpath("geography.tsv").read_text(encoding="utf-8")

    assert text == script.format_facts(script.collect_facts())


def test_a_name_in_any_case_gives_the_set() -> None:
    assert parse_geography(" Geography-s2").name == "geography-S2"


def test_a_level_that_does_not_exist_is_reported() -> None:
    with pytest.raises(DataError, match="geography-S1, geography-S2, geography-S3"):
        parse_geography("geography-S4")


def names_of(graph: KnowledgeGraph, split: str) -> Facts:
    entities, relations = graph.entities.to_list(), graph.relations.to_list()
    return {(entities[s], relations[r], entities[o]) for s, r, o in graph.split(split).tolist()}


def held_out_of(graph: KnowledgeGraph) -> set[str]:
    return {country for country, _, _ in names_of(graph, "valid") | names_of(graph, "test")}


def places_of(name: str, facts: Facts) -> set[str]:
    return {
        place for subject, relation, place in facts if (subject, relation) == (name, LOCATED_IN)
    }


def neighbours_of(name: str, facts: Facts) -> set[str]:
    return {near for subject, relation, near in facts if (subject, relation) == (name, NEIGHBOR)}


def regions_through_neighbours(country: str, facts: Facts) -> Counter[str]:
    subregions = [p for n in neighbours_of(country, facts) for p in places_of(n, facts)]
    return Counter(region for place in subregions for region in places_of(place, facts))
