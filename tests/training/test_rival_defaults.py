"""The settings of rivals where nothing is said: they fit the model, and the size of the graph."""

import pytest

from interstellar.data.graph import Task
from interstellar.rivals.catalogue import Rival
from interstellar.training.defaults import GraphSize
from interstellar.training.rival_defaults import DISTANCES, LINKS, PAIRS, SINGLE, rival_settings
from interstellar.training.settings import Metric
from interstellar.training.settings_changes import with_changes

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


@pytest.mark.parametrize("rival", DISTANCES)
def test_a_step_moves_distances_of_few_numbers_and_of_many_alike(rival: Rival) -> None:
    few, many = (
        rival_settings(
            rival, Task.LINK_PREDICTION, GraphSize(n_entities=n_entities, n_triplets=5_000)
        )
        for n_entities in (1_000, 16_000)
    )

    assert few.dim < many.dim
    assert few.learning_rate * few.dim == pytest.approx(many.learning_rate * many.dim, rel=0.05)


def test_a_pair_of_few_triplets_has_half_the_dimension_and_one_of_many_the_usual() -> None:
    few, some, many = (
        rival_settings(
            Rival.RSN_LSTM, Task.ENTITY_ALIGNMENT, GraphSize(n_entities=3_000, n_triplets=n)
        ).dim
        for n in (10_000, 30_000, 80_000)
    )

    assert few == 128 < some < many == 256


@pytest.mark.parametrize(
    ("n_pairs", "batch_size"), [(10, 64), (450, 128), (4_500, 1024), (10**6, 1024)]
)
def test_an_epoch_of_known_pairs_has_several_batches(n_pairs: int, batch_size: int) -> None:
    size = GraphSize(n_entities=30_000, n_triplets=80_000, n_pairs=n_pairs)

    settings = rival_settings(Rival.DUAL_AMN, Task.ENTITY_ALIGNMENT, size)

    assert settings.batch_size == batch_size


def test_the_loss_of_hard_ones_is_among_all_unless_it_is_said_otherwise() -> None:
    usual = rival_settings(Rival.GCN_ALIGN, Task.ENTITY_ALIGNMENT, SMALL)

    assert usual.n_negatives is not None
    assert with_changes(usual, loss="hard").n_negatives is None
    assert with_changes(usual, loss="hard", negatives=5).n_negatives == 5  # refused by the task
    assert with_changes(usual, loss="margin").n_negatives == usual.n_negatives
