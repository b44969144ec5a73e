"""Finalists: the best trials, trained with several seeds as long as there is time for.

The top of a search is the luckiest of many noisy scores. So the best few, and the best known model
among what was tried, are repeated with other seeds, and the mean on the validation split decides.
All are trained as far as the best can be trained and repeated in time, the best first, so that its
networks of several seeds can be joined.
"""

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from interstellar.architecture.propagation import CLAUSES
from interstellar.searching.rungs import Rungs
from interstellar.searching.settings_space import PATH_LENGTH
from interstellar.searching.trial import Trial
from interstellar.searching.trials import Trials
from interstellar.searching.tried_network import published_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalist:
    """A trial with its scores under several seeds."""

    trial: Trial
    runs: Mapping[int | None, Trial]
    """Itself, under None, and its repetitions by their seeds."""
    compared_epochs: int | None = None
    """So far all that it is compared with were trained; None: to their end."""

    @property
    def scores(self) -> dict[int | None, float]:
        """The scores by seed, as far as all that it is compared with were trained."""
        return {
            seed: run.result.score_until(self.compared_epochs or run.result.epochs)
            for seed, run in self.runs.items()
        }

    @property
    def best_run(self) -> Trial:
        """The run that is best on the validation split."""
        return max(self.runs.values(), key=lambda run: run.score or 0.0)

    def mean(self, seeds: Collection[int | None]) -> float:
        """Return the mean score over some seeds."""
        scores = self.scores
        return statistics.mean(scores[seed] for seed in seeds)

    def describe(self) -> dict[str, Any]:
        scores = list(self.scores.values())
        return self.trial.describe() | {"scores": scores, "mean": statistics.mean(scores)}


def choose_finalists(trials: Trials, n: int) -> list[Trial]:
    """Return the best trials, the best known model among or beside them, early in either case."""
    best, baselines = trials.ranked[:n], list_baselines(trials)[:1]
    return list({trial.number: trial for trial in [*best[:1], *baselines, *best]}.values())


def highest_rung(rungs: Rungs, trial: Trial, seconds_left: float | None) -> int:
    """Return the highest rung to which a trial can be trained, and repeated once, in time."""
    n_done, epoch_seconds = trial.result.epochs, trial.result.seconds_of_epoch
    for rung in reversed(rungs.epochs):
        n_more = 0 if trial.result.is_complete else max(0, rung - n_done)
        n_again = min(rung, n_done) if trial.result.is_complete else rung
        if seconds_left is None or (n_more + n_again) * epoch_seconds < seconds_left:
            return rung
    return rungs.epochs[0]


def list_baselines(trials: Trials) -> list[Trial]:
    """Return the trials of models with a name under the graph's own settings, the best first.

    Those that differ only on longer paths were tried on these. A propagation with a name has that
    at every depth.
    """
    own = [trial for trial in trials.ranked if set(trial.settings) <= {PATH_LENGTH, *CLAUSES}]
    return [trial for trial in own if published_name(trial.network) is not None]


def list_finalists(trials: Trials) -> list[Finalist]:
    """Return the trials that were repeated, the best by their mean over common seeds first."""
    runs: dict[int, dict[int | None, Trial]] = {}
    rung = common_epochs(repeat for repeat in trials.repeats if repeat.result.is_comparable)
    for repeat in trials.repeats:
        original = trials.find(replace(repeat, seed=None).key)
        if original is not None and all(
            t.result.is_comparable_at(rung) for t in (original, repeat)
        ):
            runs.setdefault(original.number, {None: original})[repeat.seed] = repeat
    epochs = common_epochs(run for of_it in runs.values() for run in of_it.values())
    found = [
        Finalist(trial=trials[number], runs=of_it, compared_epochs=epochs)
        for number, of_it in runs.items()
    ]
    seeds = common_seeds(found)
    return sorted(found, key=lambda finalist: -finalist.mean(seeds))


def common_epochs(runs: Iterable[Trial]) -> int | None:
    """Return how far all runs were trained; None: each to its end."""
    return min((run.result.epochs for run in runs if not run.result.is_complete), default=None)


def common_seeds(finalists: Sequence[Finalist]) -> list[int | None]:
    """Return the seeds that all finalists have; always that of the search, which is None."""
    shared = set[int | None]({None}).union(*(f.runs for f in finalists))
    return [seed for seed in shared if all(seed in f.runs for f in finalists)]


def find_winner(trials: Trials) -> Trial | None:
    """Return what a search found best: the first finalist, or else the highest score."""
    finalists = list_finalists(trials)
    return finalists[0].trial if finalists else trials.best


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What the winner is ahead of the best known model."""

    over: Trial
    points: float
    """Difference of the scores, in hundredths; 0 where the known model is the winner."""
    spread: float | None
    """The standard error of that, where there are several seeds."""
    n_seeds: int

    def describe(self) -> dict[str, Any]:
        name, formula = self.over.describe()["name"], self.over.formula
        spread = None if self.spread is None else round(self.spread, 3)
        return {
            "over": {"name": name, "formula": formula},
            "points": round(self.points, 3),
            "spread": spread,
            "seeds": self.n_seeds,
        }


def find_gain(trials: Trials) -> Gain | None:
    """Return the gain of the winner over the best known model; None: no known model was tried.

    Both are compared seed by seed where both were repeated, else by the seed of the search.
    """
    winner, baselines = find_winner(trials), list_baselines(trials)
    if winner is None or not baselines:
        return None
    repeated = {f.trial.number: f for f in list_finalists(trials)}  # the best mean first
    known = {trial.number for trial in baselines}
    baseline = trials[next((n for n in repeated if n in known), baselines[0].number)]
    pair = [repeated.get(t.number, Finalist(trial=t, runs={None: t})) for t in (winner, baseline)]
    seeds = common_seeds(pair)
    ours, theirs = ([f.scores[seed] for seed in seeds] for f in pair)
    gains = [100 * (a - b) for a, b in zip(ours, theirs, strict=True)]
    spread = statistics.stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else None
    return Gain(over=baseline, points=statistics.mean(gains), spread=spread, n_seeds=len(seeds))
