"""`interstellar search` and `interstellar tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.data_commands import Data, Pairs, Second, SplitText
from interstellar.cli.experiment_options import (
    Dim,
    Epochs,
    GivenData,
    Out,
    Precise,
    Resume,
    SettingsFile,
    parse_precision,
    parse_selection,
    read_architecture_option,
    stop_on_sigterm,
)
from interstellar.cli.output import AsJson, Seed, print_fields, print_json, report, training_bar
from interstellar.cli.path_commands import Device
from interstellar.cli.search_table import search_table
from interstellar.cli.training_commands import describe_metrics
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.search.budget import Budget
    from interstellar.search.search_experiment import SearchExperiment, StrategyName
    from interstellar.search.search_run import Workers
    from interstellar.training.settings import TrainingSettings

BUILT_IN = "geography-S3"
PAPER_TRIALS, TUNING_TRIALS = 100, 50
"""As in the paper."""

Trials = Annotated[int | None, typer.Option(help="Networks to train; 100 without --time.")]
TimeText = Annotated[str | None, typer.Option("--time", help="Such as 20m or 1h30m.")]
NWorkers = Annotated[
    int, typer.Option("--workers", min=1, help="Processes: one a GPU, or sharing the cores.")
]
Faithful = Annotated[
    bool, typer.Option("--faithful", help="Train hopeless trials to their end, as in the paper.")
]
Select = Annotated[str | None, typer.Option("--select", help="Score: hits@1, mrr or auc_pr.")]


def search(
    out: Out,
    data: Annotated[
        str, typer.Argument(metavar="[DATA]", help="Name of a set, folder, or file.")
    ] = BUILT_IN,
    strategy: Annotated[
        str, typer.Option(help="hybrid, random, reinforce, bayes, darts or one-shot.")
    ] = "hybrid",
    trials: Trials = None,
    time: TimeText = None,
    subspace: Annotated[str | None, typer.Option(help="P1, P2, P3 or P4; else all.")] = None,
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
    then_tune: Annotated[
        bool, typer.Option("--then-tune", help="Then tune the winner's settings, in RUN/tuning.")
    ] = False,
    tune_trials: Annotated[int, typer.Option(min=1, help="Of --then-tune.")] = TUNING_TRIALS,
    then_train: Annotated[
        bool, typer.Option("--then-train", help="Then train the winner finally, in RUN/final.")
    ] = False,
    macro_updates: Annotated[int, typer.Option(help="k1 of hybrid search.")] = 1,
    micro_epochs: Annotated[int, typer.Option(help="k2 of hybrid search; 0: none.")] = 1,
    supernet_epochs: Annotated[
        int | None, typer.Option(help="Of darts and one-shot; 50, or what the trials are worth.")
    ] = None,
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
    """Find the architecture that learns a graph best.

    Examples: `interstellar search --trials 40 --out found`,
    `interstellar search my.tsv --time 20m --workers 2 --then-train --out found`,
    `interstellar search DBP-WD --trials 100 --device cuda --out found`; stopped or killed, the
    same command with `--resume` goes on.
    """
    from interstellar.device import find_device
    from interstellar.search.procedure import tuned_settings
    from interstellar.search.search_experiment import ANY, SearchExperiment, SearchPlan
    from interstellar.search.search_run import Workers, search_run

    budget = read_budget(trials, time)
    name = choose_strategy(strategy)
    refuse_unused(strategy, "--macro-updates", ("hybrid",), is_given=macro_updates != 1)
    refuse_unused(strategy, "--micro-epochs", ("hybrid",), is_given=micro_epochs != 1)
    is_given = supernet_epochs is not None
    refuse_unused(strategy, "--supernet-epochs", ("darts", "one-shot"), is_given=is_given)
    where = Workers(device=find_device(device), n=workers)
    given = GivenData.load(data, second, pairs, split)
    settings = change_settings(
        given.search_settings(), settings_file, dim, epochs, precision, select
    )
    plan = SearchPlan(
        strategy=name,
        subspace=choose_subspace(subspace),
        macro_updates=macro_updates,
        micro_epochs=micro_epochs,
        supernet_epochs=choose_supernet_epochs(supernet_epochs, name, budget, settings),
        is_faithful=faithful,
        n_together=together or choose_together(given, settings, where),
    )
    experiment = given.experiment(architecture=ANY, seed=seed, settings=settings)
    wanted = SearchExperiment(experiment=experiment, plan=plan)
    stop_on_sigterm()
    with search_table(str(settings.selection)) as on_change:
        found = search_run(
            wanted,
            out,
            budget=budget,
            workers=where,
            graph=given.graph,
            is_resumed=resume,
            reuse=reuse or (),
            on_change=on_change,
        )
    final = given.final_settings()
    if then_tune:
        found["tuning"] = tune_found(wanted, found, final, out, tune_trials, where)
        final = tuned_settings(final, found["tuning"])
    if then_train:
        found["final"] = train_found(wanted, found, final, out, where)
    show_found(found, out, as_json=as_json)


def tune_found(
    wanted: "SearchExperiment",
    found: dict[str, Any],
    final: "TrainingSettings",
    out: Path,
    n_trials: int,
    where: "Workers",
) -> dict[str, Any]:
    """Tune the settings of what a search found, with a table of its own."""
    from interstellar.search.procedure import tune_winner

    with search_table(str(final.selection)) as on_change:
        return tune_winner(
            wanted, found, final, out, n_trials=n_trials, workers=where, on_change=on_change
        )


def train_found(
    wanted: "SearchExperiment",
    found: dict[str, Any],
    final: "TrainingSettings",
    out: Path,
    where: "Workers",
) -> dict[str, Any]:
    """Train what a search found, with a bar of its own."""
    from interstellar.search.procedure import train_winner

    with training_bar(final.max_epochs, str(final.selection)) as (on_step, on_epoch):
        return train_winner(
            wanted, found, final, out, workers=where, on_step=on_step, on_epoch=on_epoch
        )


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

    Learning rate, weight decay, decay of the rate, batch size and dropout.
    Examples: `interstellar tune geography-S3 --architecture PTransE-add --trials 20 --out tuned`,
    `interstellar tune DBP-WD --architecture found --time 2h --device cuda --out tuned`.
    """
    from interstellar.device import find_device
    from interstellar.search.search_experiment import SearchExperiment, SearchPlan, StrategyName
    from interstellar.search.search_run import Workers, search_run
    from interstellar.tasks.training_run import spell_out

    budget = read_budget(trials, time, otherwise=TUNING_TRIALS)
    where = Workers(device=find_device(device), n=workers)
    given = GivenData.load(data, second, pairs, split)
    settings = change_settings(
        given.final_settings(),
        settings_file,
        dim,
        epochs,
        precision,
        select,
    )
    experiment = given.experiment(
        architecture=read_architecture_option(architecture), seed=seed, settings=settings
    )
    plan = SearchPlan(strategy=StrategyName.TUNE, is_faithful=faithful, with_dim=with_dim)
    wanted = SearchExperiment(experiment=spell_out(experiment), plan=plan)
    stop_on_sigterm()
    with search_table(str(settings.selection)) as on_change:
        found = search_run(
            wanted,
            out,
            budget=budget,
            workers=where,
            graph=given.graph,
            is_resumed=resume,
            on_change=on_change,
        )
    show_found(found, out, as_json=as_json)


