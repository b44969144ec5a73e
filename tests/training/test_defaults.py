"""Settings by rule: graphs that hardly differ are trained alike, whatever their size."""

from dataclasses import fields, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.graph import Task
from interstellar.training.defaults import GraphSize, default_settings
from interstellar.training.memory import embedding_bytes
from interstellar.training.presets import COUNTRIES
from interstellar.training.settings import (
    Metric,
    ModelKind,
    PropagationSettings,
    TrainingSettings,
)

SIZES = (1, 14, 135, 500, 999, 1000, 1001, 5000, 14_951, 40_943, 10**6)
each_task = pytest.mark.parametrize("task", Task)
sizes = st.builds(GraphSize, n_entities=st.integers(1, 10**6), n_triplets=st.integers(1, 10**8))


def settings_for(task: Task, n_entities: int, n_triplets: int) -> TrainingSettings:
    return default_settings(task, GraphSize(n_entities=n_entities, n_triplets=n_triplets))


def refuse_cliff(task: Task, size: GraphSize, other: GraphSize) -> None:
    """Make sure that the settings for two sizes are the same but for small changes of numbers."""
    for field in fields(TrainingSettings):
        a, b = (getattr(default_settings(task, each), field.name) for each in (size, other))
        if field.name in ("n_negatives", "paths_per_epoch", "measured"):  # bounds of work
            continue
        if field.name == "dim":  # a multiple of 64
            assert abs(a - b) <= 64
            continue
        is_rate = isinstance(a, float) and isinstance(b, float)
        # Two digits are kept, so that a value of 0.010 may become one of 0.011.
        assert a == (pytest.approx(b, rel=0.15) if is_rate else b), field.name


@each_task
@pytest.mark.parametrize("n_entities", [135, 1500])
def test_graphs_of_4_900_and_5_100_triplets_have_nearly_the_same_settings(
    task: Task, n_entities: int
) -> None:
    fewer, more = (GraphSize(n_entities=n_entities, n_triplets=n) for n in (4900, 5100))

    refuse_cliff(task, fewer, more)


@each_task
@given(size=sizes)
def test_there_is_no_size_from_which_everything_is_otherwise(task: Task, size: GraphSize) -> None:
    more_triplets = replace(size, n_triplets=size.n_triplets + size.n_triplets // 50)
    more_entities = replace(size, n_entities=size.n_entities + size.n_entities // 50)

    refuse_cliff(task, size, more_triplets)
    refuse_cliff(task, size, more_entities)


@each_task
def test_of_millions_of_entities_steps_epochs_and_validations_take_a_part(task: Task) -> None:
    usual = settings_for(task, 123_182, 1_000_000)
    large = settings_for(task, 5_000_000, 20_000_000)

    assert (usual.n_negatives, usual.paths_per_epoch, usual.measured) == (None, None, None)
    assert (large.n_negatives, large.paths_per_epoch, large.measured) == (4096, 2**20, 2000)
    assert embedding_bytes(5_000_000, large) < 11 * 2**30


@each_task
@given(size=sizes)
def test_every_size_has_settings_that_can_be_trained_with(task: Task, size: GraphSize) -> None:
    settings = default_settings(task, size)

    assert settings.learning_rate > 0
    assert settings.metric is Metric.MRR
    assert 0 <= settings.dropout <= 0.5


@pytest.mark.parametrize("task", Task)
@pytest.mark.parametrize(("n_entities", "n_triplets"), [(0, 0), (1, 0), (2, 1)])
def test_a_graph_with_next_to_nothing_has_settings_too(
    task: Task, n_entities: int, n_triplets: int
) -> None:
    assert settings_for(task, n_entities, n_triplets).learning_rate > 0


@given(n_entities=st.sampled_from(SIZES))
def test_the_more_triplets_an_entity_has_the_less_links_are_regularised(n_entities: int) -> None:
    weights = [settings_for(Task.LINK_PREDICTION, n_entities, n).n3 for n in SIZES]

    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[-1] > 0


@given(n_triplets=st.sampled_from(SIZES))
def test_the_more_entities_there_are_the_more_links_are_regularised(n_triplets: int) -> None:
    weights = [settings_for(Task.LINK_PREDICTION, n, n_triplets).n3 for n in SIZES]

    assert weights == sorted(weights)
    assert weights[0] < weights[-1]


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "dropout"])
def test_the_more_triplets_two_graphs_have_the_more_gently_they_are_trained(name: str) -> None:
    found = [getattr(settings_for(Task.ENTITY_ALIGNMENT, 1000, n), name) for n in SIZES]

    assert all(fewer >= more for fewer, more in pairwise(found))
    assert found[0] > found[-1] > 0


