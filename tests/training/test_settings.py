"""What the training of a network can be told."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.presets import ALIGNMENT
from interstellar.training.settings import Metric, Optimizer, Precision, TrainingSettings
from interstellar.training.settings_changes import with_changes

BAD_VALUES = [
    ("dim", 0),
    ("dim", 3),
    ("dim", 2**17),
    ("dim", 64.0),
    ("dim", True),
    ("batch_size", 0),
    ("batch_size", 2**31),
    ("batch_size", True),
    ("learning_rate", 0.0),
    ("learning_rate", math.nan),
    ("learning_rate", math.inf),
    ("learning_rate", 1e300),
    ("learning_rate", "fast"),
    ("weight_decay", -1e-9),
    ("weight_decay", math.nan),
    ("weight_decay", 1e7),
    ("dropout", 1.0),
    ("dropout", -0.1),
    ("dropout", math.nan),
    ("lr_decay", 0.0),
    ("lr_decay", 1.1),
    ("max_epochs", 0),
    ("validate_every", 0),
    ("patience", -1),
    ("patience", None),
    ("gradient_norm", 0.0),
    ("gradient_norm", math.inf),
    ("n_negatives", 0),
    ("metric", "hits@1"),
    ("precision", "auto"),
    ("optimizer", "adam"),
    ("max_norm", 0.0),
    ("max_norm", math.inf),
    ("n3", -0.1),
    ("n3", None),
    ("relation_prediction", -0.1),
    ("relation_prediction", math.inf),
    ("label_smoothing", 1.0),
    ("label_smoothing", math.nan),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_a_value_that_cannot_work_is_refused_by_name_with_the_rule(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} is .*, but it must be .*\. \S.*\.$"):
        replace(ALIGNMENT, **{name: value})


def test_the_edges_of_the_ranges_are_allowed() -> None:
    settings = replace(
        ALIGNMENT,
        dim=2,
        weight_decay=0.0,
        dropout=0.0,
        lr_decay=1.0,
        patience=0,
        gradient_norm=None,
        max_norm=None,
    )

    assert settings.dim == 2


def test_equal_settings_are_equal_and_hash_equally() -> None:
    copy = replace(ALIGNMENT)

    assert copy == ALIGNMENT
    assert hash(copy) == hash(ALIGNMENT)


def test_single_values_are_changed_and_none_leaves_them() -> None:
    changed = with_changes(
        ALIGNMENT, dim=64, epochs=3, learning_rate=None, metric="mrr", optimizer="adagrad"
    )

    assert changed == replace(
        ALIGNMENT, dim=64, max_epochs=3, metric=Metric.MRR, optimizer=Optimizer.ADAGRAD
    )
    assert with_changes(ALIGNMENT) == ALIGNMENT


def test_numbers_of_numpy_are_taken_as_plain_ones() -> None:
    changes: Any = {"dim": np.int64(64), "learning_rate": np.float64(0.5), "dropout": np.float32(0)}

    changed = with_changes(ALIGNMENT, **changes)

    assert changed == replace(ALIGNMENT, dim=64, learning_rate=0.5, dropout=0.0)
    assert [type(n) for n in (changed.dim, changed.learning_rate)] == [int, float]


def test_an_unknown_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"'mr' is unknown\. Choose hits@1, mrr or auc_pr"):
        with_changes(ALIGNMENT, metric="mr")


@pytest.mark.parametrize(("given", "max_norm"), [(None, 1.0), (0, None), (2.5, 2.5)])
def test_a_change_of_the_bound_to_zero_takes_it_away(
    given: float | None, max_norm: float | None
) -> None:
    assert with_changes(ALIGNMENT, max_norm=given).max_norm == max_norm


def test_a_change_is_validated() -> None:
    with pytest.raises(SettingsError, match="dim is 5"):
        with_changes(ALIGNMENT, dim=5)


def test_labels_are_smoothed_over_all_entities_or_not_at_all() -> None:
    smooth = replace(ALIGNMENT, label_smoothing=0.1)

    with pytest.raises(SettingsError, match=r"smoothing is 0\.1 and n_negatives 5, .* Leave one"):
        replace(smooth, n_negatives=5)


def test_the_full_softmax_in_automatic_precision_is_the_default() -> None:
    settings = TrainingSettings(
        dim=2,
        batch_size=1,
        learning_rate=1.0,
        weight_decay=0.0,
        dropout=0.0,
        lr_decay=1.0,
        max_epochs=1,
        validate_every=1,
        patience=0,
        metric=Metric.MRR,
        gradient_norm=None,
        walk=WalkSettings.link_prediction(),
    )

    assert settings.n_negatives is None
    assert settings.precision is Precision.AUTO
    assert settings.optimizer is Optimizer.ADAM
    assert settings.n3 == settings.label_smoothing == settings.relation_prediction == 0


def test_the_length_of_paths_is_changed_in_the_walk() -> None:
    changed = with_changes(ALIGNMENT, path_length=5)

    assert changed.walk == replace(ALIGNMENT.walk, length=5)
    assert replace(changed, walk=ALIGNMENT.walk) == ALIGNMENT


def test_a_single_triplet_is_one_path_however_many_begin_with_each() -> None:
    changed = with_changes(ALIGNMENT, path_length=1)

    assert (changed.walk.length, changed.walk.paths_per_triplet) == (1, 1)
