"""`interstellar search` and `interstellar tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.flags import (
    READING,
    Data,
    Device,
    Flags,
    Out,
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
from interstellar.training.settings import SettingsChanges

if TYPE_CHECKING:
    from interstellar.workflow.model import Model
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
        *("strategy", "subspace", "macro_only", "try_first", "prune", "together"),
        *("macro_updates", "micro_epochs", "supernet_epochs", "shared_score"),
    ),
    convert={"try_first": read_known},
    value_by_name={"try_first": "ARCH", "shared_score": "SCORE"},
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
TRIAL_SETTINGS = Flags(
    SettingsChanges, "Settings of each trial", only=("dim", "epochs", "metric", "precision")
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
    workers: Workers = 1,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="A search whose trials need not be repeated."),
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
    `interstellar search my.tsv --time 20m --workers 2 --then-train --out found`,
    `interstellar search DBP-WD --trials 100 --device cuda --out found`,
    `interstellar search my.tsv --strategy bayes --try-first literature --out found`.
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
        reuse=reuse or (),
        **changes,
    )
    show_found(found, as_json=as_json)


@with_flags(plan=TUNING_PLAN, budget=BUDGET, changes=TRIAL_SETTINGS, reading=READING)
def tune(
    data: Data,
    out: Out,
    architecture: Annotated[
        str, typer.Option(metavar="ARCH", help="A name, code, formula, JSON file, or a RUN.")
    ],
    *,
    plan: SearchPlan,
    budget: Budget | None,
    workers: Workers = 1,
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
        **changes,
    )
    show_found(found, as_json=as_json)


def show_found(found: "SearchResult", *, as_json: bool) -> None:
    """Print what a search or a tuning found, and what followed it."""
    if as_json:
        print_json(found.result | describe_later(found))
        return
    show_winner(found)
    for model in found.finalists:
        print_fields({f"finalist {describe(model)}": describe_metrics(model.metrics["valid"])})
    for split, metrics in ({} if found.model is None else found.model.metrics).items():
        print_fields({split: describe_metrics(metrics)})
    if found.best.settings:
        use = f"--architecture {found.path} --settings {found.path}"
        report(f"The run is in {found.path}; `interstellar train DATA {use}` trains with these.")
        return
    shown_by = found.path if found.model is None else found.model.path
    report(f"The run is in {found.path}; `interstellar show {shown_by}` shows the winner.")


def show_winner(found: "SearchResult") -> None:
    """Print which network won, and what finding it took."""
    from interstellar.workflow.progress import describe_seconds

    best, result = found.best, found.result
    if found.model is None:
        score = "none" if best.score is None else f"{best.score:.3f}"
        shown = {"best": best.formula, "code": str(best.code), "score": score}
        shown |= {key: format_value(value) for key, value in best.settings.items()}
    else:
        shown = {"winner": describe(found.model)}
    counts = ("trials", "distinct_trained", "reused", "failed", "stopped_early")
    shown |= {key: format_value(result[key]) for key in counts}
    print_fields(shown | {"time": describe_seconds(result["seconds"])})


def describe_later(found: "SearchResult") -> dict[str, Any]:
    """Return what followed a search, whole."""
    later = {
        "finalists": [model.result for model in found.finalists],
        "tuning": None if found.tuning is None else found.tuning.result,
        "final": None if found.model is None else found.model.result,
    }
    return {name: result for name, result in later.items() if result}


def describe(model: "Model") -> str:
    """Return the network of a run in one line."""
    from interstellar.architecture.canonical_form import canonical_form
    from interstellar.architecture.notation import to_formula

    return to_formula(canonical_form(model.architecture))
