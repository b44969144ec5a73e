"""What was published, as data."""

import pytest

from interstellar.architecture.literature import PUBLISHED
from interstellar.architecture.notation import read_architecture
from interstellar.data.catalogue import require_set
from interstellar.data.graph import Task
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.presets import (
    ALIGNMENT_SEARCH,
    COUNTRIES,
    COUNTRIES_PRESETS,
    FB15K_237_SEARCH,
    PAPER_PRESETS,
    WN18RR_SEARCH,
    Preset,
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
    ("task", "name", "search"),
    [
        (Task.LINK_PREDICTION, "wn18rr", WN18RR_SEARCH),
        (Task.LINK_PREDICTION, " fb15K-237 ", FB15K_237_SEARCH),
        (Task.LINK_PREDICTION, "my_graph.tsv", WN18RR_SEARCH),
        (Task.LINK_PREDICTION, "Countries-S2", COUNTRIES),
        (Task.LINK_PREDICTION, "geography-S3", COUNTRIES),
        (Task.ENTITY_ALIGNMENT, "EN-DE", ALIGNMENT_SEARCH),
        (Task.ENTITY_ALIGNMENT, "fb15k-237", ALIGNMENT_SEARCH),
    ],
)
def test_every_set_has_the_settings_of_the_papers_search(
    task: Task, name: str, search: TrainingSettings
) -> None:
    assert search_settings(task, name) == search
