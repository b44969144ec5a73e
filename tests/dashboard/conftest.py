"""Runs that were trained for a moment, to be asked."""

from pathlib import Path

import pytest

from tests.runs.small_runs import GRAPH, PAIR, train


@pytest.fixture(scope="package")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of link prediction."""
    folder = tmp_path_factory.mktemp("runs") / "linked"
    train(folder, GRAPH, max_epochs=1)
    return folder


@pytest.fixture(scope="package")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of entity alignment."""
    folder = tmp_path_factory.mktemp("runs") / "aligned"
    train(folder, PAIR, "RSN", max_epochs=1)
    return folder
