"""`interstellar train` and `interstellar evaluate`."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.calibration_table import measure_calibration, show_calibration
from interstellar.cli.data_commands import Data, Pairs, Second, SplitText
from interstellar.cli.decoding_table import EVERY_DECODING, measure_decoding, show_decodings
from interstellar.cli.experiment_options import (
    Dim,
    Epochs,
    GivenData,
    Out,
    Precise,
    Resume,
    SettingsFile,
    parse_precision,
    read_architecture_option,
    stop_on_sigterm,
)
from interstellar.cli.output import AsJson, Seed, print_fields, print_json, training_bar
from interstellar.cli.path_commands import Device
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.training.settings import TrainingSettings

ArchitectureText = Annotated[
    str | None,
    typer.Option(
        "--architecture",
        metavar="ARCH",
        help="A name (TransE), an 11-number code, a formula, a JSON file, or a RUN.",
    ),
]


def train(
    data: Data,
    out: Out,
    architecture: ArchitectureText = None,
    preset: Annotated[
        str | None, typer.Option(help="paper: the published architecture and settings of a set.")
    ] = None,
    settings_file: SettingsFile = None,
    second: Second = None,
    pairs: Pairs = None,
    split: SplitText = None,
    dim: Dim = None,
    batch_size: Annotated[int | None, typer.Option(help="Paths in a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam, at first.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Share of outputs zeroed.")] = None,
    epochs: Epochs = None,
    precision: Precise = None,
    negatives: Annotated[
        int | None, typer.Option(help="Sampled softmax with so many; else the full one.")
    ] = None,
    resume: Resume = False,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Train one architecture and say how good it is.

    Examples: `interstellar train geography-S1 --architecture ComplEx --out run`,
    `interstellar train DBP-WD --preset paper --device cuda --out run`,
    `interstellar train my.tsv --architecture RSN --dim 128 --epochs 20 --out run`.
    """
    from interstellar.device import find_device
    from interstellar.tasks.training_run import train_run
    from interstellar.training.experiment import read_settings
    from interstellar.training.settings import with_changes

    chosen_device = find_device(device)
    base, published = choose_preset(preset, data)
    if architecture is None and published is None:
        raise SettingsError(
            "no architecture was given. Give --architecture, for instance ComplEx, or --preset "
            "paper for a published set."
        )
    given = GivenData.load(data, second, pairs, split)
    base = base or given.final_settings()
    settings: TrainingSettings = with_changes(
        read_settings(settings_file, base) if settings_file else base,
        dim=dim,
        batch_size=batch_size,
        learning_rate=learning_rate,
        dropout=dropout,
        max_epochs=epochs,
        precision=parse_precision(precision),
        n_negatives=negatives,
    )
    experiment = given.experiment(
        architecture=read_architecture_option(architecture or published or ""),
        seed=seed,
        settings=settings,
    )
    stop_on_sigterm()
    with training_bar(settings.max_epochs, str(settings.selection)) as (on_step, on_epoch):
        result = train_run(
            experiment,
            out,
            device=chosen_device,
            graph=given.graph,
            is_resumed=resume,
            on_step=on_step,
            on_epoch=on_epoch,
        )
    show_result(result, as_json=as_json)


def choose_preset(
    preset: str | None, data: str
) -> tuple["TrainingSettings", str] | tuple[None, None]:
    """Return the settings and the architecture that a preset stands for, if one is asked for."""
    from interstellar.training.presets import paper_preset

    if preset is None:
        return None, None
    if preset != "paper":
        raise SettingsError(f"--preset {preset!r} is unknown. There is `paper`.")
    row = paper_preset(data)
    return row.settings, row.architecture


def show_result(result: dict[str, Any], *, as_json: bool) -> None:
    """Print what came out of a training."""
    if as_json:
        print_json(result)
        return
    print_fields({key: result[key] for key in ("best_epoch", "epochs", "seconds", "step_ms")})
    for name, metrics in result["metrics"].items():
        print_fields({name: describe_metrics(metrics)})


def describe_metrics(metrics: Mapping[str, float] | None) -> str:
    """Return metrics in one line."""
    if metrics is None:
        return "nothing was held out"
    return ", ".join(f"{key} {value:.4g}" for key, value in metrics.items())


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    split: Annotated[str, typer.Option(help="valid or test.")] = "test",
    decode: Annotated[
        str,
        typer.Option(
            help="Alignment: cosine, csls, sinkhorn, hungarian or stable (hits@1 alone); or all."
        ),
    ] = "cosine",
    candidates: Annotated[
        str, typer.Option(help="Alignment: reference (as published) or all.")
    ] = "reference",
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Links: how far probabilities hold.")
    ] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a trained run.

    Examples: `interstellar evaluate run`,
    `interstellar evaluate run --calibration`,
    `interstellar evaluate run --decode csls --candidates all`,
    `interstellar evaluate run --decode all` (every decoding with both kinds of candidates).
    """
    from interstellar.device import find_device
    from interstellar.evaluation.alignment import Candidates
    from interstellar.evaluation.similarity import Decoding
    from interstellar.tasks.splits import Split
    from interstellar.tasks.trained_run import open_run

    if decode == EVERY_DECODING:
        chosen_split = Split(choose("split", split, Split))
        show_decodings(open_run(run, find_device(device)), chosen_split, as_json=as_json)
        return
    chosen = {
        name: choose(name, text, kind)
        for name, text, kind in (
            ("split", split, Split),
            ("decode", decode, Decoding),
            ("candidates", candidates, Candidates),
        )
    }
    trained = open_run(run, find_device(device))
    metrics = measure_decoding(
        trained,
        Split(chosen["split"]),
        Candidates(chosen["candidates"]),
        Decoding(chosen["decode"]),
    )
    reliability = measure_calibration(run, trained, Split(chosen["split"])) if calibration else None
    if as_json:
        shown = {} if reliability is None else {"calibration": reliability.as_dict()}
        print_json({"metrics": metrics, **chosen, **shown})
        return
    print_fields(metrics)
    if reliability is not None:
        show_calibration(reliability)


def choose(flag: str, text: str, kind: type[StrEnum]) -> str:
    """Return a choice given by name, or say which there are."""
    if text not in [member.value for member in kind]:
        raise SettingsError(f"--{flag} {text!r} is unknown. Choose {' or '.join(kind)}.")
    return text
