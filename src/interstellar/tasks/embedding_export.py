"""The embeddings of a trained run by name, in one file for other programs."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from interstellar.errors import SettingsError
from interstellar.records.safe_files import refuse_taken, replacing_file
from interstellar.tasks.embedding_files import EmbeddingForm, write_vectors
from interstellar.tasks.embedding_tables import Table, list_vectors
from interstellar.tasks.trained_run import TrainedRun, open_run

FORM_BY_SUFFIX = {
    ".parquet": EmbeddingForm.PARQUET,
    ".pq": EmbeddingForm.PARQUET,
    ".tsv": EmbeddingForm.TSV,
    ".txt": EmbeddingForm.WORD2VEC,
    ".vec": EmbeddingForm.WORD2VEC,
}

ALL_TABLES = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written, and of what network."""

    path: Path
    form: EmbeddingForm
    tables: tuple[Table, ...]
    rows: int
    entities: int
    """Of the network, of both graphs together; each has a row in every table of entities."""
    relations: int
    """Of the network, inverses left out."""
    dim: int


def export(
    run: TrainedRun | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    table: str | None = None,
    form: str | None = None,
) -> Exported:
    """Write the embeddings of a run into one file, whole or not at all.

    Args:
        run: A trained run, or its folder.
        path: The file to write or to replace.
        table: subjects, objects, relations, or all; unless said all, in a word-vector file the
            subjects, since there a name has one vector.
        form: parquet, tsv or word2vec; by the file's ending unless said.
    """
    out = Path(path)
    chosen = choose_form(out, form)
    tables = choose_tables(table, chosen)
    trained = run if isinstance(run, TrainedRun) else open_run(Path(run), torch.device("cpu"))
    refuse_taken(out, trained.experiment.sources)
    network = trained.network
    parts = [part for each in tables for part in list_vectors(each, network, trained.task.graph)]
    with replacing_file(out) as file:
        write_vectors(parts, file, chosen, dim=network.size.dim)
    return Exported(
        path=out,
        form=chosen,
        tables=tables,
        rows=sum(map(len, parts)),
        entities=network.size.n_entities,
        relations=network.size.n_relations,
        dim=network.size.dim,
    )


def choose_tables(table: str | None, form: EmbeddingForm) -> tuple[Table, ...]:
    """Return the tables that a word stands for, or those that a form holds unless said."""
    if table is None:
        table = Table.SUBJECTS if form is EmbeddingForm.WORD2VEC else ALL_TABLES
    if table not in (*Table, ALL_TABLES):
        raise SettingsError(
            f"table {table!r} is unknown. Choose {', '.join(Table)} or {ALL_TABLES}."
        )
    return tuple(Table) if table == ALL_TABLES else (Table(table),)


def choose_form(path: Path, form: str | None) -> EmbeddingForm:
    """Return the form that is asked for, or that the file's ending promises."""
    if form is not None:
        if form not in tuple(EmbeddingForm):
            raise SettingsError(f"form {form!r} is unknown. Choose {', '.join(EmbeddingForm)}.")
        return EmbeddingForm(form)
    found = FORM_BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        raise SettingsError(
            f"{path.name} ends in {path.suffix!r}, which is no form of embeddings. Use one of "
            f"{', '.join(FORM_BY_SUFFIX)}, or say the form: {', '.join(EmbeddingForm)}."
        )
    return found
