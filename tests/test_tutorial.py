"""The tutorial of the manual is run as a reader would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


@pytest.mark.slow
def test_every_command_of_the_tutorial_runs(tmp_path: Path) -> None:
    program = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    blocks = re.findall(r"```sh\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4

    for block in blocks:
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (block, done.stderr)

    assert (tmp_path / "winner.svg").stat().st_size > 1000
    assert (tmp_path / "alignment.tsv").read_text(encoding="utf-8").count("\n") > 10
    assert (tmp_path / "embeddings.tsv").stat().st_size > 1000
