"""`interstellar align`: the whole alignment of two graphs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interstellar.cli.output import AsJson, Seed, print_fields, print_json
from interstellar.cli.path_commands import Device
from interstellar.cli.training_commands import choose
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.tasks.whole_alignment import AlignmentSettings


def align(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="File of pairs to write: Parquet if .parquet, else TSV."),
    ],
    decode: Annotated[
        str, typer.Option(help="cosine, csls, sinkhorn, hungarian or stable.")
    ] = "sinkhorn",
    top_k: Annotated[
        int | None, typer.Option("--top-k", metavar="N", help="List so many partners of each.")
    ] = None,
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one", help="Give no entity two partners.")
    ] = False,
    threshold: Annotated[
        str,
        typer.Option(
            metavar="auto|none|X",
            help="Leave pairs below X out; auto: X has the highest F1 on validation.",
        ),
    ] = "auto",
    direction: Annotated[
        str, typer.Option(help="Whose entities ask: first, second, or both (and must agree).")
    ] = "first",
    unmatched: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write who has no partner.")
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Align all entities of two graphs and write the pairs with their scores.

    Known pairs are taken as given and flagged; all other entities are aligned with each other.

    Examples: `interstellar align run --out pairs.tsv`,
    `interstellar align run --out pairs.parquet --decode csls --top-k 10 --threshold none`,
    `interstellar align run --out pairs.tsv --one-to-one --unmatched alone.tsv`.
    """
    from interstellar.device import find_device
    from interstellar.tasks.alignment_file import (
        refuse_unwritable,
        write_alignment,
        write_unmatched,
    )
    from interstellar.tasks.entity_alignment import EntityAlignment
    from interstellar.tasks.trained_run import open_run
    from interstellar.tasks.whole_alignment import KEEP_ALL, align

    settings = read_settings(decode, top_k, one_to_one, threshold, direction)
    trained = open_run(run, find_device(device))
    task = trained.task
    if not isinstance(task, EntityAlignment):
        raise SettingsError(
            f"{run} is a run of link prediction, which has one graph. "
            "Give a run that was trained on two graphs, or use `interstellar predict`."
        )
    for path in (out, unmatched):
        if path is not None:
            refuse_unwritable(task.graph, path)
    first, second = task.tables(trained.network.subjects)
    alignment = align(task.graph, first, second, settings, seed=seed)
    write_alignment(alignment, task.graph, out)
    if unmatched is not None:
        write_unmatched(alignment, task.graph, unmatched)
    fields = {
        "pairs": len(alignment.pairs),
        "known": int(alignment.is_known.sum()),
        "unmatched": len(alignment.unmatched),
        "path": str(out),
        "decode": str(settings.decoding),
        "direction": str(settings.asking),
        "threshold": None if alignment.threshold == KEEP_ALL else alignment.threshold,
    }
    qualities = {"valid": alignment.valid.as_dict(), "test": alignment.test.as_dict()}
    if as_json:
        print_json(fields | qualities)
        return
    print_fields(fields)
    for name, quality in qualities.items():
        print_fields({name: ", ".join(f"{key} {value:.4g}" for key, value in quality.items())})


def read_settings(
    decode: str, top_k: int | None, one_to_one: bool, threshold: str, direction: str
) -> "AlignmentSettings":
    """Return what kind of alignment the flags ask for."""
    from interstellar.evaluation.similarity import Decoding
    from interstellar.tasks.whole_alignment import AlignmentSettings, Asking

    return AlignmentSettings(
        decoding=Decoding(choose("decode", decode, Decoding)),
        top_k=top_k,
        is_one_to_one=one_to_one,
        asking=Asking(choose("direction", direction, Asking)),
        threshold=parse_threshold(threshold),
    )


def parse_threshold(text: str) -> float | None:
    """Return the threshold that a flag names: None for one to be chosen."""
    from interstellar.tasks.whole_alignment import KEEP_ALL

    match text:
        case "auto":
            return None
        case "none":
            return KEEP_ALL
    try:
        return float(text)
    except ValueError as error:
        raise SettingsError(
            f"--threshold {text!r} is neither auto, none nor a number. Choose one of these."
        ) from error
