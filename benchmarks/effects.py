"""What mattered in a search: the score at the first rung with each option of each choice.

`mean` is that of the trials that took an option. A search tries good options together, so `alone`
is what a ridge regression on single options gives, the other choices at their average. Searches of
one graph are taken together; the least biased is `--strategy random --no-prune`.

    python benchmarks/effects.py RUN [RUN …] [--json FILE]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from interstellar.architecture.propagation import CLAUSES
from interstellar.architecture.search_space import SearchSpace
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_journal import trials_of
from interstellar.searching.surrogate import encode
from interstellar.searching.trial import Trial
from interstellar.searching.tried_network import cell_of
from interstellar.training.settings import TrainingSettings
from report import write_report

Effect: TypeAlias = tuple[str, str, int, float, float]
"""Choice, option, trials that took it, mean, alone."""
PENALTY = 1.0
"""Of the regression: what a single trial says of an option counts half."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of searches")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    tried = [pair for run in arguments.runs for pair in read_search(run)]
    effects = find_effects([taken for taken, _ in tried], np.array([score for _, score in tried]))
    for choice, option, n, mean, alone in effects:
        print(f"{choice:20} {option:15} {n:4}  mean {mean:.3f}  alone {alone:.3f}")
    write_report(arguments.json, {"runs": list(map(str, arguments.runs)), "effects": effects})


def read_search(path: Path) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the options of each trial, by their choices, and its score at the first rung."""
    run = RunFolder.open(path)
    experiment = read_experiment(run.experiment_file)
    assert experiment.plan is not None
    rung = Rungs.of(experiment.settings, prune=experiment.plan.prune).epochs[0]
    for trial in trials_of(run).trained:
        if trial.result.is_comparable_at(rung):
            yield list_options(trial, experiment.settings), trial.result.score_until(rung)


def list_options(trial: Trial, own: TrainingSettings) -> dict[str, str]:
    """Return what a trial takes of each choice that makes a difference to it."""
    cell = zip(SearchSpace().choices(), encode(cell_of(trial.network)), strict=True)
    found = {choice.name: str(choice.options[i]) for choice, i in cell if i >= 0}
    found |= {name: str(getattr(trial.network, name)) for name in CLAUSES if own.propagation}
    for name in ("dim", "learning_rate"):
        found[name] = str(trial.settings.get(name, getattr(own, name)))
    return found


def find_effects(taken: list[dict[str, str]], y: np.ndarray) -> list[Effect]:
    """Return the effects of all options of choices that were taken in more than one way."""
    options = sorted({pair for options in taken for pair in options.items()})
    X = np.array([[of_it.get(choice) == option for choice, option in options] for of_it in taken])
    ridge = X.T @ X.astype(float) + PENALTY * np.eye(len(options))
    w = np.linalg.solve(ridge, X.T @ (y - y.mean()))
    found = []
    for j, (choice, option) in enumerate(options):
        others = [i for i, (name, _) in enumerate(options) if name == choice]
        n = X[:, others].sum(axis=0)
        if len(others) > 1:
            mean, alone = y[X[:, j]].mean(), y.mean() + w[j] - n @ w[others] / n.sum()
            found.append((choice, option, int(X[:, j].sum()), float(mean), float(alone)))
    return found


if __name__ == "__main__":
    main()
