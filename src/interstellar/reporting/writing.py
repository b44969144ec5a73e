"""`report` and `compare`: runs on one page, and side by side."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, assert_never

from interstellar.errors import SettingsError
from interstellar.records.safe_files import find_run_around, refuse_output, replacing_file
from interstellar.reporting.comparison import Comparison, compare_runs
from interstellar.reporting.document import Block, Document, Section
from interstellar.reporting.event_files import write_event_files
from interstellar.reporting.markdown import to_markdown
from interstellar.reporting.reading import Recorded, read_runs
from interstellar.reporting.recorded_run import Given, State, StrPath
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.recorded_training import RecordedTraining
from interstellar.reporting.search_charts import chart_search_curves
from interstellar.reporting.search_section import search_section
from interstellar.reporting.training_section import chart_trainings, training_section
from interstellar.reporting.web_page import to_html
from interstellar.words import choose

Run = TypeVar("Run", RecordedSearch, RecordedTraining)


class PageFormat(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "md"
    TENSORBOARD = "tensorboard"
    """No page, but a folder of event files."""


def report(
    runs: Given | Iterable[Given],
    out: StrPath,
    *,
    format: str | None = None,
    ranks: bool = False,
    device: str = "auto",
    overwrite: bool = False,
) -> Path:
    """Write one page on runs, finished or not, and return its path.

    Args:
        runs: The folder of a run, a `Model` or a `SearchResult`; or several of them.
        out: The file; `.md` makes it Markdown, anything else HTML.
        format: html or md, where the ending does not say; with tensorboard `out` is a new folder of
            event files that TensorBoard shows.
        ranks: Also ask the trained networks, and show where their ranks on the test split come
            from: by relation, kind of relation and distance. Of link prediction only.
        device: Where they are asked.
        overwrite: Whether a file, or a folder of event files, that exists may be replaced.
    """
    path = Path(out)
    wanted = _choose_format(path, format)
    _refuse_folder_of_run(path)
    if wanted is PageFormat.TENSORBOARD:
        _refuse_ranks(ranks)
        write_event_files(read_runs(runs), path, overwrite=overwrite)
        return path
    refuse_output(path, overwrite=overwrite)
    document = build_document(read_runs(runs), ranks_on=device if ranks else None)
    match wanted:
        case PageFormat.HTML:
            text = to_html(document)
        case PageFormat.MARKDOWN:
            text = to_markdown(document)
        case _:
            assert_never(wanted)
    with replacing_file(path) as file:
        file.write(text.encode())
    return path


def compare(runs: Given | Iterable[Given]) -> Comparison:
    """Return runs side by side: those that differ only in their seed with mean and error.

    Args:
        runs: Folders of runs, or what lies in them: a `Model`, a `SearchResult`.
    """
    return compare_runs(read_runs(runs))


def build_document(runs: Sequence[Recorded], *, ranks_on: str | None = None) -> Document:
    """Return the report on runs; with the name of a device networks are asked there."""
    sections = [comparison_section(runs)] if len(runs) > 1 else []
    for run in runs:
        if isinstance(run, RecordedSearch):
            more = _ranks(run.final, ranks_on)
            sections.append(search_section(run, more))
        else:
            sections.append(training_section(run, _ranks(run, ranks_on)))
    names = ", ".join(run.run.name for run in runs[:3]) + (" …" if len(runs) > 3 else "")
    data = ", ".join(dict.fromkeys(run.run.data_name for run in runs))
    n_open = sum(run.run.state is not State.FINISHED for run in runs)
    return Document(
        title=f"Report on {names}",
        subtitle=f"Data: {data}." + (f" Not finished: {n_open} of {len(runs)}." if n_open else ""),
        sections=sections,
    )


def comparison_section(runs: Sequence[Recorded]) -> Section:
    """Return runs in one table, and their curves over each other."""
    blocks: list[Block] = [compare_runs(runs).narrow_table()]
    for searches in _comparable(run for run in runs if isinstance(run, RecordedSearch)):
        known = [search for search in searches if search.known]
        if len(known) > 1:
            blocks.append(chart_search_curves(known))
    trainings = [run for run in runs if isinstance(run, RecordedTraining)]
    curves = [chart_trainings(some) for some in _comparable(trainings) if len(some) > 1]
    return Section(
        title="Side by side", blocks=[*blocks, *(found for found in curves if found.charts)]
    )


def _comparable(runs: Iterable[Run]) -> list[list[Run]]:
    """Return runs by data and metric: only such can be drawn over each other."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.run.data_name, run.metric), []).append(run)
    return list(groups.values())


def _ranks(training: RecordedTraining | None, device: str | None) -> list[Section]:
    """Return what a trained network says of its ranks, where that is asked for."""
    if device is None or training is None or training.result is None:
        return []
    from interstellar.reporting.rank_section import rank_section  # noqa: PLC0415 (needs torch)

    return [rank_section(training, device)]


def _choose_format(path: Path, given: str | None) -> PageFormat:
    if given is not None:
        return choose("format", given, PageFormat)
    return PageFormat.MARKDOWN if path.suffix.lower() == ".md" else PageFormat.HTML


def _refuse_ranks(ranks: bool) -> None:
    if ranks:
        raise SettingsError(
            "`ranks` are parts of a page, and event files have none. Leave one of the two out."
        )


def _refuse_folder_of_run(path: Path) -> None:
    """Raise where a report would lie in a run, which only its writer writes to."""
    if (folder := find_run_around(path)) is not None:
        raise SettingsError(
            f"{path} lies in the run {folder}, and a report never writes into a run. "
            "Choose a place beside it."
        )
