"""`interstellar export`: embeddings for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.output import AsJson, print_json, say


def export_embeddings(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")],
    out: Annotated[Path, typer.Option(help="File: .parquet, .tsv, .txt or .vec (word vectors).")],
    table: Annotated[
        str | None,
        typer.Option(
            help="subjects, objects, relations or all (the default; word vectors: subjects)."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(help="parquet, tsv or word2vec, where the file's ending does not say it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the embeddings of a run by name.

    Examples: `interstellar export run --out vectors.parquet`,
    `interstellar export run --out entities.vec --table subjects`.
    """
    from interstellar.tasks.embedding_export import export

    written = export(run, out, table=table, form=form)
    if as_json:
        print_json(
            {
                "entities": written.entities,
                "relations": written.relations,
                "dim": written.dim,
                "rows": written.rows,
                "tables": list(written.tables),
                "form": written.form,
                "path": str(written.path),
            }
        )
    else:
        say(
            f"{written.rows:,} vectors of {written.dim} numbers ({', '.join(written.tables)}) "
            f"were written to {written.path}."
        )