def read_budget(trials: int | None, time: str | None, otherwise: int = PAPER_TRIALS) -> "Budget":
    """Return the budget that flags give, or the paper's number of trials."""
    from interstellar.search.budget import Budget, read_time

    seconds = None if time is None else read_time(time)
    return Budget(
        trials=otherwise if trials is None and seconds is None else trials, seconds=seconds
    )


def refuse_unused(strategy: str, flag: str, meant: tuple[str, ...], *, is_given: bool) -> None:
    """Raise for a flag of some strategies that was given with another."""
    if is_given and strategy not in meant:
        raise SettingsError(
            f"{flag} was given, but it is for {' and '.join(meant)}, and the strategy is "
            f"{strategy}. Leave it out."
        )


def choose_strategy(text: str) -> Any:
    """Return the strategy that a flag names."""
    from interstellar.search.search_experiment import StrategyName

    names = [name for name in StrategyName if name is not StrategyName.TUNE]
    if text not in names:
        raise SettingsError(f"--strategy {text!r} is unknown. Choose {', '.join(names)}.")
    return StrategyName(text)


def choose_subspace(text: str | None) -> Any:
    """Return the subspace that a flag names, if any."""
    from interstellar.architecture.subspaces import read_subspace

    return None if text is None else read_subspace(text)


def change_settings(
    base: "TrainingSettings",
    settings_file: Path | None,
    dim: int | None,
    epochs: int | None,
    precision: str | None,
    select: str | None,
) -> "TrainingSettings":
    """Return settings with what flags and a file change."""
    from interstellar.training.experiment import read_settings
    from interstellar.training.settings import with_changes

    return with_changes(
        read_settings(settings_file, base) if settings_file else base,
        dim=dim,
        max_epochs=epochs,
        precision=parse_precision(precision),
        selection=parse_selection(select),
    )


def choose_supernet_epochs(
    given: int | None,
    strategy: "StrategyName",
    budget: "Budget",
    settings: "TrainingSettings",
    most: int = 50,
) -> int:
    """Return the epochs of a supernet: all trials but one of the budget are worth them.

    Strategies without such a supernet have one value, so that their budget can be raised.
    """
    from interstellar.search.search_experiment import StrategyName

    if given is not None:
        return given
    if budget.trials is None or strategy not in (StrategyName.DARTS, StrategyName.ONE_SHOT):
        return most
    return max(1, min(most, (budget.trials - 1) * settings.max_epochs))


def choose_together(given: GivenData, settings: "TrainingSettings", where: "Workers") -> int:
    """Return how many trials to train in one program: several only if a GPU gains from it."""
    from interstellar.tasks.task import network_size, task_for
    from interstellar.training.group_training import can_train_together

    if where.device.type != "cuda" or where.n > 1:
        return 1
    task = task_for(given.graph)
    size = network_size(task, settings.dim)
    return 16 if can_train_together(settings, task.form, size) else 1


def show_found(found: dict[str, Any], out: Path, *, as_json: bool) -> None:
    """Print what a search or a tuning found."""
    if as_json:
        print_json(found)
        return
    best = found["best"]
    shown = {"best": best["formula"], "code": best["code"], "score": f"{best['score']:.4f}"}
    if "settings" in best:
        shown |= {key: f"{value:.4g}" for key, value in best["settings"].items()}
    counts = ("trials", "distinct_trained", "reused", "failed", "stopped_early", "seconds")
    print_fields(shown | {key: found[key] for key in counts})
    for split, metrics in found.get("final", {}).get("metrics", {}).items():
        print_fields({split: describe_metrics(metrics)})
    report(f"The run is in {out}; `interstellar show {out}` shows the winner.")
