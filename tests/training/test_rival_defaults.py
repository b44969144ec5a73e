"""The settings of rivals where nothing is said: they fit the model, and the size of the graph."""

import pytest

from interstellar.data.graph import Task
from interstellar.rivals.catalogue import Rival
from interstellar.training.defaults import GraphSize
from interstellar.training.rival_defaults import LINKS, PAIRS, SINGLE, rival_settings
from interstellar.training.settings import Metric

SMALL = GraphSize(n_entities=250, n_triplets=1_000)
LARGE = GraphSize(n_entities=15_000, n_triplets=270_000)


@pytest.mark.parametrize("rival", LINKS)
def test_links_have_settings_on_graphs_of_any_size(rival: Rival) -> None:
    for n_entities in (1, 1_000, 100_000_000):
        size = GraphSize(n_entities=n_entities, n_triplets=3 * n_entities, has_answers=True)

        settings = rival_settings(rival, Task.LINK_PREDICTION, size)

        assert settings.metric is Metric.AUC_PR
        assert settings.rival is not None


@pytest.mark.parametrize("rival", PAIRS)
def test_pairs_have_settings(rival: Rival) -> None:
    settings = rival_settings(rival, Task.ENTITY_ALIGNMENT, LARGE)

    assert settings.max_norm is None
    assert settings.rival is not None


@pytest.mark.parametrize("rival", SINGLE)
def test_single_triplets_have_more_numbers_and_shorter_steps_on_large_graphs(rival: Rival) -> None:
    small, large = (rival_settings(rival, Task.LINK_PREDICTION, size) for size in (SMALL, LARGE))

    assert small.dim < large.dim <= LINKS[rival]["dim"]
    assert small.dim % 16 == large.dim % 16 == 0
    assert small.learning_rate >= large.learning_rate


def test_a_dimension_is_cut_where_there_are_very_many_entities() -> None:
    many = GraphSize(n_entities=10_000_000, n_triplets=10_000_000)

    settings = rival_settings(Rival.AUTOSF_WN18RR, Task.LINK_PREDICTION, many)

    assert settings.dim == 16


@pytest.mark.parametrize("rival", [Rival.TRANSE_DISTANCE, Rival.TRANSD, Rival.BOOTEA])
def test_pairs_of_large_graphs_have_shorter_steps_of_as_many_numbers(rival: Rival) -> None:
    small, large = (rival_settings(rival, Task.ENTITY_ALIGNMENT, size) for size in (SMALL, LARGE))

    assert small.dim == large.dim
    assert small.learning_rate == PAIRS[rival]["learning_rate"] > 5 * large.learning_rate
