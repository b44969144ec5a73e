"""The tutorial of the manual is run as a reader would run it."""

from pathlib import Path

import pytest

from tests.manual_page import run_page


@pytest.mark.slow
def test_every_command_of_the_tutorial_runs(tmp_path: Path) -> None:
    n_blocks = run_page("tutorial.md", tmp_path)

    assert n_blocks == 4
    assert (tmp_path / "winner.svg").stat().st_size > 1000
    assert (tmp_path / "alignment.tsv").read_text(encoding="utf-8").count("\n") > 10
    assert (tmp_path / "embeddings.tsv").stat().st_size > 1000
