"""What was published, as data."""

from collections.abc import Callable

import pytest

from interstellar.architecture.literature import PUBLISHED
from interstellar.architecture.notation import read_architecture
from interstellar.data.catalogue import require_set
from interstellar.data.graph import Task
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.presets import (
    ALIGNMENT,
    ALIGNMENT_SEARCH,
    COUNTRIES,
    COUNTRIES_PRESETS,
    FB15K_237_SEARCH,
    LINK_PREDICTION,
    PAPER_PRESETS,
    SMALL,
    SMALL_ALIGNMENT,
    SMALL_PAIR_TRIPLETS,
    SMALL_TRIPLETS,
    WN18RR_SEARCH,
    Preset,
    default_settings,
    paper_preset,
    search_settings,
)
from interstellar.training.settings import Metric, TrainingSettings

ALL = (*PAPER_PRESETS, *COUNTRIES_PRESETS)


@pytest.mark.parametrize("preset", PAPER_PRESETS, ids=lambda preset: str(preset.name))
def test_a_published_row_has_the_architecture_that_was_published(preset: Preset) -> None:
    assert read_architecture(preset.architecture) == PUBLISHED[f"Interstellar-{preset.data}"]


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: str(preset.name))
def test_a_preset_is_for_a_known_set_of_its_task(preset: Preset) -> None:
    known = require_set(preset.data)

    assert known.name == preset.data
    assert known.task == preset.task


def test_every_published_architecture_has_its_row_once() -> None:
    assert sorted(f"Interstellar-{row.data}" for row in PAPER_PRESETS) == sorted(PUBLISHED)
    assert len({preset.name for preset in ALL}) == len(ALL)


@pytest.mark.parametrize("preset", PAPER_PRESETS, ids=lambda preset: str(preset.name))
def test_the_rows_of_a_task_share_what_the_paper_fixes(preset: Preset) -> None:
    settings = preset.settings
    shared = (settings.dim, settings.max_epochs, settings.validate_every, settings.patience)

    if preset.task is Task.ENTITY_ALIGNMENT:
        assert shared == (256, 40, 1, 0)
        assert settings.gradient_norm == 5
        assert settings.metric is Metric.MRR
        assert settings.walk == WalkSettings.alignment()
    else:
        n_epochs = 80 if preset.data == "WN18RR" else 50  # it still gains at the published 50
        assert shared == (256, n_epochs, 2, 0)
        assert settings.gradient_norm is None
        assert settings.metric is Metric.MRR
        assert settings.walk == WalkSettings.link_prediction()


def test_a_row_is_the_one_that_was_printed() -> None:
    row = paper_preset(" dbp-yg ")

    settings, published = row.settings, row.published
    assert row.architecture == "[1,11,2,2,1,0,1,1,1,0,1]"
    assert (settings.learning_rate, settings.weight_decay, settings.dropout) == (
        3e-5,
        0.001378,
        0.45,
    )
    assert (settings.batch_size, settings.lr_decay) == (512, 0.989504)
    assert published is not None
    assert (published.hits_at_1, published.hits_at_10, published.mrr) == (40.2, 72.0, 0.51)


@pytest.mark.parametrize("name", ["YAGO3-10", "countries-S1", "my_graph.tsv"])
def test_a_set_without_a_row_is_refused_with_those_that_have_one(name: str) -> None:
    with pytest.raises(SettingsError, match=r"no published settings.* DBP-WD, .* FB15k-237\."):
        paper_preset(name)


@pytest.mark.parametrize(
    ("task", "name", "final", "search"),
    [
        ("link-prediction", "wn18rr", paper_preset("WN18RR").settings, WN18RR_SEARCH),
        ("link-prediction", "fb15K-237", paper_preset("FB15k-237").settings, FB15K_237_SEARCH),
        ("link-prediction", "YAGO3-10", LINK_PREDICTION, WN18RR_SEARCH),
        ("link-prediction", "my_graph.tsv", LINK_PREDICTION, WN18RR_SEARCH),
        ("link-prediction", "Countries-S2", COUNTRIES, COUNTRIES),
        ("link-prediction", "geography-S3", COUNTRIES, COUNTRIES),
        ("entity-alignment", "EN-DE", paper_preset("EN-DE").settings, ALIGNMENT_SEARCH),
        ("entity-alignment", "a.tsv", ALIGNMENT, ALIGNMENT_SEARCH),
        ("entity-alignment", "WN18RR", ALIGNMENT, ALIGNMENT_SEARCH),
    ],
)
def test_every_set_has_settings_for_training_and_for_search(
    task: str, name: str, final: object, search: object
) -> None:
    assert default_settings(task, name) == final
    assert search_settings(task, name) == search


def test_a_task_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingsError, match="Choose link-prediction or entity-alignment"):
        default_settings("question answering", "WN18RR")


@pytest.mark.parametrize("choose", [default_settings, search_settings])
def test_a_small_graph_of_ones_own_has_steps_enough_to_learn(
    choose: Callable[[str, str, int | None], TrainingSettings],
) -> None:
    assert choose("link-prediction", "mine.tsv", 100) == SMALL
    assert choose("link-prediction", "mine.tsv", SMALL_TRIPLETS) != SMALL
    assert choose("link-prediction", "mine.tsv", None) != SMALL
    assert choose("link-prediction", "countries-S1", 100) == COUNTRIES


@pytest.mark.parametrize("choose", [default_settings, search_settings])
def test_two_small_graphs_of_ones_own_have_settings_that_learn(
    choose: Callable[[str, str, int | None], TrainingSettings],
) -> None:
    assert choose("entity-alignment", "a.ttl+b.csv", 100) == SMALL_ALIGNMENT
    assert choose("entity-alignment", "a.ttl+b.csv", SMALL_PAIR_TRIPLETS) != SMALL_ALIGNMENT
    assert choose("entity-alignment", "a.ttl+b.csv", None) != SMALL_ALIGNMENT
    assert choose("link-prediction", "mine.tsv", 100) != SMALL_ALIGNMENT


def test_a_published_pair_keeps_its_row_whatever_its_size() -> None:
    assert default_settings("entity-alignment", "EN-DE", 100) == paper_preset("EN-DE").settings
