"""`interstellar search` and `interstellar tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interstellar.cli.flags import (
    READING,
    Data,
    Device,
    Engine,
    Flags,
    Out,
    RayAddress,
    Reading,
    Resume,
    Seed,
    SettingsFile,
    Workers,
    stop_on_sigterm,
    with_flags,
)
from interstellar.cli.output import AsJson, format_value, print_fields, print_json, report
from interstellar.cli.training_commands import describe_metrics
from interstellar.runs.search_plan import Budget, Retraining, SearchPlan
from interstellar.training.settings_changes import SettingsChanges

if TYPE_CHECKING:
    from interstellar.searching.finalists import Gain
    from interstellar.workflow.search_result import SearchResult

BUILT_IN = "geography-S3"


def read_known(given: list[str]) -> tuple[str, ...]:
    """Return the architectures to try first, of runs their codes."""
    from interstellar.searching.search_journal import read_written

    return tuple(map(read_written, given))


PLAN = Flags(
    SearchPlan,
    "How to search",
    only=(
        *("strategy", "subspace", "macro_only", "try_first", "from_scratch"),
        *("architecture_only", "keep", "prune", "as_published"),
        *("macro_updates", "micro_epochs", "supernet_epochs", "shared_score"),
    ),
    convert={"try_first": read_known},
    value_by_name={"try_first": "ARCH", "keep": "SETTING", "shared_score": "SCORE"},
    is_optional=True,
)
TUNING_PLAN = Flags(
    SearchPlan,
    "How to tune",
    only=("prune", "with_dim", "keep"),
    value_by_name={"keep": "SETTING"},
    fixed={"strategy": "tune"},
)
BUDGET = Flags(Budget, "When to end", is_optional=True)
AFTERWARDS = Flags(Retraining, "What follows")
_SETTINGS = ("dim", "epochs", "path_length", "metric", "precision")
TRIAL_SETTINGS = Flags(
    SettingsChanges,
    "Settings of each trial",
    only=(
        *("model", *_SETTINGS),
        *("depth", "aggregation", "attention", "relations", "update", "left_out", "nodes"),
    ),
)
TUNING_SETTINGS = Flags(
    SettingsChanges,
    "Settings of each trial",
    only=(*_SETTINGS, "optimizer", "negatives", "loss", "margin", "layers"),
)


@with_flags(
    plan=PLAN, budget=BUDGET, retraining=AFTERWARDS, changes=TRIAL_SETTINGS, reading=READING
)
def search(
    out: Out,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Name of a set, folder, or file. [geography-S3]"),
    ] = None,
    *,
    plan: SearchPlan | None,
    budget: Budget | None,
    workers: Workers = None,
    engine: Engine = "local",
    ray_address: RayAddress = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="A search to learn from: its trials are not repeated, or, where it was on another "
            "graph, its best networks are tried first.",
        ),
    ] = None,
    retraining: Retraining,
    settings: SettingsFile = None,
    changes: SettingsChanges,
    reading: Reading,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the architecture that learns a graph best.

    Examples: `interstellar search --trials 40 --out found`,
    `interstellar search my.tsv --time 20m --then-train --out found`,
    `interstellar search DBP-WD --time 8m --device cuda --then-train --out found`,
    `interstellar search my.tsv --model propagation --time 10m --then-train --out found`,
    `interstellar search WN18RR --as-published --then-train --device cuda --out found`.
    Stopped or killed, `interstellar search --resume --out found` goes on.
    """
    from interstellar.workflow.searching import search

    stop_on_sigterm()
    is_given = data is not None or not resume
    found = search(
        reading.load(data or BUILT_IN) if is_given else None,
        plan,
        budget=budget,
        settings=settings,
        retraining=retraining,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
        workers=workers,
        engine=engine,
        ray_address=ray_address,
        reuse=reuse or (),
        **changes,
    )
    show_found(found, as_json=as_json)


@with_flags(plan=TUNING_PLAN, budget=BUDGET, changes=TUNING_SETTINGS, reading=READING)
def tune(
    data: Data,
    out: Out,
    architecture: Annotated[
        str, typer.Option(metavar="ARCH", help="A name, code, formula, JSON file, or a RUN.")
    ],
    *,
    plan: SearchPlan,
    budget: Budget | None,
    workers: Workers = None,
    engine: Engine = "local",
    ray_address: RayAddress = None,
    settings: SettingsFile = None,
    changes: SettingsChanges,
    reading: Reading,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the settings with which an architecture learns best, in the paper's ranges.

    learning_rate, weight_decay, lr_decay, batch_size and dropout.
    Examples: `interstellar tune geography-S3 --architecture PTransE-add --trials 20 --out tuned`,
    `interstellar tune DBP-WD --architecture found --time 2h --device cuda --out tuned`.
    """
    from interstellar.workflow.searching import tune

    stop_on_sigterm()
    found = tune(
        reading.load(data),
        architecture,
        plan=plan,
        budget=budget,
        settings=settings,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
        workers=workers,
        engine=engine,
        ray_address=ray_address,
        **changes,
    )
    show_found(found, as_json=as_json)


def show_found(found: "SearchResult", *, as_json: bool) -> None:
    """Print what a search or a tuning found, and what followed it."""
    if as_json:
        final = {} if found.model is None else {"final": found.model.result}
        rival = {} if found.rival is None else {"rival": found.rival}
        print_json(found.result | rival | final)
        return
    show_winner(found)
    for split, metrics in ({} if found.model is None else found.model.metrics).items():
        print_fields({split: describe_metrics(metrics)})
    if found.model is not None:
        shown_by = found.model.path
        if found.is_beaten:
            name = found.model.result["architecture"]
            report(f"{name}, outside the search space, is better, and is in {shown_by}.")
            return
        n = found.n_joined
        joined = f", the sum of its networks of {n} seeds" if n > 1 else ""
        report(f"The winner is in {shown_by}{joined}; `interstellar show {shown_by}` shows it.")
        return
    use = f"--architecture {found.path} --settings {found.path}"
    report(f"The run is in {found.path}; `interstellar train DATA {use}` trains the winner.")


def show_winner(found: "SearchResult") -> None:
    """Print which network won, by how much, and what finding it took."""
    from interstellar.workflow.audience import describe_seconds
    from interstellar.workflow.search_progress import describe_changes

    best, result, finalists = found.best, found.result, found.finalists
    score = "none" if best.score is None else f"{best.score:.3f}"
    if finalists:
        scores = [run.score or 0.0 for run in finalists[0].runs.values()]
        score = f"{sum(scores) / len(scores):.3f} (mean of {len(scores)} seeds)"
    label = "best network" if found.is_beaten else "winner"
    shown = {label: best.formula, "code": str(best.code), "score": score}
    if settings := describe_changes(best.settings):
        shown["settings"] = settings
    gain = found.gain
    if gain is not None:
        shown["gain"] = describe_gain(gain)
    counts = ("trials", "reused", "failed", "stopped_early")
    shown |= {key: format_value(result[key]) for key in counts if result[key]}
    print_fields(shown | {"time": describe_seconds(result["seconds"])})


def describe_gain(gain: "Gain") -> str:
    """Return in words what was found over what everybody has."""
    name = gain.over.describe()["name"] or gain.over.formula
    if gain.points <= 0:
        return f"nothing better than {name} was found"
    spread = f"±{gain.spread:.1f}, {gain.n_seeds} seeds" if gain.spread is not None else "one seed"
    return f"+{gain.points:.1f} points over {name} ({spread})"
