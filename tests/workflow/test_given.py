"""What users give: data, architectures, settings, seeds and devices in any form."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import interstellar as ist
from interstellar.architecture.notation import code_text, read_architecture, to_json
from interstellar.data.graph import GraphPair, KnowledgeGraph, Task
from interstellar.data.loading import load
from interstellar.data.splitting import SplitShares
from interstellar.errors import InterstellarError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.search_plan import SearchPlan, StrategyName
from interstellar.runs.training_run import train_run
from interstellar.searching.search_journal import read_written
from interstellar.training.defaults import GraphSize, default_settings
from interstellar.training.presets import (
    ALIGNMENT_SEARCH,
    COUNTRIES,
    LINK_PREDICTION,
    WN18RR_SEARCH,
    paper_preset,
)
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.audience import Audience
from interstellar.workflow.given import (
    build_experiment,
    final_settings,
    published_settings,
    read_data,
    read_given_architecture,
    read_given_settings,
    read_seed,
    trial_settings,
)
from tests.searching.small_searches import CPU, SETTINGS, run_search, small_search
from tests.tiny_graphs import ring, write_rows

NOBODY = Audience.NOBODY
CODE = [0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search that has ended."""
    out = tmp_path_factory.mktemp("searched") / "run"
    run_search(small_search(), out, n_trials=2)
    return out


def test_a_graph_is_trained_by_the_rule_for_its_entities_and_triplets_of_training() -> None:
    graph = read_data("synthetic:entities=60", NOBODY)
    assert isinstance(graph, KnowledgeGraph)

    size = GraphSize(n_entities=len(graph.entities), n_triplets=len(graph.train))

    assert final_settings(graph) == default_settings(Task.LINK_PREDICTION, size)


@pytest.mark.parametrize(
    ("architecture", "length"),
    [("ComplEx", 1), ("RSN", 1), ("PTransE-add", 3), ("O_r = s ⊗ r; v = h gated O_r", 3)],
)
def test_what_would_be_another_network_on_single_triplets_is_trained_on_paths(
    architecture: str, length: int
) -> None:
    graph = read_data("synthetic:entities=60", NOBODY)
    usual = final_settings(graph)

    settings = final_settings(graph, architecture)

    assert settings == replace(usual, walk=replace(usual.walk, length=length))


def test_the_final_training_as_published_has_the_row_of_a_set_or_the_rule() -> None:
    graph = read_data("synthetic:entities=60", NOBODY)
    assert isinstance(graph, KnowledgeGraph)

    published = published_settings(replace(graph, name="WN18RR"), "PTransE-add")

    assert published == paper_preset("WN18RR").settings
    assert published_settings(graph, "PTransE-add") == final_settings(graph, "PTransE-add")
    assert published_settings(replace(graph, name="DBP-WD"), "TransE") == final_settings(graph)


def test_a_pair_counts_the_triplets_and_entities_of_both_its_graphs() -> None:
    graph = read_data("synthetic-alignment:entities=600", NOBODY)
    assert isinstance(graph, GraphPair)

    n_entities = len(graph.source.entities) + len(graph.target.entities)
    n_triplets = len(graph.source.triplets) + len(graph.target.triplets)
    size = GraphSize(n_entities=n_entities, n_triplets=n_triplets)

    assert final_settings(graph) == default_settings(Task.ENTITY_ALIGNMENT, size)


def test_a_graph_with_lists_of_answers_is_trained_as_countries() -> None:
    assert final_settings(read_data("geography-S2", NOBODY)) == COUNTRIES


@pytest.mark.parametrize(
    ("data", "published"),
    [
        ("synthetic:entities=60", WN18RR_SEARCH),
        ("synthetic-alignment:entities=60", ALIGNMENT_SEARCH),
        ("geography-S2", COUNTRIES),
    ],
)
def test_trials_have_the_settings_of_the_final_training_unless_searched_as_published(
    data: str, published: TrainingSettings
) -> None:
    graph = read_data(data, NOBODY)

    assert trial_settings(graph, SearchPlan()) == final_settings(graph)
    assert trial_settings(graph, SearchPlan(as_published=True)) == published


def test_the_experiment_says_how_its_graph_was_read_and_finds_it_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "ring.tsv", ring(40))
    monkeypatch.chdir(tmp_path)

    graph = load("ring.tsv", split="80/10/10", seed=7)
    experiment = build_experiment(graph, architecture="TransE", seed=5, settings=SETTINGS)

    assert experiment.data == str(tmp_path / "ring.tsv")
    assert experiment.split == SplitShares(train=0.8, valid=0.1, test=0.1)
    assert experiment.split_seed == 7
    assert (experiment.architecture, experiment.seed) == ("TransE", 5)


