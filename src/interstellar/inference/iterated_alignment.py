"""Alignment in rounds: pairs that the network is sure of become seeds, and it trains on.

Round 0 is the run itself. Round i proposes seeds from the embeddings of round i - 1 and trains on
from its weights in `RUN/iterations/i`, a run folder like any other. A proposal is a mutual best
pair (each is the other's nearest) of entities without a known partner, as similar as it takes for
a given precision on the validation pairs. Sun et al. 2018 (BootEA) call this bootstrapping.

What decides and what does not:

- Test pairs decide nothing. Their entities are matched like any others, so a pair of them may be
  proposed, right or wrong, as the network sees it (transductive, as in BootEA).
- Validation pairs decide the threshold, the best round and when to stop. Their entities are
  proposed like any others too, also wrongly. Were they left out, they would stay as they were while
  all others are drawn to what was proposed for them, and would say nothing of these: neither how
  precise a threshold is nor which round is the best. What their truth decides is one number, the
  threshold; so far they are not quite fresh.
- Each round proposes anew. What was proposed before and is not found again is a seed no more.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from interstellar.data.graph import GraphPair, Pairs
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.matching import Quality
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.whole_alignment import FIRST, SECOND, AlignmentSettings, Asking, align
from interstellar.records.json_files import read_json, write_json
from interstellar.records.run_folder import RunFolder, holding_lock
from interstellar.records.safe_files import remove_drafts
from interstellar.runs.run import Result
from interstellar.runs.trained_run import TrainedRun, open_run
from interstellar.runs.training_run import train_run
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.training.loop import Observer, SilentObserver

ITERATIONS = "iterations"
"""Folder of the rounds, within that of the run."""
SETTINGS_FILE = "settings.json"
NO_NEW_PAIR = "no new pair was found"
VALIDATION_FELL = "validation fell"

_VERSION = 1
_SETTINGS_KIND = "iteration settings"
_PROPOSAL_KIND = "proposed seeds"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationSettings:
    """How pairs are proposed, and how long a round trains on."""

    epochs: int = 10
    """At most so many in a round."""
    decoding: Decoding = Decoding.CSLS
    """By what similarity entities are each other's nearest."""
    least_precision: float = 0.9
    """Share of right pairs, on validation, among those as similar as a proposal must be."""
    seed: int = 0
    """Breaks ties."""

    def __post_init__(self) -> None:
        if type(self.epochs) is not int or self.epochs < 1:
            raise SettingsError(
                f"epochs is {self.epochs!r}, but a round trains for at least one. Choose 1 or more."
            )
        self.asked()

    def asked(self) -> AlignmentSettings:
        """Return the alignment whose pairs are proposed."""
        return AlignmentSettings(
            decoding=self.decoding, asking=Asking.BOTH, least_precision=self.least_precision
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """Pairs that are to be seeds; no entity is in two of them."""

    pairs: Pairs
    threshold: float | None
    """That their similarities reach; None where no threshold is precise enough."""
    valid: Quality
    """Of the mutual best pairs that reach it, on the validation pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What came of a round."""

    round: int
    """0 is the run itself."""
    proposed: int
    """Seeds besides those given."""
    threshold: float | None
    right_on_valid: float | None
    """Share of right pairs among those of validation entities that reach the threshold."""
    valid: Mapping[str, float]
    test: Mapping[str, float] | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


Watch: TypeAlias = Callable[[], AbstractContextManager[Observer]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IteratedRun:
    """The best of all rounds, and how it was reached."""

    trained: TrainedRun
    """The network of the best round, with the graph of round 0: seeds are those given."""
    rounds: Sequence[Round]
    best_round: int
    stopped: str | None
    """Why there were fewer rounds than asked for, if so."""


def propose_seeds(
    graph: GraphPair, first: Tensor, second: Tensor, settings: IterationSettings
) -> Proposal:
    """Return the pairs of entities without a known partner that are to be seeds.

    `first` and `second` are the embeddings (n_entities, dim) of either graph's entities.
    """
    found = align(graph, first, second, settings.asked(), seed=settings.seed)
    return Proposal(
        pairs=found.pairs[~found.is_known],
        threshold=found.threshold if np.isfinite(found.threshold) else None,
        valid=found.valid,
    )


def add_seeds(graph: GraphPair, pairs: Pairs) -> GraphPair:
    """Return the graph with more seeds; entities keep their ids, and so their embeddings."""
    return replace(graph, train=np.concatenate([graph.train, pairs]))


def iterate_run(
    path: Path,
    *,
    n_rounds: int,
    device: torch.device,
    settings: IterationSettings | None = None,
    on_round: Callable[[Round], None] = lambda _: None,
    watch: Watch = lambda: nullcontext(SilentObserver()),
) -> IteratedRun:
    """Train a finished run on in rounds and return the best; goes on where it was stopped.

    There are fewer rounds than `n_rounds` where no new pair is found or validation falls by more
    than its standard error. Settings must be those of before where rounds were begun. `on_round`
    is told of rounds done before too; `watch` gives each round what is told of its steps.
    """
    settings = settings or IterationSettings()
    given = open_run(path, device)
    graph = alignment_of(given, path).graph
    metric = given.experiment.settings.metric
    training = replace(given.experiment.settings, max_epochs=settings.epochs)
    shorter = replace(given.experiment, settings=training)

    def train(out: Path, graph: GraphPair, initial: Mapping[str, Tensor]) -> Result:
        with watch() as observer:
            return train_run(
                shorter,
                out,
                device=device,
                graph=graph,
                initial=initial,
                resume=True,
                observer=observer,
            )

    rounds = [_describe(0, None, RunFolder.open(path).read_result())]
    with _writing(path / ITERATIONS, settings) as folder:
        for found in itertools.islice(_run_rounds(given, graph, folder, settings, train), n_rounds):
            rounds.append(found)
            on_round(found)
            if has_fallen(rounds, metric):
                break
    stopped = None
    if len(rounds) <= n_rounds:
        fell = len(rounds) > 1 and has_fallen(rounds, metric)
        stopped = VALIDATION_FELL if fell else NO_NEW_PAIR
    best = max(rounds, key=lambda found: found.valid[metric])  # the first of equals
    network = given.network
    if best.round:
        network = open_run(path / ITERATIONS / str(best.round), device).network
    return IteratedRun(
        trained=TrainedRun(given.experiment, given.task, network),
        rounds=rounds,
        best_round=best.round,
        stopped=stopped,
    )


def alignment_of(trained: TrainedRun, path: Path) -> EntityAlignment:
    """Return the task of a run that aligns two graphs; `path` is named where it does not."""
    if not isinstance(trained.task, EntityAlignment):
        raise SettingsError(
            f"{path} is a run of link prediction, which has one graph. "
            "Give a run that was trained on two graphs, or ask this one for predictions."
        )
    return trained.task


def refuse_round(path: Path) -> None:
    """Raise where a run is a round of another: its graph has proposed pairs among the seeds."""
    folder = path.resolve().parent
    if folder.name == ITERATIONS and (folder / SETTINGS_FILE).is_file():
        raise SettingsError(
            f"{path} is a round of the run {folder.parent}, and takes pairs as known that were "
            f"only proposed. Give that run, with {path.resolve().name} as `iterate`."
        )


def _run_rounds(
    given: TrainedRun,
    graph: GraphPair,
    folder: Path,
    settings: IterationSettings,
    train: Callable[[Path, GraphPair, Mapping[str, Tensor]], Result],
) -> Iterator[Round]:
    trained, before = given, set[tuple[int, ...]]()
    for number in itertools.count(1):
        proposal = _find_proposal(folder, number, graph, trained, settings)
        pairs = set(map(tuple, proposal.pairs.tolist()))
        if pairs <= before:
            return
        out = folder / str(number)
        parameters = {name: p.detach() for name, p in trained.network.named_parameters()}
        result = train(out, add_seeds(graph, proposal.pairs), parameters)
        yield _describe(number, proposal, result)
        trained, before = open_run(out, trained.network.device), pairs


def _describe(number: int, proposal: Proposal | None, result: Result) -> Round:
    threshold = None if proposal is None else proposal.threshold
    return Round(
        round=number,
        proposed=0 if proposal is None else len(proposal.pairs),
        threshold=threshold,
        right_on_valid=None if proposal is None or threshold is None else proposal.valid.precision,
        valid=result["metrics"]["valid"],
        test=result["metrics"]["test"],
        seconds=result["seconds"],
    )


def has_fallen(rounds: Sequence[Round], metric: str) -> bool:
    """Return whether the last round is worse than the best by more than its standard error.

    √(p (1 - p) / n) is that of Hits@1 on n pairs, and bounds that of MRR.
    """
    *earlier, last = rounds
    best = max((found.valid for found in earlier), key=lambda valid: valid[metric])
    p, n = best[metric], best["n"]
    return last.valid[metric] < p - math.sqrt(p * (1 - p) / n)


@contextmanager
def _writing(folder: Path, settings: IterationSettings) -> Iterator[Path]:
    """Give the folder of the rounds to one writer, who iterates as those before did."""
    file = folder / SETTINGS_FILE
    with _refusing_unwritable(folder):
        folder.mkdir(exist_ok=True)
    with holding_lock(folder / "run.lock"):
        remove_drafts(folder)
        if not file.exists():
            with _refusing_unwritable(file):
                write_json(file, asdict(settings), kind=_SETTINGS_KIND, version=_VERSION)
        begun = {"seed": 0} | read_json(file, kind=_SETTINGS_KIND, version=_VERSION)  # 0.1: no seed
        for name, value in asdict(settings).items():
            if begun.get(name) != value:
                raise SettingsError(
                    f"{folder} was begun with {name} = {begun.get(name)}, and now {value} is asked "
                    "for. Go on with the settings it was begun with, or move that folder away."
                )
        yield folder


def _find_proposal(
    folder: Path, number: int, graph: GraphPair, trained: TrainedRun, settings: IterationSettings
) -> Proposal:
    """Return what a round proposes; once drawn it is kept, so that a round goes on with it."""
    file = folder / f"proposed-{number}.json"
    if file.exists():
        return _read_proposal(file, graph)
    first, second = EntityAlignment(graph).tables(trained.subjects)
    proposal = propose_seeds(graph, first, second, settings)
    plain = {
        "threshold": proposal.threshold,
        "valid": proposal.valid.as_dict(),
        "first": proposal.pairs[:, FIRST],
        "second": proposal.pairs[:, SECOND],
    }
    with _refusing_unwritable(file):
        write_json(file, plain, kind=_PROPOSAL_KIND, version=_VERSION)
    return proposal


def _read_proposal(file: Path, graph: GraphPair) -> Proposal:
    plain: dict[str, Any] = read_json(file, kind=_PROPOSAL_KIND, version=_VERSION)
    try:
        sides = [np.array(plain[side], dtype=np.int32) for side in ("first", "second")]
        pairs = np.stack(sides, axis=1).reshape(-1, 2)
        threshold = None if plain["threshold"] is None else float(plain["threshold"])
        proposal = Proposal(pairs=pairs, threshold=threshold, valid=Quality(**plain["valid"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _altered(file, f"{type(error).__name__}: {error}") from None
    for side, entities in ((FIRST, graph.source.entities), (SECOND, graph.target.entities)):
        free = np.setdiff1d(np.arange(len(entities)), graph.train[:, side])
        ids = pairs[:, side]
        if len(np.unique(ids)) < len(ids) or not np.isin(ids, free).all():
            raise _altered(file, "an entity in it is unknown, there twice or a seed")
    return proposal


@contextmanager
def _refusing_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be written ({error.strerror}), but the rounds are kept within the run. "
            "Copy the run to where there is room and the right to write, and give the copy."
        ) from None


def _altered(file: Path, what: str) -> DataError:
    return DataError(
        f"{file} cannot be used ({what}): it was cut or altered. Take it from a copy, or move the "
        f"folder {file.parent.name} away to begin the rounds anew."
    )
