"""`interstellar update`: a finished run takes in new facts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from interstellar.cli.experiment_options import stop_on_sigterm
from interstellar.cli.output import AsJson, print_fields, print_json, report
from interstellar.cli.path_commands import Device
from interstellar.cli.training_commands import show_result

SHOWN_NAMES = 10
"""Names without triplets that a person is shown; the JSON object has a thousand."""


def update(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    more: Annotated[
        str, typer.Argument(metavar="MORE", help="New triplets: a file, a folder or a name.")
    ],
    out: Annotated[Path, typer.Option(metavar="NEW", help="Folder of the updated run.")],
    graph: Annotated[
        str | None, typer.Option(help="Alignment: which graph grows, first (default) or second.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Alignment: pairs that become seeds.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="So many; 10 unless said.")] = None,
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
    from interstellar.workflow import opening

    stop_on_sigterm()
    updated = opening.open(run, device=device).update(
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
        report(f"note: no triplet names {list_names(names)}: nothing can be learnt of them.")
    show_result(result, as_json=False)


def list_names(names: Sequence[str]) -> str:
    """Return the first of some names in quotes."""
    from interstellar.data.spelling import quote

    shown = ", ".join(map(quote, names[:SHOWN_NAMES]))
    n_more = len(names) - SHOWN_NAMES
    return shown if n_more <= 0 else f"{shown} and {n_more:,} more"
