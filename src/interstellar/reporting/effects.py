"""What mattered in a search: the scores of the trials that took each option of each choice.

All are compared at the first rung, where all have come. `mean` is over the trials that took an
option, `error` the standard error of that mean. A search tries good options together, so `alone` is
what a ridge regression on single options gives, the other choices at their average. The least
biased search is `--strategy random --no-prune`.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from interstellar.architecture.propagation import CLAUSES
from interstellar.architecture.search_space import SearchSpace
from interstellar.runs.experiment import Experiment
from interstellar.runs.search_plan import SEARCHED, StrategyName
from interstellar.searching.rungs import Rungs
from interstellar.searching.settings_space import PATH_LENGTH
from interstellar.searching.surrogate import encode
from interstellar.searching.trial import Trial
from interstellar.searching.tried_network import Value, cell_of, searched_network
from interstellar.training.settings import TrainingSettings

PENALTY = 1.0
"""Of the regression: what a single trial says of an option counts half."""
MOST_OPTIONS = 6
"""Values of a setting that are options by themselves; more become `N_RANGES` ranges."""
N_RANGES = 3

Taken = Mapping[str, Value]
"""What a trial takes of each choice that makes a difference to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What the trials earned that took one option of a choice."""

    choice: str
    option: str
    n: int
    mean: float
    error: float | None
    """Of the mean; None: one trial says nothing of its spread."""
    alone: float


def effects_of(experiment: Experiment, trials: Sequence[Trial]) -> list[Effect]:
    """Return the effects in a search, or of the settings in a tuning."""
    compared = list(list_compared(experiment, trials))
    return find_effects([taken for taken, _ in compared], [score for _, score in compared])


def list_compared(experiment: Experiment, trials: Sequence[Trial]) -> Iterator[tuple[Taken, float]]:
    """Yield what each trial that was trained takes, and its score at the first rung."""
    plan, settings = experiment.plan, experiment.settings
    assert plan is not None
    rung = Rungs.of(settings, prune=plan.prune).epochs[0]
    is_tuning = plan.strategy is StrategyName.TUNE
    for trial in trials:
        if trial.result.reused is None and trial.result.is_comparable_at(rung):
            cell = {} if is_tuning else list_cell_options(trial)
            yield {**cell, **list_settings(trial, settings)}, trial.result.score_until(rung)


def list_cell_options(trial: Trial) -> dict[str, Value]:
    """Return what a trial's cell takes of each choice that makes a difference to it."""
    cell = zip(
        SearchSpace().choices(),
        encode(cell_of(searched_network(trial.point, trial.settings))),
        strict=True,
    )
    return {choice.name: _word(choice.options[i]) for choice, i in cell if i >= 0}


def list_settings(trial: Trial, own: TrainingSettings) -> dict[str, Value]:
    """Return the settings of a trial that a search or a tuning can change."""
    found: dict[str, Value] = {}
    for name in SEARCHED:
        if name in CLAUSES:
            if own.propagation is not None:
                found[name] = getattr(trial.network, name)
        elif name == PATH_LENGTH:
            found[name] = trial.settings.get(name, own.walk.length)
        else:
            found[name] = trial.settings.get(name, getattr(own, name))
    return found


def find_effects(taken: Sequence[Taken], scores: Sequence[float]) -> list[Effect]:
    """Return the effects of all options of choices that were taken in more than one way."""
    if len(scores) < 2:
        return []
    y, said = np.array(scores), _as_options(taken)
    options = list(dict.fromkeys(pair for options in said for pair in options.items()))
    X = np.array([[of_it.get(choice) == option for choice, option in options] for of_it in said])
    ridge = X.T @ X.astype(float) + PENALTY * np.eye(len(options))
    w = np.linalg.solve(ridge, X.T @ (y - y.mean()))
    found = []
    for j, (choice, option) in enumerate(options):
        others = [i for i, (name, _) in enumerate(options) if name == choice]
        n = X[:, others].sum(axis=0)
        if len(others) > 1:
            own = y[X[:, j]].tolist()
            error = statistics.stdev(own) / sqrt(len(own)) if len(own) > 1 else None
            alone = float(y.mean() + w[j] - n @ w[others] / n.sum())
            mean = statistics.mean(own)
            found.append(
                Effect(
                    choice=choice, option=option, n=len(own), mean=mean, error=error, alone=alone
                )
            )
    return sort_effects(found)


def sort_effects(effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects by choice, first the one whose options differ most, its best first."""
    by_choice: dict[str, list[Effect]] = {}
    for effect in effects:
        by_choice.setdefault(effect.choice, []).append(effect)

    def difference(options: list[Effect]) -> float:
        alone = [effect.alone for effect in options]
        return max(alone) - min(alone)

    groups = sorted(by_choice.values(), key=difference, reverse=True)
    return [effect for group in groups for effect in sorted(group, key=lambda e: -e.mean)]


def _as_options(taken: Sequence[Taken]) -> list[dict[str, str]]:
    """Return options as words; numbers of which there are many as the range they lie in."""
    bounds: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for of_it in taken for name in of_it):
        values = [of_it[name] for of_it in taken if name in of_it]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) == len(values) and len(set(numbers)) > MOST_OPTIONS:
            shares = [i / N_RANGES for i in range(N_RANGES + 1)]
            bounds[name] = np.quantile(numbers, shares, method="nearest").tolist()
    return [
        {name: _name_option(value, bounds.get(name)) for name, value in of_it.items()}
        for of_it in taken
    ]


def _name_option(value: Value, bounds: Sequence[float] | None) -> str:
    if bounds is None or isinstance(value, str):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    place = next(i for i in range(1, len(bounds)) if value <= bounds[i])
    return f"{bounds[place - 1]:.4g} to {bounds[place]:.4g}"


def _word(option: object) -> str:
    """Return an option in a word; that of a matrix says whether it is trained."""
    if isinstance(option, bool):
        return "trained" if option else "identity"
    return str(option)
