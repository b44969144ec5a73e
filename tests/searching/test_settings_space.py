"""The settings that are searched together with the architecture."""

from dataclasses import replace
from typing import Any

import pytest

from interstellar.errors import SettingsError
from interstellar.searching.settings_space import (
    SettingChoice,
    changes_at,
    locate_changes,
    searched_settings,
)
from interstellar.searching.tried_network import Value, own_choices
from interstellar.training.defaults import PROPAGATION
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import replace_settings


def options_of(own: TrainingSettings) -> dict[str, tuple[Value, ...]]:
    return {choice.name: choice.options for choice in searched_settings(own)}


def test_link_prediction_searches_around_the_own_settings() -> None:
    own = replace(
        LINK_PREDICTION, learning_rate=0.01, dropout=0.3, dim=256, batch_size=512, n3=0.05
    )

    assert options_of(own) == {
        "learning_rate": (0.01, 0.003, 0.03),
        "dropout": (0.3, 0.1, 0.5),
        "dim": (256, 128, 512),
        "batch_size": (512, 256, 1024),
        "n3": (0.05, 0.015, 0.15, 0.0),
        "label_smoothing": (0.0, 0.1),
        "path_length": (3, 1),
    }


def test_alignment_searches_the_weight_decay_in_place_of_n3_and_smoothing() -> None:
    options = options_of(replace(ALIGNMENT, weight_decay=0.001))

    assert options["weight_decay"] == (0.001, 0.0003, 0.003)
    assert options["path_length"] == (7, 1, 3)
    assert not {"n3", "label_smoothing"} & options.keys()


def test_what_lies_outside_the_bounds_or_is_the_own_value_again_is_no_option() -> None:
    options = options_of(replace(LINK_PREDICTION, dropout=0.0, dim=16, batch_size=32))

    assert options["dropout"] == (0.0, 0.2)
    assert options["dim"] == (16, 32)
    assert "batch_size" not in options
    assert options_of(replace(LINK_PREDICTION, dropout=0.5, dim=512))["dropout"] == (0.5, 0.3, 0.6)


def test_labels_are_not_smoothed_where_negatives_are_sampled() -> None:
    assert "label_smoothing" not in options_of(replace(LINK_PREDICTION, n_negatives=64))


def test_what_is_to_be_kept_is_not_searched() -> None:
    choices = searched_settings(LINK_PREDICTION, kept=["dim", "n3"])

    assert not {"dim", "n3"} & {choice.name for choice in choices}


@pytest.mark.parametrize("usual", [ALIGNMENT, LINK_PREDICTION, PROPAGATION])
@pytest.mark.parametrize("dim", [2, 50, 64, 1000])
def test_every_option_but_the_first_is_another_training(usual: TrainingSettings, dim: int) -> None:
    own = replace(usual, dim=dim)

    for choice in searched_settings(own):
        for i, value in enumerate(choice.options):
            change: dict[str, Any] = {choice.name: value}
            assert (replace_settings(own, change) == own) is (i == 0)


def test_changes_are_what_differs_and_lead_back_to_their_point() -> None:
    choices = searched_settings(LINK_PREDICTION)
    own = (0,) * len(choices)
    point = (2, 0, 1, *own[3:])

    assert changes_at(choices, own) == {}
    assert changes_at(choices, point) == {
        choices[0].name: choices[0].options[2],
        choices[2].name: choices[2].options[1],
    }
    assert locate_changes(choices, changes_at(choices, point)) == point


@pytest.mark.parametrize("changes", [{"learning_rate": 17.0}, {"lr_decay": 0.9}])
def test_changes_that_are_not_among_the_choices_have_no_point(changes: dict[str, float]) -> None:
    choices = searched_settings(LINK_PREDICTION)

    assert locate_changes(choices, changes) is None


@pytest.mark.parametrize("options", [(), (1, 2, 1)])
def test_options_are_different_and_at_least_one(options: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match=r"The options of dim are .*none twice"):
        SettingChoice(name="dim", options=options)


def test_a_propagation_searches_its_choices_with_rate_and_dimension() -> None:
    assert options_of(PROPAGATION) == {
        "learning_rate": (0.005, 0.0015, 0.015),
        "dim": (32, 16, 64),
        "depth": (6, 4, 8),
        "aggregation": ("pna", "sum", "mean", "max"),
        "attention": ("none", "query"),
        "relations": ("own", "query"),
        "update": ("residual", "gate"),
    }


def test_the_choices_of_a_propagation_stay_in_their_bounds() -> None:
    options = options_of(
        replace_settings(PROPAGATION, {"dim": 8, "depth": 7, "relations": "query"})
    )

    assert (options["dim"], options["depth"]) == ((8, 16), (7, 5))
    assert options["relations"] == ("query", "own")


def test_a_propagation_says_its_network_also_where_nothing_is_changed_or_searched() -> None:
    choices = searched_settings(PROPAGATION, kept=["dim", "aggregation"])
    own = (0,) * len(choices)

    assert "dim" not in {choice.name for choice in choices}
    assert changes_at(choices, own) == own_choices(PROPAGATION)
    assert {c.name: c.options for c in choices}["aggregation"] == ("pna",)
    assert locate_changes(choices, own_choices(PROPAGATION)) == own
    assert locate_changes(choices, own_choices(PROPAGATION) | {"aggregation": "max"}) is None
