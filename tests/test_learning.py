"""Networks learn what there is to be learnt, on the CPU in seconds."""

import random
from pathlib import Path

import pytest
import torch

from interstellar.data.graph import GraphPair
from interstellar.data.loading import load
from interstellar.runs.experiment import Experiment
from interstellar.runs.training_run import train_run
from interstellar.training.presets import ALIGNMENT, COUNTRIES, LINK_PREDICTION
from interstellar.training.settings_changes import SettingsChanges, with_changes
from tests.tiny_graphs import write_rows

pytestmark = pytest.mark.slow


def learn(
    data: str, architecture: str, out: Path, changes: SettingsChanges, *, seed: int = 0
) -> dict[str, float]:
    """Train, and return the metrics on the test split."""
    graph = load(data)
    usual = COUNTRIES if data.startswith("geography") else LINK_PREDICTION
    settings = with_changes(ALIGNMENT if isinstance(graph, GraphPair) else usual, dim=32)
    experiment = Experiment(
        data=data, architecture=architecture, seed=seed, settings=with_changes(settings, **changes)
    )
    result = train_run(experiment, out, device=torch.device("cpu"))
    metrics: dict[str, float] = result["metrics"]["test"]
    return metrics


def write_planted_rule(folder: Path) -> Path:
    """Write: who lives in a city is a citizen of the country in which the city lies."""
    rng = random.Random(0)
    city_of = [rng.randrange(30) for _ in range(150)]
    lives = [(f"person {p}", "lives in", f"city {c}") for p, c in enumerate(city_of)]
    lies = [(f"city {c}", "lies in", f"country {c % 6}") for c in range(30)]
    citizen = [(f"person {p}", "citizen of", f"country {c % 6}") for p, c in enumerate(city_of)]
    rng.shuffle(citizen)
    write_rows(folder / "train.txt", lives + lies + citizen[40:])
    write_rows(folder / "valid.txt", citizen[:20])
    write_rows(folder / "test.txt", citizen[20:40])
    return folder


def test_a_planted_rule_of_two_steps_is_learnt(tmp_path: Path) -> None:
    data = write_planted_rule(tmp_path / "data")
    changes: SettingsChanges = {
        "batch_size": 128,
        "learning_rate": 0.01,
        "dropout": 0.0,
        "epochs": 50,
    }

    metrics = learn(str(data), "ComplEx", tmp_path / "run", changes)

    assert metrics["mrr"] > 0.85  # 186 entities: by chance about 0.03


def test_complex_finds_the_regions_of_countries(tmp_path: Path) -> None:
    metrics = learn("geography-S1", "ComplEx", tmp_path / "run", {"epochs": 15, "batch_size": 256})

    assert metrics["auc_pr"] > 0.98


def test_where_only_a_path_leads_to_the_region_paths_are_learnt_and_single_hops_are_not(
    tmp_path: Path,
) -> None:
    changes: SettingsChanges = {"epochs": 20, "batch_size": 512}

    path = learn("geography-S3", "PTransE-add", tmp_path / "path", changes)
    hop = learn("geography-S3", "ComplEx", tmp_path / "hop", changes)

    assert path["auc_pr"] > 0.85
    assert hop["auc_pr"] < 0.75


def test_two_views_of_a_graph_are_aligned(tmp_path: Path) -> None:
    changes: SettingsChanges = {"epochs": 6, "learning_rate": 0.01, "batch_size": 256}

    metrics = learn("synthetic-alignment:entities=60", "RSN", tmp_path / "run", changes)

    assert metrics["hits@1"] > 0.2  # 42 candidates: by chance 0.024


def test_sampled_softmax_learns_too(tmp_path: Path) -> None:
    changes: SettingsChanges = {"epochs": 20, "batch_size": 256, "negatives": 64}

    metrics = learn("geography-S1", "ComplEx", tmp_path / "run", changes)

    assert metrics["auc_pr"] > 0.95
