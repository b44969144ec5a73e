"""`interstellar align`: the whole alignment of two graphs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.export_commands import Overwrite
from interstellar.cli.flags import Device, stop_on_sigterm
from interstellar.cli.output import AsJson, print_fields, print_json

if TYPE_CHECKING:
    from interstellar.inference.alignment import Alignment


def align(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File of pairs to write: .parquet, .csv, else TSV.")
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
    approximate: Annotated[
        bool,
        typer.Option(
            "--approximate", help="With cosine or csls: do not compare all with all (extra ann)."
        ),
    ] = False,
    threshold: Annotated[
        str,
        typer.Option(
            metavar="auto|none|X",
            help="Leave pairs below X out; auto: X has the highest F1 on validation.",
        ),
    ] = "auto",
    direction: Annotated[
        str, typer.Option(help="Whose entities ask: source, target, or both (and must agree).")
    ] = "source",
    unmatched: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write who has no partner.")
    ] = None,
    overwrite: Overwrite = False,
    iterate: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="First train on in up to N rounds, taking sure pairs as known."
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of a round of --iterate, at most so many."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Breaks ties.")] = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Align all entities of two graphs and write the pairs with their scores.

    Pairs it was trained with are taken as given and flagged; all other entities, those of the
    pairs held out too, are aligned with each other.
    Rounds of `--iterate` are kept in RUN/iterations; the same command again goes on with them.

    Examples: `interstellar align run --out alignment.tsv`,
    `interstellar align run --out alignment.parquet --decode csls --top-k 10 --threshold none`,
    `interstellar align run --out alignment.tsv --one-to-one --unmatched alone.tsv`,
    `interstellar align run --out alignment.tsv --iterate 3`.
    """
    from interstellar.data.graph import GraphPair
    from interstellar.inference.alignment import refuse_files
    from interstellar.workflow import model as models

    stop_on_sigterm()
    model = models.open(run, device=device)
    if isinstance(model.graph, GraphPair):
        sources = model.trained.experiment.sources
        refuse_files(model.graph, out, unmatched, inputs=sources, overwrite=overwrite)
    alignment = model.align(
        decode=decode,
        top_k=top_k,
        one_to_one=one_to_one,
        approximate=approximate,
        threshold=threshold,
        direction=direction,
        iterate=iterate,
        epochs=epochs,
        seed=seed,
    )
    alignment.save(out, unmatched=unmatched, overwrite=overwrite)
    _show(alignment, out, as_json=as_json)


def _show(alignment: "Alignment", out: Path, *, as_json: bool) -> None:
    """Print how many pairs there are, and how good they are on what was held out."""
    fields: dict[str, Any] = {
        "pairs": len(alignment),
        "known": int(alignment.whole.is_known.sum()),
        "unmatched": len(alignment.whole.unmatched),
        "path": str(out),
        "decode": str(alignment.settings.decoding),
        "direction": str(alignment.settings.asking),
        "threshold": alignment.threshold,
    }
    qualities = {"valid": alignment.valid.as_dict(), "test": alignment.test.as_dict()}
    if alignment.settings.is_approximate:
        fields["approximate"] = True
    iterated = alignment.iterated
    if iterated is not None:
        fields["best_round"] = iterated.best_round
    if as_json and iterated is not None:
        fields["rounds"] = [found.as_dict() for found in iterated.rounds]
        fields["stopped"] = iterated.stopped
    if as_json:
        print_json(fields | qualities)
        return
    print_fields(fields)
    for name, quality in qualities.items():
        print_fields({name: ", ".join(f"{key} {value:.4g}" for key, value in quality.items())})
