"""The pages of the dashboard: frames around parts, which a small script replaces as they change.

A page is whole without the script, but then stands still.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from interstellar.dashboard.board import View
from interstellar.dashboard.parts import COLUMNS, Parts, address_of
from interstellar.reporting.web_page import escape_text, read_style


def write_list(root: Path, parts: Parts, *, is_cut_short: bool) -> str:
    """Return the page with all runs."""
    titles = "".join(f'<th scope="col" class="{name}">{_column(name)}</th>' for name in COLUMNS)
    note = '<p class="note">There are more folders here than are looked at.</p>'
    body = f"""<form action="/compare" method="get">
<p class="tools"><label>Show <input type="search" id="filter" placeholder="part of a name"></label>
<button>Compare the chosen</button></p>
{note if is_cut_short else ""}
<div class="scroll" tabindex="0" role="region" aria-label="Runs">
<table class="runs"><thead><tr>{titles}</tr></thead>
<tbody id="parts">{"".join(parts.values())}</tbody></table></div>
<p class="note" id="empty">There is no run in this folder yet. One that begins appears here.</p>
</form>"""
    return _write_page(f"Runs in {root.name or root}", body, View())


def write_runs(view: View, parts: Parts) -> str:
    """Return the page on one run, or on several beside each other."""
    title = view.names[0] if len(view.names) == 1 else f"{len(view.names)} runs side by side"
    back = '<p><a href="/">All runs</a></p>'
    chosen = "" if len(view.names) == 1 else _write_names(view.names)
    body = f'{back}{chosen}<div id="parts">{"".join(parts.values())}</div>'
    return _write_page("This folder" if title == "." else title, body, view)


@cache
def read_files() -> dict[str, tuple[str, str]]:
    """Return content and type of what pages load, by path."""
    here = Path(__file__)
    own = here.with_name("dashboard.css").read_text(encoding="utf-8")
    script = here.with_name("dashboard.js").read_text(encoding="utf-8")
    icon = here.with_name("icon.svg").read_text(encoding="utf-8")
    return {
        "/dashboard.css": (read_style() + own, "text/css"),
        "/dashboard.js": (script, "text/javascript"),
        "/icon.svg": (icon, "image/svg+xml"),
    }


def _write_names(names: Sequence[str]) -> str:
    links = "".join(
        f'<li><a href="{escape_text(address_of("/run", [name]))}">{escape_text(name)}</a></li>'
        for name in names
    )
    address = escape_text(address_of("/report", names))
    return (
        f'<nav aria-label="Compared runs"><ul>{links}</ul></nav>'
        f'<p class="note"><a href="{address}">The report on all of them</a>, as of now.</p>'
    )


def _write_page(title: str, body: str, view: View) -> str:
    stream = escape_text(address_of("/events", view.names))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape_text(title)}</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/dashboard.css">
<script src="/dashboard.js" defer></script>
</head>
<body{"" if view.names else ' class="wide"'} data-stream="{stream}">
<header><h1>{escape_text(title)}</h1><p id="status" role="status"></p></header>
<main>
{body}
</main>
</body>
</html>
"""


def _column(name: str) -> str:
    return '<span class="hidden">compare</span>' if name == "compare" else name
