"""`interstellar train`, `evaluate` and `update`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from interstellar.cli.evaluation_tables import (
    EVERY_DECODING,
    TOO_FEW_TO_CALIBRATE,
    show_calibration,
    show_decodings,
)
from interstellar.cli.flags import (
    READING,
    Data,
    Device,
    Flags,
    Out,
    Reading,
    Run,
    Seed,
    SettingsFile,
    stop_on_sigterm,
    with_flags,
)
from interstellar.cli.output import AsJson, format_value, print_fields, print_json, report
from interstellar.errors import SettingsError
from interstellar.training.settings_changes import SettingsChanges

SHOWN_NAMES = 10
"""Names without triplets that a person is shown; the JSON object has a thousand."""


@with_flags(changes=Flags(SettingsChanges, "Settings"), reading=READING)
def train(
    data: Data,
    out: Out,
    architecture: Annotated[
        str | None,
        typer.Option(
            metavar="ARCH",
            help="A name (`interstellar models` lists them), an 11-number code, a formula, a JSON "
            "file, or a RUN; "
            "a propagation has O_r = h ⊙ r where none is given.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="paper: the published architecture and settings of a set.")
    ] = None,
    settings: SettingsFile = None,
    *,
    changes: SettingsChanges,
    reading: Reading,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in RUN, also for more epochs.")
    ] = False,
    seed: Seed = 0,
    device: Device = "auto",
    processes: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Train with so many processes of this machine, which share the table of entities, "
            "each on a GPU if there are.",
        ),
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Train one architecture and say how good it is.

    Examples: `interstellar train geography-S1 --architecture ComplEx --out run`,
    `interstellar train geography-S1 --architecture NBFNet --out run`,
    `interstellar train DBP-WD --preset paper --device cuda --out run`,
    `interstellar train my.tsv --architecture RSN --dim 128 --epochs 20 --out run`.
    """
    from interstellar.workflow.training import train

    stop_on_sigterm()
    model = train(
        reading.load(data),
        architecture,
        preset=preset,
        settings=settings,
        out=out,
        resume=resume,
        seed=seed,
        device=device,
        processes=processes,
        **changes,
    )
    show_result(model.result, as_json=as_json)


def show_result(result: dict[str, Any], *, as_json: bool) -> None:
    """Print what came out of a training."""
    if as_json:
        print_json(result)
        return
    from interstellar.workflow.progress import describe_seconds, describe_step

    took = f"{describe_seconds(result['seconds'])}, {describe_step(result['step_ms'])}"
    print_fields({"best_epoch": result["best_epoch"], "epochs": result["epochs"], "time": took})
    for name, metrics in result["metrics"].items():
        print_fields({name: describe_metrics(metrics)})


def describe_metrics(metrics: Mapping[str, float] | None) -> str:
    """Return metrics in one line."""
    if metrics is None:
        return "nothing was held out"
    return ", ".join(f"{key} {format_metric(value)}" for key, value in metrics.items())


def format_metric(value: float) -> str:
    """Return a share as `0.941`, a mean rank or a count as people write it."""
    return f"{value:.3f}" if isinstance(value, float) and value <= 1 else format_value(value)


def evaluate(
    run: Run,
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
    graph: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="On another graph with its splits (model propagation)."),
    ] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Links: how far probabilities hold.")
    ] = False,
    negatives: Annotated[
        int | None,
        typer.Option(min=1, help="Links: rank among so many entities drawn at random (GraIL: 50)."),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a trained run.

    Examples: `interstellar evaluate run`,
    `interstellar evaluate run --calibration`,
    `interstellar evaluate run --graph other --negatives 50` (entities that training never saw),
    `interstellar evaluate run --decode csls --candidates all`,
    `interstellar evaluate run --decode all` (every decoding with both kinds of candidates).
    """
    from interstellar.workflow import model as models

    if decode == EVERY_DECODING and (candidates is not None or negatives is not None):
        raise SettingsError(
            "`decode` is all, which shows both kinds of candidates, none drawn. Leave "
            "`candidates` and `negatives` out, or name one decoding."
        )
    candidates = candidates or "reference"
    model = models.open(run, device=device, graph=graph)
    if decode == EVERY_DECODING:
        show_decodings(model, split, as_json=as_json)
        return
    metrics = model.evaluate(
        split=split, decode=decode, candidates=candidates, negatives=negatives, seed=seed
    )
    reliability = model.evaluate_calibration(split=split) if calibration else None
    if reliability is not None and model.predictor.temperature is None:
        report(TOO_FEW_TO_CALIBRATE)
    drawn = {} if negatives is None else {"negatives": negatives, "seed": seed}
    if as_json:
        chosen = {"split": split, "decode": decode, "candidates": candidates}
        shown = {} if reliability is None else {"calibration": reliability.as_dict()}
        print_json({"metrics": metrics, **chosen, **drawn, **shown})
        return
    print_fields({**{name: format_metric(value) for name, value in metrics.items()}, **drawn})
    if reliability is not None:
        show_calibration(reliability)


def update(
    run: Run,
    more: Annotated[
        str, typer.Argument(metavar="MORE", help="New triplets: a file, a folder or a name.")
    ],
    out: Annotated[Path, typer.Option(metavar="NEW", help="Folder of the updated run.")],
    graph: Annotated[
        str | None, typer.Option(help="Alignment: which graph grows, first (default) or second.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Alignment: pairs to add to those known.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="So many; 10 unless said, of a propagation none.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Of Adam, at first; that of the run unless said.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an update that was stopped, in NEW.")
    ] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Take new triplets, entities and relations into a trained run.

    Training goes on from the weights of RUN, in a new folder. What RUN holds out stays held out.

    Examples: `interstellar update run more.tsv --out newer`,
    `interstellar update run more.tsv --epochs 20 --out newer`,
    `interstellar update aligned more.tsv --graph second --pairs pairs.tsv --out newer`.
    """
    from interstellar.workflow import model as models

    stop_on_sigterm()
    updated = models.open(run, device=device).update(
        more,
        graph=graph,
        pairs=pairs,
        epochs=epochs,
        learning_rate=learning_rate,
        out=out,
        resume=resume,
    )
    show_update(updated.result, as_json=as_json)


def show_update(result: dict[str, Any], *, as_json: bool) -> None:
    """Print what was taken in, and what came out of the training."""
    from interstellar.data.spelling import quote

    taken = result["continued_from"]
    counts = {key: taken[key] for key in ("added", "new_entities", "new_relations")}
    names = taken["without_triplets"]
    if as_json:
        print_json(result | counts | {"without_triplets": names})
        return
    counts |= {key: taken[key] for key in ("known", "held_out")}
    if taken["added_pairs"] or taken["known_pairs"] or taken["held_out_pairs"]:
        counts["added_pairs"] = taken["added_pairs"]
    print_fields(counts | {"without_triplets": taken["n_without_triplets"]})
    if names:
        shown = ", ".join(map(quote, names[:SHOWN_NAMES]))
        more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
        report(f"note: no triplet names {shown}{more}: nothing can be learnt of them.")
    show_result(result, as_json=False)