def test_a_loaded_graph_is_taken_as_it_is() -> None:
    graph = load("geography-S1")

    assert read_data(graph, NOBODY) is graph


def test_triplets_in_memory_are_named_after_their_graph() -> None:
    graph = read_data(ring(40), NOBODY)

    experiment = build_experiment(graph, architecture="TransE", seed=0, settings=SETTINGS)

    assert experiment.data == graph.name


@pytest.mark.parametrize(
    "text",
    [
        "TransE",
        "[0,2,0,0,0,0,0,0,0,0,0]",
        "O_r = tanh(h + W4 r); v = s ⊗ W6 O_r",
        json.dumps(to_json(read_architecture("RSN")), indent=8),
        "no\0path",
        "",
    ],
)
def test_an_architecture_that_is_no_run_stays_as_it_was_written(text: str) -> None:
    assert read_written(text) == text


@pytest.mark.parametrize("given", [CODE, tuple(CODE), np.array(CODE)])
def test_an_architecture_may_be_given_by_its_numbers(given: Any) -> None:
    assert read_given_architecture(given) == code_text(read_architecture(CODE))


@pytest.mark.parametrize("given", [CODE[:10], ["x"] * 11, [0.5] * 11, 11])
def test_numbers_that_are_no_code_are_refused_in_words(given: Any) -> None:
    with pytest.raises(InterstellarError, match="11"):
        read_given_architecture(given)


def test_the_run_of_a_training_stands_for_its_architecture_and_settings(tmp_path: Path) -> None:
    experiment = small_search(architecture="RSN")
    train_run(replace(experiment, plan=None), tmp_path / "run", device=CPU)

    found = read_written(str(tmp_path / "run"))

    assert read_architecture(found) == read_architecture("RSN")
    assert read_given_settings(tmp_path / "run", LINK_PREDICTION) == experiment.settings


@pytest.mark.parametrize("is_finished", [True, False])
def test_the_run_of_a_search_stands_for_its_best_finished_or_not(
    tmp_path: Path, searched: Path, is_finished: bool
) -> None:
    best = json.loads((searched / "result.json").read_text())["best"]["code"]
    run = copy_run(searched, tmp_path / "run", is_finished=is_finished)

    assert read_architecture(read_written(str(run))) == read_architecture(best)


@pytest.mark.parametrize(
    "best",
    [{}, {"best": None}, {"best": "TransE"}, {"best": {}}, {"best": {"code": [0, 0, 2, *[0] * 8]}}],
)
def test_the_best_of_a_search_is_that_of_its_journal_whatever_its_result_says(
    tmp_path: Path, searched: Path, best: dict[str, object]
) -> None:
    run = RunFolder.open(copy_run(searched, tmp_path / "run", is_finished=True))
    written = run.read_result()
    code = written.pop("best")["code"]  # type: ignore[index]
    run.write_result(written | best)

    assert read_architecture(read_written(str(run.path))) == read_architecture(code)
    assert ist.SearchResult.open(run.path).best.code == code


def test_a_search_without_any_score_has_no_best_yet(tmp_path: Path, searched: Path) -> None:
    run = copy_run(searched, tmp_path / "run", is_finished=False)
    journal = run / "journal.jsonl"
    kept = [line for line in journal.read_text().splitlines() if '"ended"' not in line]
    journal.write_text("\n".join(kept) + "\n")

    with pytest.raises(SettingsError, match="no trial with a score yet"):
        read_written(str(run))


def test_a_folder_with_only_an_experiment_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()

    with pytest.raises(SettingsError, match="is no run: it lacks"):
        read_written(str(tmp_path))


def test_the_settings_of_a_tuning_are_the_best_it_found(tmp_path: Path) -> None:
    plan = SearchPlan(strategy=StrategyName.TUNE, keep=("dropout",))
    tuning = small_search(StrategyName.TUNE, architecture="TransE", plan=plan)
    best = run_search(tuning, tmp_path / "run", n_trials=2)["best"]["settings"]

    settings = read_given_settings(tmp_path / "run", LINK_PREDICTION)

    assert {name: getattr(settings, name) for name in best} == best
    assert settings.dim == SETTINGS.dim


def test_a_seed_of_numpy_is_a_seed_and_a_text_is_none() -> None:
    assert type(read_seed(np.int64(3))) is int
    with pytest.raises(SettingsError, match="`seed` is '3', but it must be a whole number"):
        read_seed("3")  # type: ignore[arg-type]


def copy_run(run: Path, to: Path, *, is_finished: bool) -> Path:
    """Return a copy of a run, perhaps as it was before it ended."""
    shutil.copytree(run, to)
    if not is_finished:
        (to / "result.json").unlink()
    return to
