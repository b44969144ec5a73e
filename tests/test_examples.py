"""What the README shows is run, and says what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run_command import run_command
from tests.tiny_graphs import ring, write_rows, write_split_folder

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_readmes_program_prints_what_the_readme_says() -> None:
    [program] = blocks("python")
    expected = README.split("prints\n\n```\n")[1].split("```")[0]

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

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
