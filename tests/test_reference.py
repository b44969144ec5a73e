"""The committed reference says what the code says."""

import interstellar
from tests.manual_page import DOCS, load_writer

PAGES = DOCS / "reference"
ANEW = "is not what the code says: run `make reference`"


def test_the_page_of_the_commands_is_what_the_commands_say() -> None:
    page = (PAGES / "commands.md").read_text(encoding="utf-8")

    assert page == load_writer("reference").commands_page(), f"commands.md {ANEW}"
    for words in ("--strategy STRATEGY", "[default: surrogate]", "--with GRAPH2", "--no-prune"):
        assert words in page
    assert "| search | `--faithful` | `--no-prune` |" in page


def test_the_page_of_python_names_every_public_name_with_a_line() -> None:
    page = (PAGES / "python.md").read_text(encoding="utf-8")

    assert page == load_writer("reference").python_page(), f"python.md {ANEW}"
    rows = dict(line.strip("| ").split(" | ", 1) for line in page.splitlines() if "| `" in line)
    lines = {name.strip("`()"): line for name, line in rows.items()}
    assert set(interstellar.__all__) <= set(lines)
    assert all(line.endswith((".", ":")) for line in lines.values()), lines
    assert {"Model.predict", "Model.metrics", "SearchResult.to_frame"} <= set(lines)
