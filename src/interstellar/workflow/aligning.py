"""What an alignment of a trained run may take besides: more rounds, a comparison, a warning."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from interstellar.data.graph import GraphPair
from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.approximate import require_usearch
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.alignment import Alignment
from interstellar.inference.iterated_alignment import (
    IteratedRun,
    IterationSettings,
    Round,
    alignment_of,
    iterate_run,
)
from interstellar.inference.whole_alignment import AlignmentSettings, align
from interstellar.runs.trained_run import TrainedRun
from interstellar.workflow.audience import Audience, describe_seconds, tell
from interstellar.workflow.bars import work_shown
from interstellar.workflow.progress import training_bar

NumberByName: TypeAlias = dict[str, float | int]

logger = logging.getLogger(__name__)

MANY_FOR_HUNGARIAN = 30_000
"""So many entities take a minute or more; the time grows with the cube."""
FEW_PAIRS = 20
"""Of validation; a threshold chosen on fewer is a matter of luck."""


def read_rounds(
    n_rounds: int | None, epochs: int | None, seed: int
) -> tuple[int, IterationSettings] | None:
    """Return how many rounds of training are asked for, and of what kind; None: no round."""
    if n_rounds is not None:
        return n_rounds, IterationSettings(epochs=10 if epochs is None else epochs, seed=seed)
    if epochs is not None:
        raise SettingsError(
            f"`epochs` is {epochs}, for the rounds of `iterate`, and none are asked for. "
            "Give `iterate` too, or leave `epochs` out."
        )
    return None


def align_run(
    path: Path,
    trained: TrainedRun,
    settings: AlignmentSettings,
    rounds: tuple[int, IterationSettings] | None,
    *,
    seed: int,
    audience: Audience,
) -> Alignment:
    """Align the two graphs of a run, after rounds of training if any are asked for."""
    if settings.is_approximate:
        require_usearch()
    task = alignment_of(trained, path)
    tell_beforehand(task.graph, settings, audience)
    iterated = None if rounds is None else train_in_rounds(path, trained, *rounds, audience)
    run = trained if iterated is None else iterated.trained
    with work_shown(audience):
        whole = align(task.graph, *task.tables(run.subjects), settings, seed=seed)
    return Alignment(graph=task.graph, whole=whole, settings=settings, iterated=iterated)


def train_in_rounds(
    path: Path, trained: TrainedRun, n_rounds: int, settings: IterationSettings, audience: Audience
) -> IteratedRun:
    """Train on in rounds, pairs found taken as known, and show each."""
    metric = trained.experiment.settings.metric

    def show_round(found: Round) -> None:
        tell(
            audience,
            f"round {found.round}: {found.proposed:,} pairs taken as known, "
            f"valid {metric} {found.valid[metric]:.3f}, {describe_seconds(found.seconds)}",
        )

    iterated = iterate_run(
        path,
        n_rounds=n_rounds,
        device=trained.network.device,
        settings=settings,
        on_round=show_round,
        watch=lambda: training_bar(settings.epochs, metric, audience),
    )
    if iterated.stopped is not None:
        tell(audience, f"stopped after round {iterated.rounds[-1].round}: {iterated.stopped}.")
    return iterated


def compare_decodings(
    evaluate: Callable[[Decoding, Candidates], NumberByName],
) -> dict[str, dict[str, NumberByName | None]]:
    """Return the metrics of every decoding with both kinds of candidates; None: it does not fit."""

    def evaluate_if_it_fits(decoding: Decoding, candidates: Candidates) -> NumberByName | None:
        try:
            return evaluate(decoding, candidates)
        except SettingsError as error:
            logger.warning("%s with %s candidates was left out: %s", decoding, candidates, error)
            return None

    return {
        decoding.value: {c.value: evaluate_if_it_fits(decoding, c) for c in Candidates}
        for decoding in Decoding
    }


def tell_beforehand(graph: GraphPair, settings: AlignmentSettings, audience: Audience) -> None:
    """Say what is to be known before an alignment that may take long, or is cut by luck."""
    n = len(graph.valid)
    if settings.threshold is None and n < FEW_PAIRS:
        tell(
            audience,
            f"note: the threshold is chosen on {n} validation {'pair' if n == 1 else 'pairs'} "
            "alone. With so few, look at the scores and give a `threshold` such as 0.5, or none "
            "to keep all.",
        )
    n_largest = max(len(graph.source.entities), len(graph.target.entities))
    if settings.decoding is Decoding.HUNGARIAN and n_largest > MANY_FOR_HUNGARIAN:
        tell(audience, describe_slow_matching(n_largest))


def describe_slow_matching(n: int) -> str:
    """Say how long the Hungarian method may take, by what 15,000 entities took."""
    minutes = (n / 15_000) ** 3 * 8.1 / 60
    return (
        f"note: Hungarian matching of {n:,} entities may take some {minutes:,.0f} minutes without "
        "a word: its time grows with the cube. Sinkhorn is usually as good and takes seconds on a "
        "GPU."
    )
