"""`interstellar search` and `interstellar tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.data_commands import Data, Pairs, Second, SplitText
from interstellar.cli.experiment_options import (
    Dim,
    Epochs,
    Out,
    Precise,
    Resume,
    SettingsFile,
    stop_on_sigterm,
)
from interstellar.cli.output import AsJson, Seed, print_fields, print_json, report
from interstellar.cli.path_commands import Device
from interstellar.cli.training_commands import describe_metrics

if TYPE_CHECKING:
    from interstellar.workflow.found import Found
    from interstellar.workflow.model import Model

BUILT_IN = "geography-S3"

Trials = Annotated[int | None, typer.Option(help="Networks to train; 100 without --time.")]
TimeText = Annotated[str | None, typer.Option("--time", help="Such as 20m or 1h30m.")]
NWorkers = Annotated[
    int, typer.Option("--workers", min=1, help="Processes: one a GPU, or sharing the cores.")
]
Faithful = Annotated[
    bool, typer.Option("--faithful", help="Train hopeless trials to their end, as in the paper.")
]
TrialSettings = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE|RUN", help="Settings of each trial."),
]
TrialDim = Annotated[int | None, typer.Option(help="Numbers in an embedding, of each trial.")]
TrialEpochs = Annotated[int | None, typer.Option(help="At most so many, of each trial.")]
Select = Annotated[str | None, typer.Option("--select", help="Score: hits@1, mrr or auc_pr.")]


def search(
    out: Out,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Name of a set, folder, or file.")
    ] = BUILT_IN,
    strategy: Annotated[
        str, typer.Option(help="hybrid, random, reinforce, bayes, darts or one-shot.")
    ] = "hybrid",
    trials: Trials = None,
    time: TimeText = None,
    subspace: Annotated[str | None, typer.Option(help="P1, P2, P3 or P4; else all.")] = None,
    macro_only: Annotated[
        bool, typer.Option("--macro-only", help="Leave activations and trained matrices out.")
    ] = False,
    workers: NWorkers = 1,
    together: Annotated[
        int | None,
        typer.Option(min=1, help="Trials in one batched program; small graphs on a GPU: 16."),
    ] = None,
    faithful: Faithful = False,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Searches whose trials need not be repeated."),
    ] = None,
    try_first: Annotated[
        list[str] | None,
        typer.Option(metavar="ARCH", help="Train these before any is proposed; or `literature`."),
    ] = None,
    then_tune: Annotated[
        bool, typer.Option("--then-tune", help="Then tune the winner's settings, in RUN/tuning.")
    ] = False,
    tune_trials: Annotated[int | None, typer.Option(min=1, help="Of --then-tune; 50.")] = None,
    then_train: Annotated[
        bool, typer.Option("--then-train", help="Then train the winner finally, in RUN/final.")
    ] = False,
    finalists: Annotated[
        int, typer.Option(help="Train so many of the best finally; the best on validation wins.")
    ] = 1,
    macro_updates: Annotated[int | None, typer.Option(help="k1 of hybrid search; 1.")] = None,
    micro_epochs: Annotated[
        int | None, typer.Option(help="k2 of hybrid search; 1, or 0 for none.")
    ] = None,
    supernet_epochs: Annotated[
        int | None, typer.Option(help="Of darts and one-shot; 50, or what the trials are worth.")
    ] = None,
    shared_score: Annotated[
        str | None, typer.Option(help="What hybrid and one-shot compare by: loss or mrr; loss.")
    ] = None,
    select: Select = None,
    settings_file: TrialSettings = None,
    dim: TrialDim = None,
    epochs: TrialEpochs = None,
    precision: Precise = None,
    second: Second = None,
    pairs: Pairs = None,
    split: SplitText = None,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the architecture that learns a graph best.

    Examples: `interstellar search --trials 40 --out found`,
    `interstellar search my.tsv --time 20m --workers 2 --then-train --out found`,
    `interstellar search DBP-WD --trials 100 --device cuda --out found`,
    `interstellar search my.tsv --strategy bayes --try-first literature --out found`; stopped or
    killed, the same command with `--resume` goes on.
    """
    from interstellar.workflow.searching import search

    stop_on_sigterm()
    found = search(
        data,
        strategy=strategy,
        trials=trials,
        time=time,
        subspace=subspace,
        macro_only=macro_only,
        workers=workers,
        together=together,
        faithful=faithful,
        reuse=reuse or (),
        try_first=try_first or (),
        then_tune=then_tune,
        tune_trials=tune_trials,
        then_train=then_train,
        finalists=finalists,
        macro_updates=macro_updates,
        micro_epochs=micro_epochs,
        supernet_epochs=supernet_epochs,
        shared_score=shared_score,
        select=select,
        settings=settings_file,
        dim=dim,
        epochs=epochs,
        precision=precision,
        second=second,
        pairs=pairs,
        split=split,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
    )
    show_found(found, as_json=as_json)


