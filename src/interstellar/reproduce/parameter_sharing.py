"""Whether shared weights order architectures as training from scratch does.

The paper's study "Problem under parameter-sharing": architectures of the whole space, then micro
variants of the best macro network, each scored with the weights of a supernet and stand-alone.

| in the folder of the study | holds |
| --- | --- |
| `full/`, `micro/` | the stand-alone trainings, each the run of a random search |
| `full/shared.json`, `micro/shared.json` | the scores with shared weights, by code |
| `points.tsv` | both scores of every architecture |

Both scores belong to the architecture as it was drawn: other names of the same network have other
matrices to share.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TypeAlias

import torch

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import SettingsError
from interstellar.randomness import spawn
from interstellar.records.json_files import read_json, write_json
from interstellar.records.run_folder import refuse_existing
from interstellar.records.safe_files import replacing_file
from interstellar.reproduce.rank_correlation import RankCorrelation, correlate
from interstellar.runs.experiment import Experiment
from interstellar.runs.run import facts_of
from interstellar.runs.search_plan import Budget, SearchPlan, StrategyName
from interstellar.searching.judge import Judge
from interstellar.searching.search_loop import OnChange
from interstellar.searching.search_run import read_trials, search_run
from interstellar.searching.supernet import Supernet, train_uniformly
from interstellar.searching.workers import Workers

FULL, MICRO = "full", "micro"
SHARED_FILE, POINTS_FILE = "shared.json", "points.tsv"
KIND, VERSION = "shared scores", 1

Watch: TypeAlias = Callable[[], AbstractContextManager[OnChange | None]]
"""Gives, for each of the two searches, what is called whenever a trial begins or ends."""
OnNote: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingStudy:
    """What is compared, on what."""

    experiment: Experiment
    """Data, seed and the settings of both the supernet and the stand-alone trainings."""
    n_architectures: int = 100
    """Of each space; fewer where a macro network has fewer micro variants."""
    supernet_epochs: int
    macro: Macro | None = None
    """The macro network; None: that of the best stand-alone architecture of the whole space."""

    def __post_init__(self) -> None:
        if self.n_architectures < 2:
            raise SettingsError(
                f"{self.n_architectures} architectures were asked for, but an order needs at "
                "least 2. Raise `architectures`."
            )

    def search(self, macro: Macro | None) -> Experiment:
        """Return the search that trains architectures stand-alone: of all, or of one macro."""
        plan = SearchPlan(
            strategy=StrategyName.RANDOM,
            from_scratch=True,
            prune=False,
            macro=None if macro is None else code_text(Architecture(macro)),
        )
        return replace(self.experiment, plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingPoint:
    """One architecture with both scores, higher is better; None where there is none."""

    architecture: Architecture
    shared: float | None
    alone: float | None

    @property
    def has_failed(self) -> bool:
        """Whether a score is missing, so that the point has no place in an order."""
        return self.shared is None or self.alone is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All points of one space."""

    space: str
    """`full` or `micro`."""
    points: tuple[SharingPoint, ...]
    correlation: RankCorrelation
    """Of those that have not failed."""

    @property
    def n_failed(self) -> int:
        """Points that are left out of the correlation."""
        return sum(point.has_failed for point in self.points)


def study_sharing(
    study: SharingStudy,
    out: Path,
    *,
    workers: Workers,
    resume: bool = False,
    watch: Watch = nullcontext,
    on_note: OnNote = lambda _: None,
) -> tuple[Comparison, Comparison]:
    """Compare both scores in the whole space and among the variants of one macro network.

    `out` does not exist yet, or is with `resume` the folder of the same study. Supernets are
    trained in this process. `watch` shows the stand-alone trainings, `on_note` is told the rest.
    """
    refuse_other_folder(out, resume=resume)
    judge = Judge(study.search(None), workers.device)
    stage = _Stage(study, judge, workers, watch, on_note)
    full = stage.compare(None, study.n_architectures, out / FULL)
    macro = study.macro or best_macro(full.points)
    n_variants = count_variants(macro)
    if n_variants < study.n_architectures:
        on_note(
            f"The macro network of {code_text(Architecture(macro))} has {n_variants} different "
            f"micro variants, fewer than {study.n_architectures}: all of them are taken."
        )
    micro = stage.compare(macro, min(study.n_architectures, n_variants), out / MICRO)
    write_points((full, micro), out / POINTS_FILE)
    return full, micro


