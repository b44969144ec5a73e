"""What the README and examples/ show is run, and says what it says."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_command
from tests.tiny_graphs import ring, write_rows, write_split_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
EXTRA = {"embeddings_for_scikit_learn": "sklearn", "pykeen_evaluator": "pykeen"}
"""What an example needs that is not installed with the package."""
PRINTED = {
    "align_two_graphs": r"[1-9]\d+ new pairs, [1-9]\d+ of them right",
    "embeddings_for_scikit_learn": r"from borders alone: [89]\d%",
    "predict_links": r"1\. europe",
    "pykeen_evaluator": r"mrr +(0\.\d{4}) \1\n",
    "search_and_explain": r"armenia lies in western_asia:\n.*locatedin",
}
MAX_STDERR_LINES = 3
"""That a cell of the notebook may show for its progress."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_readmes_program_prints_what_the_readme_says(tmp_path: Path) -> None:
    [program] = blocks("python")
    expected = README.split("prints\n\n```\n")[1].split("```")[0]

    done = run_in(tmp_path, sys.executable, "-c", program)

    assert done.stdout == expected


def test_every_command_of_the_readme_runs(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERSTELLAR_DATA", str(tmp_path / "sets"))
    write_split_folder(tmp_path / "sets" / "link-prediction" / "WN18RR")
    write_split_folder(tmp_path / "my_folder")
    write_rows(tmp_path / "mine.tsv", ring(20))
    edges = [(i, (i + 1) % 20) for i in range(20)]
    turtle = "".join(f"<http://e/{i}> <http://next> <http://e/{j}> .\n" for i, j in edges)
    (tmp_path / "my_graph.ttl").write_text(turtle)
    (tmp_path / "theirs.ttl").write_text(turtle)
    write_rows(
        tmp_path / "same.csv", [(f"e{i}", f"http://e/{i}") for i in range(10)], separator=","
    )
    [commands] = blocks("sh")

    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "interstellar"
        outcome = run_command(capfd, *words[1:])
        assert outcome.code == 0, (line, outcome.err)


def test_the_readme_stays_short() -> None:
    assert README.count("\n") < 150


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_what_it_is_for(example: Path, tmp_path: Path) -> None:
    extra = EXTRA.get(example.stem)
    if extra is not None and find_spec(extra) is None:
        pytest.skip(f"{extra} is not installed, and {example.name} shows how to use it")

    done = run_in(tmp_path, sys.executable, str(example))

    assert re.search(PRINTED[example.stem], done.stdout), done.stdout
    assert extra is not None or done.stderr == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_stays_short(example: Path) -> None:
    assert example.read_text(encoding="utf-8").count("\n") < 60


@pytest.mark.slow
def test_the_notebook_runs_and_its_progress_does_not_spoil_it(tmp_path: Path) -> None:
    notebook = tmp_path / NOTEBOOK.name
    notebook.write_bytes(NOTEBOOK.read_bytes())

    run_in(tmp_path, sys.executable, "-m", "jupyter", "execute", "--inplace", str(notebook))

    cells = [cell for cell in read_cells(notebook) if cell["cell_type"] == "code"]
    shown = [cell["outputs"] for cell in cells]
    assert all(outputs for outputs in shown[1:]), "every cell but the imports shows something"
    stderr = [o["text"] for outputs in shown for o in outputs if o.get("name") == "stderr"]
    assert all(len(text) <= MAX_STDERR_LINES for text in stderr), stderr


def test_the_notebook_is_stored_without_outputs() -> None:
    code = [cell for cell in read_cells(NOTEBOOK) if cell["cell_type"] == "code"]

    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def read_cells(notebook: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return cells


def run_in(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program that must end well, and leaves what it writes in a folder."""
    places = ("TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | dict.fromkeys(places, str(folder)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