@pytest.mark.parametrize("n_triplets", [10, 1_000, 100_000])
def test_answers_among_a_given_few_are_learnt_as_on_countries(n_triplets: int) -> None:
    size = GraphSize(n_entities=271, n_triplets=n_triplets, has_answers=True)

    assert default_settings(Task.LINK_PREDICTION, size) == COUNTRIES


def test_the_degree_counts_both_ends_of_a_triplet() -> None:
    assert GraphSize(n_entities=3, n_triplets=3).degree == 2  # a ring


def test_the_dimension_grows_with_the_entities_as_long_as_they_fit_into_a_gibibyte() -> None:
    dims = {n: settings_for(Task.LINK_PREDICTION, n, 5 * n).dim for n in SIZES}

    assert [dims[n] for n in (1, 999, 5000, 14_951, 40_943)] == [512, 512, 768, 1024, 1280]
    assert all(2 * n * dim <= 1.2 * 2**28 for n, dim in dims.items())
    assert settings_for(Task.LINK_PREDICTION, 10**8, 10**9).dim == 8


def propagation_for(size: GraphSize) -> tuple[TrainingSettings, PropagationSettings]:
    settings = default_settings(Task.LINK_PREDICTION, size, ModelKind.PROPAGATION)
    assert settings.propagation is not None
    return settings, settings.propagation


@pytest.mark.parametrize(
    ("n_entities", "n_triplets", "rate"), [(40_943, 86_835, 0.003), (14_541, 272_115, 0.005)]
)
def test_large_graphs_are_propagated_as_was_measured_on_two_of_them(
    n_entities: int, n_triplets: int, rate: float
) -> None:
    settings, how = propagation_for(GraphSize(n_entities=n_entities, n_triplets=n_triplets))

    assert (settings.dim, how.depth, settings.batch_size) == (32, 6, 64)
    assert settings.learning_rate == pytest.approx(rate, rel=0.05)
    assert how.queries_per_epoch == 2**15


@pytest.mark.parametrize(
    ("n_entities", "n_triplets", "share"),
    [(40_943, 86_835, 0.0), (14_541, 272_115, 0.0), (135, 5_216, 0.093), (104, 8_544, 0.1)],
)
def test_edges_are_left_out_where_there_are_very_many_for_each_entity(
    n_entities: int, n_triplets: int, share: float
) -> None:
    settings, _ = propagation_for(GraphSize(n_entities=n_entities, n_triplets=n_triplets))

    assert settings.dropout == pytest.approx(share)


@given(size=sizes, more=st.sampled_from(["n_entities", "n_triplets"]))
def test_a_graph_that_is_hardly_larger_is_propagated_nearly_alike(
    size: GraphSize, more: str
) -> None:
    larger = replace(size, **{more: getattr(size, more) + getattr(size, more) // 50})

    (a, how_a), (b, how_b) = propagation_for(size), propagation_for(larger)

    assert abs(a.dim - b.dim) <= 8
    assert abs(a.batch_size - b.batch_size) <= 16
    assert abs(how_a.depth - how_b.depth) <= 1
    assert abs(a.max_epochs - b.max_epochs) <= 1
    assert abs(a.dropout - b.dropout) <= 0.01
    assert a.learning_rate == pytest.approx(b.learning_rate, rel=0.15)
    assert how_a.queries_per_epoch == pytest.approx(how_b.queries_per_epoch, rel=0.05, abs=1)


@given(size=sizes)
def test_a_propagation_sees_each_query_at_most_twice_or_so_while_its_rate_falls(
    size: GraphSize,
) -> None:
    settings, how = propagation_for(size)

    n_asked = settings.max_epochs * how.queries_per_epoch
    assert n_asked <= 4 * size.n_triplets + how.queries_per_epoch
    if settings.max_epochs > 2:
        assert 0.04 < settings.lr_decay ** (settings.max_epochs - 1) < 0.06