@dataclass(frozen=True, slots=True)
class _Stage:
    """What both halves of a study have in common."""

    study: SharingStudy
    judge: Judge
    workers: Workers
    watch: Watch
    on_note: OnNote

    def compare(self, macro: Macro | None, n: int, folder: Path) -> Comparison:
        """Score architectures stand-alone, then with shared weights, each unless it is done."""
        search = self.study.search(macro)
        with self.watch() as on_change:
            search_run(
                search,
                folder,
                budget=Budget(trials=n),
                workers=self.workers,
                resume=True,
                on_change=on_change,
            )
        facts = facts_of(self.judge.task.graph, self.judge.paths)
        trained = read_trials(folder, search, facts, self.judge.device)
        in_order = sorted(trained, key=lambda trial: trial.number)
        trials = [trial for trial in in_order if trial.result.reused is None][:n]
        shared = self._find_shared([trial.point for trial in trials], macro, folder)
        points = tuple(
            SharingPoint(architecture=trial.point, shared=score, alone=trial.score)
            for trial, score in zip(trials, shared, strict=True)
        )
        correlation = correlate_points(points, seed=self.study.experiment.seed)
        return Comparison(space=folder.name, points=points, correlation=correlation)

    def _find_shared(
        self, architectures: Sequence[Architecture], macro: Macro | None, folder: Path
    ) -> list[float | None]:
        """Return the scores with shared weights from their file, or make that file."""
        codes = [code_text(architecture) for architecture in architectures]
        n_epochs = self.study.supernet_epochs
        known = read_shared(folder / SHARED_FILE, n_epochs)
        if not known.keys() >= set(codes):
            self.on_note(f"Training the supernet of {folder.name} for {n_epochs} epochs.")
            scores = score_shared(self.judge, macro, architectures, n_epochs=n_epochs)
            known = dict(zip(codes, scores, strict=True))
            found = {"epochs": n_epochs, "scores": known}
            write_json(folder / SHARED_FILE, found, kind=KIND, version=VERSION)
        return [known[code] for code in codes]


def score_shared(
    judge: Judge, macro: Macro | None, architectures: Sequence[Architecture], *, n_epochs: int
) -> list[float | None]:
    """Train a supernet, each step with an architecture drawn uniformly, and score with it.

    In link prediction the score is the metric that selects, on the validation split; the paper
    takes a mini-batch of it. In entity alignment, where the architecture has no part in the
    metric, it is the negative loss on one mini-batch of training paths. None: not a finite number.
    """
    paths = torch.from_numpy(judge.paths.array).to(judge.device)
    supernet = Supernet(judge.task, judge.space, macro, judge.settings, paths, seed=judge.seed)
    train_uniformly(supernet, n_epochs=n_epochs, rng=spawn(judge.seed, "uniform supernet"))
    if isinstance(judge.task.graph, KnowledgeGraph):
        scores = [supernet.score(architecture) for architecture in architectures]
    else:
        scores = supernet.judge(architectures, spawn(judge.seed, "judged mini-batch"))
    return [score if isfinite(score) else None for score in scores]


def correlate_points(points: Sequence[SharingPoint], *, seed: int) -> RankCorrelation:
    """Return the rank correlation of both scores over the points that have both."""
    sound = [(p.shared, p.alone) for p in points if p.shared is not None and p.alone is not None]
    return correlate([shared for shared, _ in sound], [alone for _, alone in sound], seed=seed)


def best_macro(points: Sequence[SharingPoint]) -> Macro:
    """Return the macro level of the highest stand-alone score; of equal ones the first drawn."""
    scored = [point for point in points if point.alone is not None]
    assert scored, "a search without any score has raised"
    return max(scored, key=lambda point: point.alone or 0.0).architecture.macro


def count_variants(macro: Macro) -> int:
    """Return how many different networks have this macro level."""
    return len({canonical_form(Architecture(macro, micro)) for micro in SearchSpace().micros()})


def refuse_other_folder(out: Path, *, resume: bool) -> None:
    """Raise unless `out` is new or, where a study goes on, the folder of a study."""
    if not resume:
        refuse_existing(out)
    if (out / FULL).is_dir() or not out.exists():
        return
    # A study that was killed at once has left nothing, or a draft with a dot in front.
    if not out.is_dir() or not all(path.name.startswith(".") for path in out.iterdir()):
        raise SettingsError(
            f"{out} is no study of shared weights: it has no folder {FULL}. "
            "Give the folder of such a study as `out`, or a new one."
        )


def read_shared(file: Path, n_epochs: int) -> dict[str, float | None]:
    """Return the scores with shared weights by code; none where they were not computed yet."""
    if not file.is_file():
        return {}
    found = read_json(file, kind=KIND, version=VERSION)
    scores, before = found.get("scores"), found.get("epochs", n_epochs)  # version 0.1: unsaid
    if not isinstance(scores, dict):
        raise SettingsError(
            f"{file} holds no table of scores. Remove the file: it is then computed anew."
        )
    if before != n_epochs:
        raise SettingsError(
            f"{file} has scores of a supernet of {before} epochs, and now {n_epochs} are asked "
            "for. Resume with what the study was begun with, or choose a new folder as `out`."
        )
    return {code: None if score is None else float(score) for code, score in scores.items()}


def write_points(comparisons: Sequence[Comparison], file: Path) -> None:
    """Write both scores of every point as TSV; a score that is missing is empty."""
    rows = [("space", "code", "shared", "stand-alone")]
    for comparison in comparisons:
        for point in comparison.points:
            shared, alone = ("" if s is None else repr(s) for s in (point.shared, point.alone))
            rows.append((comparison.space, code_text(point.architecture), shared, alone))
    with replacing_file(file) as opened:
        opened.writelines("\t".join(row).encode() + b"\n" for row in rows)
