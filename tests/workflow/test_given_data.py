"""Data as users give it: by name, by path, in memory."""

from pathlib import Path

import pytest

from interstellar.data.graph import GraphPair
from interstellar.data.loading import load
from interstellar.data.splitting import Split
from interstellar.errors import SettingsError
from interstellar.training.presets import (
    ALIGNMENT,
    SMALL,
    SMALL_ALIGNMENT,
    SMALL_PAIR_TRIPLETS,
)
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import Audience
from interstellar.workflow.given_data import read_data
from tests.searching.small_searches import SETTINGS
from tests.tiny_graphs import ring, write_rows


@pytest.mark.parametrize(
    ("data", "settings"),
    [("synthetic:entities=60", SMALL), ("synthetic-alignment:entities=60", SMALL_ALIGNMENT)],
)
def test_small_data_has_the_settings_of_small_data(data: str, settings: TrainingSettings) -> None:
    given = read_data(data, audience=Audience.NOBODY)

    assert given.final_settings() == settings
    assert given.search_settings() == settings


def test_a_pair_counts_the_triplets_of_both_its_graphs() -> None:
    given = read_data("synthetic-alignment:entities=600", audience=Audience.NOBODY)

    assert isinstance(given.graph, GraphPair)
    assert len(given.graph.first.triplets) < SMALL_PAIR_TRIPLETS
    assert given.final_settings() == ALIGNMENT


def test_the_experiment_names_the_data_as_it_can_be_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "ring.tsv", ring(40))
    monkeypatch.chdir(tmp_path)

    given = read_data("ring.tsv", split="80/10/10", audience=Audience.NOBODY)
    experiment = given.experiment(architecture="TransE", seed=5, settings=SETTINGS)

    assert given.task == "link-prediction"
    assert experiment.data == str(tmp_path / "ring.tsv")
    assert experiment.split == Split(train=0.8, valid=0.1, test=0.1)
    assert (experiment.architecture, experiment.seed) == ("TransE", 5)


def test_a_loaded_graph_is_taken_as_it_is() -> None:
    graph = load("geography-S1")

    given = read_data(graph, audience=Audience.NOBODY)

    assert given.graph is graph
    assert given.data == "geography-S1"


def test_a_loaded_graph_cannot_be_split_again() -> None:
    with pytest.raises(SettingsError, match=r"is loaded already.*Give them to `load`"):
        read_data(load("geography-S1"), split="80/10/10", audience=Audience.NOBODY)


def test_triplets_in_memory_are_named_after_their_graph() -> None:
    given = read_data(ring(40), audience=Audience.NOBODY)

    assert given.data == given.graph.name


def test_a_faulty_split_is_said_before_anything_is_read() -> None:
    with pytest.raises(SettingsError, match="split '80/x' is not three numbers"):
        read_data("nowhere.tsv", split="80/x", audience=Audience.NOBODY)
