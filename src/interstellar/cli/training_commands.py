"""`interstellar train` and `interstellar evaluate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from interstellar.cli.calibration_table import TOO_FEW_TO_CALIBRATE, show_calibration
from interstellar.cli.data_commands import Data, Pairs, Second, SplitText
from interstellar.cli.decoding_table import EVERY_DECODING, show_decodings
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
from interstellar.errors import SettingsError

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
    from interstellar.workflow.training import train

    stop_on_sigterm()
    model = train(
        data,
        architecture,
        preset=preset,
        settings=settings_file,
        dim=dim,
        batch_size=batch_size,
        learning_rate=learning_rate,
        dropout=dropout,
        epochs=epochs,
        precision=precision,
        negatives=negatives,
        second=second,
        pairs=pairs,
        split=split,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
    )
    show_result(model.result, as_json=as_json)


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
        str | None, typer.Option(help="Alignment: reference (as published; the default) or all.")
    ] = None,
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
    from interstellar.workflow import opening

    if decode == EVERY_DECODING and candidates is not None:
        raise SettingsError(
            "--decode all shows both kinds of candidates. Leave --candidates out, or name one "
            "decoding."
        )
    candidates = candidates or "reference"
    model = opening.open(run, device=device)
    if decode == EVERY_DECODING:
        show_decodings(model, split, as_json=as_json)
        return
    metrics = model.evaluate(split=split, decode=decode, candidates=candidates)
    reliability = model.evaluate_calibration(split=split) if calibration else None
    if reliability is not None and model.predictor.temperature is None:
        report(TOO_FEW_TO_CALIBRATE)
    if as_json:
        chosen = {"split": split, "decode": decode, "candidates": candidates}
        shown = {} if reliability is None else {"calibration": reliability.as_dict()}
        print_json({"metrics": metrics, **chosen, **shown})
        return
    print_fields(metrics)
    if reliability is not None:
        show_calibration(reliability)
