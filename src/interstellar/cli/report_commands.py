"""`interstellar report` and `interstellar compare`."""

from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.export_commands import Overwrite
from interstellar.cli.flags import Device
from interstellar.cli.output import AsJson, print_json, print_rows, say

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="Folders of trainings, searches, tunings."),
]


def write_report(
    runs: Runs,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page: .html or .md.")],
    format: Annotated[
        str | None,
        typer.Option(
            help="html or md, where the file's ending does not say; tensorboard: a folder."
        ),
    ] = None,
    ranks: Annotated[
        bool,
        typer.Option(
            "--ranks",
            help="Links: ask the networks, and show ranks by relation, its kind and distance.",
        ),
    ] = False,
    device: Device = "auto",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page on runs, also while they are under way.

    Curves, leaderboards, drawings of the best architectures and what they have in common; several
    runs are laid over each other. The page loads nothing and can be printed, mailed or archived.

    Examples: `interstellar report found --out found.html`,
    `interstellar report runs/* --out runs.html --ranks`,
    `interstellar report found --out found.md` (tables for a ticket or a paper),
    `interstellar report found --format tensorboard --out logs` (event files for TensorBoard).
    """
    from interstellar.reporting.writing import report

    path = report(runs, out, format=format, ranks=ranks, device=device, overwrite=overwrite)
    if as_json:
        print_json({"path": str(path), "runs": len(runs)})
    else:
        shown = f": `tensorboard --logdir {path}` shows it" if path.is_dir() else ""
        say(f"The report is in {path}{shown}.")


def compare_runs(runs: Runs, as_json: AsJson = False) -> None:
    """Show runs side by side: what differs in their settings, and what came out.

    Runs that differ only in their seed are one row, with mean and standard error.

    Examples: `interstellar compare run_0 run_1 run_2`,
    `interstellar compare runs/* --json`.
    """
    from interstellar.reporting.document import format_cell
    from interstellar.reporting.writing import compare

    found = compare(runs)
    if as_json:
        print_json(found.as_dict())
        return
    table = found.narrow_table()
    print_rows([table.columns, *(list(map(format_cell, row)) for row in table.rows)])
