"""`interstellar reproduce …`: studies of the paper, on any data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.experiment_options import (
    Dim,
    Epochs,
    Out,
    Precise,
    Resume,
    SettingsFile,
    stop_on_sigterm,
)
from interstellar.cli.output import AsJson, Seed, print_json, print_rows, report
from interstellar.cli.path_commands import Device
from interstellar.cli.search_commands import BUILT_IN, NWorkers

if TYPE_CHECKING:
    from interstellar.architecture.architecture import Macro
    from interstellar.searching.parameter_sharing import Comparison

PAPER_ARCHITECTURES = 100
PLOT_FILE = "sharing.svg"

app = typer.Typer(no_args_is_help=True, help="Studies of the paper, on any data.")


@app.command("one-shot", no_args_is_help=True)
def one_shot(
    out: Out,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Name of a set, folder, or file.")
    ] = BUILT_IN,
    architectures: Annotated[
        int, typer.Option(help="Drawn from each of the two spaces.")
    ] = PAPER_ARCHITECTURES,
    supernet_epochs: Annotated[
        int | None, typer.Option(min=1, help="As many as one architecture has at most.")
    ] = None,
    macro: Annotated[
        str | None,
        typer.Option(metavar="ARCH", help="Whose macro network; else that of the best found."),
    ] = None,
    no_plot: Annotated[bool, typer.Option("--no-plot", help="Do without Matplotlib.")] = False,
    workers: NWorkers = 1,
    together: Annotated[
        int | None, typer.Option(min=1, help="Stand-alone trainings in one batched program.")
    ] = None,
    settings_file: SettingsFile = None,
    dim: Dim = None,
    epochs: Epochs = None,
    precision: Precise = None,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Compare scores with shared weights to stand-alone ones: in all the space, and micro alone.

    Rank correlations near 0 say that shared weights cannot choose, near 1 that they can.
    Examples: `interstellar reproduce one-shot --out study`,
    `interstellar reproduce one-shot DBP-WD --device cuda --out study`; stopped or killed, the
    same command with `--resume` goes on.
    """
    from interstellar.device import find_device
    from interstellar.searching.parameter_sharing import POINTS_FILE, SharingStudy, study_sharing
    from interstellar.searching.search_experiment import ANY
    from interstellar.searching.search_run import Workers
    from interstellar.searching.sharing_plot import require_matplotlib
    from interstellar.workflow.audience import find_audience
    from interstellar.workflow.given_data import read_data
    from interstellar.workflow.search_table import search_table
    from interstellar.workflow.searching import change_settings, choose_together

    if not no_plot:
        require_matplotlib()
    where = Workers(device=find_device(device), n=workers)
    kept = choose_macro(macro)
    audience = find_audience()
    given = read_data(data, audience=audience)
    settings = change_settings(given.search_settings(), settings_file, dim, epochs, precision, None)
    study = SharingStudy(
        experiment=given.experiment(architecture=ANY, seed=seed, settings=settings),
        n_architectures=architectures,
        supernet_epochs=supernet_epochs or settings.max_epochs,
        macro=kept,
        n_together=together or choose_together(given.graph, settings, where),
    )
    stop_on_sigterm()
    comparisons = study_sharing(
        study,
        out,
        workers=where,
        is_resumed=resume,
        watch=lambda: search_table(settings.selection, audience),
        on_note=report,
    )
    plot = None if no_plot else draw(comparisons, out, given.task, str(settings.selection))
    show_comparisons(comparisons, plot, out / POINTS_FILE, as_json=as_json)


def choose_macro(text: str | None) -> "Macro | None":
    """Return the macro level of the architecture that a flag names, if any."""
    from interstellar.architecture.notation import read_architecture
    from interstellar.workflow.written_architecture import read_written

    return None if text is None else read_architecture(read_written(text)).macro


def draw(comparisons: Sequence["Comparison"], out: Path, task: str, metric: str) -> Path:
    """Draw the plot of a study into its folder and return its file."""
    from interstellar.data.named_set import Task
    from interstellar.searching.sharing_plot import draw_sharing

    shared_name = metric if task == Task.LINK_PREDICTION else "−loss"
    draw_sharing(comparisons, out / PLOT_FILE, shared_name=shared_name, alone_name=metric)
    return out / PLOT_FILE


def show_comparisons(
    comparisons: Sequence["Comparison"], plot: Path | None, points: Path, *, as_json: bool
) -> None:
    """Print how both scores correlate, and where they are."""
    from interstellar.searching.sharing_plot import describe

    if as_json:
        rows = [describe_comparison(comparison) for comparison in comparisons]
        shown_plot = None if plot is None else str(plot)
        print_json({"rows": rows, "plot": shown_plot, "points": str(points)})
        return
    head = ("space", "architectures", "spearman [95 %]", "kendall [95 %]", "failed")
    print_rows(
        [head]
        + [
            (
                c.space,
                str(len(c.points)),
                describe(c.correlation.spearman),
                describe(c.correlation.kendall),
                str(c.n_failed),
            )
            for c in comparisons
        ]
    )
    report(f"The points are in {points}{f', the plot is {plot}' if plot else ''}.")


def describe_comparison(comparison: "Comparison") -> dict[str, Any]:
    """Return a comparison as a row of the JSON; null where nothing is ordered."""
    spearman, kendall = comparison.correlation.spearman, comparison.correlation.kendall
    return {
        "space": comparison.space,
        "architectures": len(comparison.points),
        "spearman": spearman.value,
        "spearman_interval": spearman.interval,
        "kendall": kendall.value,
        "kendall_interval": kendall.interval,
        "failed": comparison.n_failed,
    }
