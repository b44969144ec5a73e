"""`interstellar export`: embeddings for other programs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.output import AsJson, print_json, say

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist.", show_default=False)
]


def export_embeddings(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    out: Annotated[
        Path, typer.Option(help="File: .parquet, .tsv, .csv, .txt or .vec (word vectors).")
    ],
    table: Annotated[
        str | None,
        typer.Option(
            help="subjects, objects, relations or all (the default; word vectors: subjects)."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="parquet, tsv, csv or word2vec, where the file's ending does not say."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the embeddings of a run by name.

    Examples: `interstellar export run --out vectors.parquet`,
    `interstellar export run --out entities.vec --table subjects`.
    """
    from interstellar.workflow.exporting import export

    written = export(run, out, table=table, format=format, overwrite=overwrite)
    if as_json:
        print_json(asdict(written) | {"form": written.format})  # the old name, for a release
    else:
        say(
            f"{written.rows:,} vectors of {written.dim} numbers ({', '.join(written.tables)}) "
            f"were written to {written.path}."
        )
