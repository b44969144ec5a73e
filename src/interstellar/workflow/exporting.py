"""`export`: the embeddings of a run in one file."""

from interstellar.inference.export import Exported
from interstellar.workflow.model import Model, open  # noqa: A004
from interstellar.workflow.run_place import StrPath


def export(
    run: Model | StrPath,
    path: StrPath,
    *,
    table: str | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write the embeddings of a model, or of the run in a folder, as `Model.export` does."""
    model = run if isinstance(run, Model) else open(run, device="cpu")
    return model.export(path, table=table, format=format, overwrite=overwrite)
