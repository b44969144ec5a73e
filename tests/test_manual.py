"""The manual: it builds, its reference is whole, its drawings are true, its how-tos run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import interstellar
from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.notation import read_architecture
from interstellar.cli.app import app
from tests.manual_page import DOCS, run_page

HOWTOS = sorted(page.name for page in (DOCS / "howto").glob("*.md"))
DRAWN = {
    "dbp_wd_found": "O_s = tanh(W1 s + W2 h); O_r = tanh(O_s ⊗ W4 r); v = W5 h gated O_r",
    "rsn": "RSN",
    "transe": "TransE",
}


@pytest.mark.slow
def test_every_command_option_and_public_name_is_in_the_reference(tmp_path: Path) -> None:
    build_manual(tmp_path)
    sections = read_sections(tmp_path / "reference" / "commands.html")
    python = (tmp_path / "reference" / "python.html").read_text(encoding="utf-8")

    for words, options in options_by_command().items():
        missing = [option for option in options if option not in sections[f"interstellar {words}"]]
        assert missing == [], words
    assert [
        name for name in interstellar.__all__ if f'id="interstellar.{name}"' not in python
    ] == []


@pytest.mark.parametrize("stem", DRAWN)
def test_the_drawings_are_those_of_the_program(stem: str) -> None:
    drawn = (DOCS / "drawings" / f"{stem}.svg").read_text(encoding="utf-8")

    assert drawn == draw_svg(read_architecture(DRAWN[stem]))


def test_the_drawings_are_all_shown() -> None:
    shown = re.findall(r"\(drawings/(\w+)\.svg\)", (DOCS / "method.md").read_text("utf-8"))

    assert sorted(shown) == sorted(DRAWN) == sorted(p.stem for p in (DOCS / "drawings").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("page", HOWTOS)
def test_every_command_of_a_howto_runs(page: str, tmp_path: Path) -> None:
    n_blocks = run_page(f"howto/{page}", tmp_path)

    assert n_blocks > 0


def build_manual(folder: Path) -> None:
    """Build the manual as `make docs` does; a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def read_sections(page: Path) -> dict[str, str]:
    """Return the HTML under each second heading of a page, by the heading's text."""
    parts = re.split(r"<h2>(.*?)<a ", page.read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options_by_command() -> dict[str, list[str]]:
    """Return the flags of each command by the words that call it, as typer has them."""
    found: dict[str, list[str]] = {}
    commands = [("", typer.main.get_command(app))]
    for words, command in commands:
        parts = getattr(command, "commands", {})
        commands += [(f"{words} {name}".strip(), part) for name, part in parts.items()]
        if not parts:
            found[words] = [option for p in command.params for option in p.opts if "-" in option]
    return found