def tune(
    data: Data,
    out: Out,
    architecture: Annotated[
        str,
        typer.Option(metavar="ARCH", help="A name, code, formula, JSON file, or a RUN."),
    ],
    trials: Annotated[int | None, typer.Option(help="Settings to try; 50 without --time.")] = None,
    time: TimeText = None,
    with_dim: Annotated[bool, typer.Option("--with-dim", help="Tune the dimension too.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave this setting as it is; may be given again."),
    ] = None,
    workers: NWorkers = 1,
    faithful: Faithful = False,
    select: Select = None,
    settings_file: SettingsFile = None,
    dim: Dim = None,
    epochs: Epochs = None,
    precision: Precise = None,
    second: Second = None,
    pairs: Pairs = None,
    split: SplitText = None,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the settings with which an architecture learns best, in the paper's ranges.

    learning_rate, l2 (weight decay), decay (of the rate), batch_size and dropout.
    Examples: `interstellar tune geography-S3 --architecture PTransE-add --trials 20 --out tuned`,
    `interstellar tune DBP-WD --architecture found --time 2h --device cuda --out tuned`.
    """
    from interstellar.workflow.searching import tune

    stop_on_sigterm()
    found = tune(
        data,
        architecture,
        trials=trials,
        time=time,
        with_dim=with_dim,
        keep=keep or (),
        workers=workers,
        faithful=faithful,
        select=select,
        settings=settings_file,
        dim=dim,
        epochs=epochs,
        precision=precision,
        second=second,
        pairs=pairs,
        split=split,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
    )
    show_found(found, as_json=as_json)


def show_found(found: "Found", *, as_json: bool) -> None:
    """Print what a search or a tuning found, and what followed it."""
    later: dict[str, Any] = {}
    if found.finalists:
        later["finalists"] = [model.result for model in found.finalists]
    if found.tuning is not None:
        later["tuning"] = found.tuning.result
    if found.model is not None:
        later["final"] = found.model.result
    if as_json:
        print_json(found.result | later)
        return
    best = found.best
    shown = {"best": best.formula, "code": found.result["best"]["code"]}
    shown |= {"score": f"{best.score:.4f}"}
    shown |= {key: f"{value:.4g}" for key, value in best.settings.items()}
    counts = ("trials", "distinct_trained", "reused", "failed", "stopped_early", "seconds")
    print_fields(shown | {key: found.result[key] for key in counts})
    for model in found.finalists:
        valid = describe_metrics(model.result["metrics"]["valid"])
        print_fields({f"finalist {describe(model)}": valid})
    if found.finalists and found.model is not None:
        print_fields({"winner": describe(found.model)})
    for split, metrics in later.get("final", {}).get("metrics", {}).items():
        print_fields({split: describe_metrics(metrics)})
    if best.settings:
        use = f"--architecture {found.path} --settings {found.path}"
        report(f"The run is in {found.path}; `interstellar train DATA {use}` trains with these.")
        return
    winner = found.path if found.model is None else found.model.path
    report(f"The run is in {found.path}; `interstellar show {winner}` shows the winner.")


def describe(model: "Model") -> str:
    """Return the network of a run in one line."""
    from interstellar.architecture.canonical_form import canonical_form
    from interstellar.architecture.notation import to_formula

    return to_formula(canonical_form(model.architecture))
