"""The manual: it builds, its reference is whole, its drawings are true, its pages run."""

import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

import interstellar
from interstellar.cli.app import app
from tests.cli.run_command import run_command
from tests.dashboard.started_servers import fetch, started
from tests.manual_page import DOCS, run_page
from tests.tiny_graphs import EUROPE, write_rows

README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
IMPORT = re.compile(r"^from (interstellar[\w.]*) import (.+)$", flags=re.MULTILINE)
HOWTOS = sorted(page.name for page in (DOCS / "howto").glob("*.md"))


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


@pytest.mark.slow
@pytest.mark.parametrize("page", HOWTOS)
def test_every_command_of_a_howto_runs(page: str, tmp_path: Path) -> None:
    n_blocks = run_page(f"howto/{page}", tmp_path)

    assert n_blocks > 0


@pytest.mark.slow
def test_the_tutorial_leads_to_predictions_and_an_alignment(tmp_path: Path) -> None:
    run_page("tutorial.md", tmp_path)

    [best] = interstellar.open(tmp_path / "model", device="cpu").predict(
        subject="vienna", relation="located_in", k=1
    )
    assert best.entity == "europe"
    assert (tmp_path / "winner.svg").stat().st_size > 1000
    assert (tmp_path / "embeddings.tsv").stat().st_size > 1000
    assert (tmp_path / "alignment.tsv").read_text(encoding="utf-8").count("\n") > 10


def test_the_readme_leads_from_a_file_to_predictions(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "my_graph.tsv", [*EUROPE, *near_rows()])
    commands = re.findall(r"^\$ interstellar (.*)$", README, flags=re.MULTILINE)

    for command in commands:
        quick = command.replace("--time 20m", "--trials 1")
        outcome = run_command(capfd, *shlex.split(quick))
        assert outcome.code == 0, (command, outcome.err)
    assert commands[-1].startswith("predict")


def test_what_pages_import_exists() -> None:
    imported = [
        (module, name.strip())
        for page in [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
        for module, names in IMPORT.findall(page.read_text(encoding="utf-8"))
        for name in names.split(",")
    ]

    assert imported != []
    assert [(m, name) for m, name in imported if not hasattr(import_module(m), name)] == []


def test_the_functions_and_methods_that_the_readme_names_exist() -> None:
    sentence = README.split("The commands ")[1].split("([reference]")[0]
    functions, methods = (re.findall(r"`(\w+)`", part) for part in sentence.split(";"))
    commands = {words.split()[0] for words in options_by_command()}

    assert set(functions) <= set(interstellar.__all__) & commands
    assert set(methods) <= set(dir(interstellar.Model)) & commands


def test_the_classes_that_the_glossary_names_are_public() -> None:
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    now = glossary.split("## Words that changed")[0]

    named = re.findall(r"`([A-Z]\w+)`", now)
    assert "SearchResult" in named
    assert set(named) <= set(interstellar.__all__)


def test_the_client_of_the_manual_is_answered(tmp_path: Path) -> None:
    model = interstellar.train(
        [*EUROPE, ("armenia", "locatedin", "asia"), *near_rows()],
        "TransE",
        dim=8,
        epochs=1,
        out=tmp_path / "run",
        progress=False,
    )
    page = (DOCS / "howto" / "serve_predictions.md").read_text(encoding="utf-8")
    [program] = re.findall(r"^```py\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)

    with started("serve", tmp_path / "run", "--port", 0) as (_, said):
        client = program.replace("http://127.0.0.1:8000/", said["address"])
        done = subprocess.run(
            [sys.executable, "-c", client], capture_output=True, text=True, check=True
        )
        status, error = fetch(f"{said['address']}predict?subject=armenai&relation=locatedin")

    expected = model.predict(subject="armenia", relation="locatedin", k=3)
    printed = [line.split()[:2] for line in done.stdout.splitlines()]
    assert printed == [[str(each.rank), each.entity] for each in expected]
    assert status == 400
    assert "armenia" in error


def near_rows() -> list[tuple[str, str, str]]:
    """Return facts enough for some of them to be held out."""
    names = ("france", "spain", "portugal", "italy", "europe", "austria")
    return [(s, "near", o) for s in names for o in names if s != o]


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
