"""`interstellar reproduce …`: studies of the paper, on any data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.flags import (
    Device,
    Engine,
    Out,
    RayAddress,
    Resume,
    Seed,
    SettingsFile,
    Workers,
    stop_on_sigterm,
    with_flags,
)
from interstellar.cli.output import AsJson, print_json, print_rows, report
from interstellar.cli.search_commands import BUILT_IN, TRIAL_SETTINGS
from interstellar.training.settings_changes import SettingsChanges

if TYPE_CHECKING:
    from interstellar.data.graph import AnyGraph
    from interstellar.reproduce.parameter_sharing import Comparison

PAPER_ARCHITECTURES = 100
PLOT_FILE = "sharing.svg"

app = typer.Typer(no_args_is_help=True, help="Studies of the paper, on any data.")


@app.command("one-shot", no_args_is_help=True)
@with_flags(changes=TRIAL_SETTINGS)
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
    workers: Workers = None,
    engine: Engine = "local",
    ray_address: RayAddress = None,
    settings: SettingsFile = None,
    *,
    changes: SettingsChanges,
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
    from interstellar.architecture.notation import read_architecture
    from interstellar.data.loading import load
    from interstellar.reproduce.parameter_sharing import POINTS_FILE, SharingStudy, study_sharing
    from interstellar.reproduce.sharing_plot import require_matplotlib
    from interstellar.runs.experiment import ANY
    from interstellar.runs.search_plan import Budget, SearchPlan
    from interstellar.searching.search_journal import read_written
    from interstellar.training.settings_changes import with_changes
    from interstellar.workflow.audience import find_audience
    from interstellar.workflow.given import build_experiment, read_given_settings, trial_settings
    from interstellar.workflow.search_progress import search_table
    from interstellar.workflow.searching import workers_for

    if not no_plot:
        require_matplotlib()
    kept = None if macro is None else read_architecture(read_written(macro)).macro
    graph: AnyGraph = load(data)
    usual = trial_settings(graph, SearchPlan(as_published=True))
    chosen = with_changes(read_given_settings(settings, usual), **changes)
    study = SharingStudy(
        experiment=build_experiment(graph, architecture=ANY, seed=seed, settings=chosen),
        n_architectures=architectures,
        supernet_epochs=supernet_epochs or chosen.max_epochs,
        macro=kept,
    )
    stop_on_sigterm()
    audience = find_audience()
    budget = Budget(trials=2 * architectures)
    where: Any = {"workers": workers, "engine": engine, "ray_address": ray_address}
    comparisons = study_sharing(
        study,
        out,
        workers=workers_for(graph, device, budget, audience, where),
        resume=resume,
        watch=lambda: search_table(chosen.metric, audience),
        on_note=report,
    )
    plot = None if no_plot else draw(comparisons, out, graph, str(chosen.metric))
    show_comparisons(comparisons, plot, out / POINTS_FILE, as_json=as_json)


def draw(comparisons: Sequence["Comparison"], out: Path, graph: "AnyGraph", metric: str) -> Path:
    """Draw the plot of a study into its folder and return its file."""
    from interstellar.data.graph import KnowledgeGraph
    from interstellar.reproduce.sharing_plot import draw_sharing

    shared_name = metric if isinstance(graph, KnowledgeGraph) else "−loss"
    draw_sharing(comparisons, out / PLOT_FILE, shared_name=shared_name, alone_name=metric)
    return out / PLOT_FILE


def show_comparisons(
    comparisons: Sequence["Comparison"], plot: Path | None, points: Path, *, as_json: bool
) -> None:
    """Print how both scores correlate, and where they are."""
    from interstellar.reproduce.sharing_plot import describe

    if as_json:
        listed = [describe_comparison(comparison) for comparison in comparisons]
        print_json({"rows": listed, "plot": plot, "points": points})
        return
    rows = [("space", "architectures", "spearman [95 %]", "kendall [95 %]", "failed")]
    for found in comparisons:
        both = describe(found.correlation.spearman), describe(found.correlation.kendall)
        rows.append((found.space, str(len(found.points)), *both, str(found.n_failed)))
    print_rows(rows)
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
