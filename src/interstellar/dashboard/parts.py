"""What a page shows, in parts that are drawn again only where they change.

A part is HTML whose outermost element says by `data-part` which it is. What strangers wrote is
escaped, as in a report, from whose writers all but the list comes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from urllib.parse import urlencode

from interstellar.dashboard.followed_runs import FollowedRuns
from interstellar.dashboard.live_run import LiveRun
from interstellar.dashboard.live_search import LiveSearch
from interstellar.data.graph import Task
from interstellar.reporting.document import Block, Cell, Facts, Section, format_cell
from interstellar.reporting.recorded_run import RecordedRun, State
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.recorded_training import RecordedTraining
from interstellar.reporting.run_section import describe_run, settings_sections
from interstellar.reporting.search_charts import chart_search_curves
from interstellar.reporting.search_section import gallery_section, leaders_section
from interstellar.reporting.training_section import training_section
from interstellar.reporting.web_page import escape_text, write_section
from interstellar.reporting.writing import comparison_section
from interstellar.searching.search_journal import FINAL
from interstellar.searching.tried_network import formula_of

Parts: TypeAlias = dict[str, str]
"""HTML by the name of the part, in the order of the page."""

COLUMNS = ("compare", "run", "state", "score", "progress", "data", "network", "changed")
MOST_COMPARED = 20
MOST_LETTERS = 300
"""Of a problem."""
_STATES = {State.FINISHED: "finished", State.STOPPED: "stopped", State.OPEN: "open"}


def address_of(page: str, names: Iterable[str]) -> str:
    """Return the address of a page on some runs."""
    return f"{page}?{urlencode([('run', name) for name in names])}"


def list_rows(followed: FollowedRuns, drawn: dict[str, tuple[int, str]]) -> Parts:
    """Return a row for each run, the one begun last first; `drawn` are rows of versions before."""
    in_order = sorted(followed.runs.values(), key=lambda run: run.name)
    in_order.sort(key=lambda run: run.begun or "", reverse=True)
    for run in in_order:
        if drawn.get(run.name, (-1, ""))[0] != run.version:
            drawn[run.name] = run.version, _write_row(run)
    for gone in drawn.keys() - followed.runs.keys():
        del drawn[gone]
    return {run.name: drawn[run.name][1] for run in in_order}


def _write_row(run: LiveRun) -> str:
    name, shown = escape_text(run.name), escape_text(_title(run.name))
    box = f'<input type="checkbox" name="run" value="{name}" aria-label="Compare {shown}">'
    link = f'<a href="{escape_text(address_of("/run", [run.name]))}">{shown}</a>'
    recorded, live = run.run, run.live
    if recorded is None or live is None:
        why = escape_text((run.problem or "not read yet")[:MOST_LETTERS])
        cells = f'<td>{box}</td><td>{link}</td><td class="wide" colspan="6">{why}</td>'
        return f'<tr data-part="{name}" class="unread">{cells}</tr>'
    own = recorded.trained_network
    network = live.formula or ("" if own is None else formula_of(own))
    metric = recorded.experiment.settings.metric
    values = [
        ("score", "–" if live.score is None else f"{metric} {format_cell(live.score)}"),
        ("progress", f"{recorded.kind}: {live.progress}"),
        ("data", recorded.data_name),
        ("network", network),
    ]
    cells = "".join(f'<td class="{kind}">{escape_text(value)}</td>' for kind, value in values)
    state = _STATES[recorded.state]
    fault = "" if run.problem is None else f' title="{escape_text(run.problem[:MOST_LETTERS])}"'
    mark = "" if run.problem is None else " (!)"
    return (
        f'<tr data-part="{name}"><td>{box}</td><td class="run">{link}</td>'
        f'<td class="state {state}"{fault}>{state}{mark}</td>{cells}'
        f'<td class="changed">{_write_time(run.changed)}</td></tr>'
    )


def draw_run(run: LiveRun, followed: FollowedRuns) -> Parts:
    """Return what there is to be said of a run."""
    parts = _write_problem(run)
    recorded = run.recorded
    if recorded is None or run.live is None:
        return parts or {"state": _wrap("state", '<p class="note">Not read yet.</p>')}
    if isinstance(recorded, RecordedSearch):
        assert isinstance(run.live, LiveSearch)
        section = _search_section(recorded, run.live)
    else:
        section = training_section(recorded)
    said = f"Last line of the journal: {_write_time(run.changed)}."
    address = escape_text(address_of("/report", [run.name]))
    said += f' <a href="{address}">The whole report</a>, as of now.'
    parts["state"] = _wrap("state", f'<p class="note">{said}</p>')
    parts |= _write_winner(run, followed)
    parts["summary"] = _wrap("summary", _write_blocks(section.blocks))
    if isinstance(recorded, RecordedTraining) and recorded.result is not None:
        parts |= _write_ask(recorded.run)
    for part in section.sections:
        parts[part.title] = _wrap(part.title, write_section(part, level=3 if part.is_folded else 2))
    return parts


def draw_comparison(runs: Sequence[LiveRun]) -> Parts:
    """Return runs side by side, as far as they can be read."""
    parts: Parts = {}
    for run in runs:
        for key, html in _write_problem(run).items():
            parts[f"{key} {run.name}"] = html
    recorded = [one for one in (run.recorded for run in runs) if one is not None]
    if recorded:
        for i, block in enumerate(comparison_section(recorded).blocks):
            parts[f"block {i}"] = _wrap(f"block {i}", _write_blocks([block]))
    return parts


def _search_section(search: RecordedSearch, live: LiveSearch) -> Section:
    blocks: list[Block] = [Facts(pairs=list(_summary(search, live)))]
    if search.known:
        blocks.append(chart_search_curves([search]))
    shown = (leaders_section(search), gallery_section(search))
    sections = [part for part in shown if part is not None]
    return Section(title="", blocks=blocks, sections=[*sections, *settings_sections(search.run)])


def _summary(search: RecordedSearch, live: LiveSearch) -> Iterator[tuple[str, Cell]]:
    plan = search.run.experiment.plan
    assert plan is not None
    yield from describe_run(search.run)
    yield "strategy", str(plan.strategy)
    said = (f"{live.fates[fate]:,} {fate}" for fate in ("trained", "known already", "failed"))
    yield "trials", ", ".join(said)
    yield "under way", search.n_under_way
    yield "seconds", search.seconds
    yield f"best {search.metric} (valid)", live.score


def _write_winner(run: LiveRun, followed: FollowedRuns) -> Parts:
    """Return where the trained winner of a search is, if there is one."""
    name = FINAL if run.name == "." else f"{run.name}/{FINAL}"
    if name not in followed.runs:
        return {}
    address = escape_text(address_of("/run", [name]))
    return {"winner": _wrap("winner", f'<p><a href="{address}">The winner, trained</a></p>')}


def _write_ask(run: RecordedRun) -> Parts:
    """Return the form by which a trained model is asked."""
    is_alignment = run.data.get("task") == Task.ENTITY_ALIGNMENT
    ends = ("source", "target") if is_alignment else ("subject", "object")
    fields = "".join(
        f'<label>{end}<input name="{end}" autocomplete="off" spellcheck="false"></label>'
        for end in ends
    )
    if not is_alignment:
        fields += '<label>relation<input name="relation" required autocomplete="off"></label>'
    what = "Who means the same?" if is_alignment else "What is missing?"
    form = f"""<h2>{what}</h2>
<form class="ask" action="/{"align" if is_alignment else "predict"}">
<input type="hidden" name="run" value="{escape_text(run.name)}">
{fields}<label>answers<input name="k" type="number" min="1" max="100" value="10"></label>
<button>Ask</button></form>
<p class="note">Name {" or ".join(ends)}, as the data has it; the answers are the other end.</p>
<div aria-live="polite"></div>"""
    return {"ask": _wrap("ask", form)}


def _write_problem(run: LiveRun) -> Parts:
    if run.problem is None:
        return {}
    said = f"{_title(run.name)}: {run.problem[:MOST_LETTERS]}"
    return {"problem": _wrap("problem", f'<p class="problem">{escape_text(said)}</p>')}


def _write_blocks(blocks: Sequence[Block]) -> str:
    return write_section(Section(title="", blocks=blocks), level=2).removeprefix("<h2></h2>\n")


def _wrap(key: str, html: str) -> str:
    return f'<section data-part="{escape_text(key)}">{html}</section>'


def _write_time(time: str | None) -> str:
    if time is None:
        return "–"
    text = escape_text(time[:40])
    return f'<time datetime="{text}">{text[:19].replace("T", " ")}</time>'


def _title(name: str) -> str:
    return "this folder" if name == "." else name
