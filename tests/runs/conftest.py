"""Runs that several tests look at."""

from pathlib import Path

import pytest

from interstellar.runs.run import Result
from tests.runs.small_runs import GRAPH, PAIR, copy_run, train


@pytest.fixture(scope="package")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Result]]:
    """Runs that nobody stopped, by their data."""
    folder = tmp_path_factory.mktemp("wholes")
    return {data: (folder / data, train(folder / data, data)) for data in (GRAPH, PAIR)}


@pytest.fixture
def finished(wholes: dict[str, tuple[Path, Result]], tmp_path: Path) -> Path:
    """A finished run of one's own."""
    return copy_run(wholes[GRAPH][0], tmp_path)
