"""How much memory the embeddings of a training take, known before it begins.

A table exists several times: with its gradient and what the optimizer remembers, as it was after
the last epoch (that copy is made before the one of the epoch before goes), and at its best.
"""

from interstellar.errors import SettingsError
from interstellar.training.settings import ModelKind, Optimizer, TrainingSettings

FLOAT_BYTES = 4
N_TABLES = 2
"""Embeddings of an entity: as a subject and as an object."""


def count_copies(optimizer: Optimizer) -> int:
    """Return how often each parameter exists: 8 times with Adagrad, 11 with Adam."""
    n_moments = 2 if optimizer is Optimizer.ADAM else 1
    kept = 1 + n_moments
    return kept + 1 + 2 * kept + 1


def embedding_bytes(n_entities: int, settings: TrainingSettings) -> int:
    """Return what the embeddings of entities take in a training along walks; else 0."""
    if settings.model is not ModelKind.WALKS:
        return 0
    return FLOAT_BYTES * N_TABLES * settings.dim * n_entities * count_copies(settings.optimizer)


def refuse_too_large(n_entities: int, settings: TrainingSettings, free_bytes: int) -> None:
    """Raise where the embeddings do not fit, with the dimension that does."""
    needed = embedding_bytes(n_entities, settings)
    if needed <= free_bytes:
        return
    fitting = settings.dim * free_bytes // needed // 2 * 2
    advice = f"Lower dim to {fitting}" if fitting >= 2 else "Train a smaller graph"
    raise SettingsError(
        f"the embeddings of {n_entities:,} entities with dim {settings.dim} take "
        f"{needed / 2**30:.1f} GiB while they are trained with {settings.optimizer}, and "
        f"{free_bytes / 2**30:.1f} GiB are free. {advice}, or use a machine with more memory."
    )
