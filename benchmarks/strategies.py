"""The strategies against each other: best score so far after each trial, over several seeds.

All searches (strategy × seed) go in lockstep: in each round every search has one network to be
trained from scratch, and those that no search has met before are trained, each once.

- A network is trained under its canonical name, with the training seed 0 and the paths of seed 0,
  whoever proposes it. So its score is the same in every search, and is computed once. What
  differs from seed to seed is what a strategy draws, and everything random in its supernets.
- A trial is a network that is new to its search, as in `interstellar search`: one that another
  search has trained is a trial too, one that it has met itself is not. Supernets are no trials.
- Nothing is stopped early, and everything is trained in float32 under the same settings.
- A failed network earns 0. A search that has ended keeps its best: DARTS and one-shot, which have
  one trial, are horizontal lines.

With `--state FILE` all that was trained is kept there; the same command goes on where it was
stopped or killed, at most one network is trained again.

    python benchmarks/strategies.py --device cuda --state state.jsonl --json all.json --svg all.svg
    python benchmarks/strategies.py --device cpu --seeds 2 --trials 6 --epochs 3 --supernet-epochs 2
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import torch

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import code_text, from_code_text
from interstellar.data.graph import task_of
from interstellar.device import find_device
from interstellar.records.journal import Journal
from interstellar.runs.experiment import ANY, Experiment
from interstellar.runs.run import name_device
from interstellar.runs.search_plan import STRATEGIES, SearchPlan, SharedScore, StrategyName
from interstellar.searching.judge import Judge
from interstellar.searching.search_loop import MAX_REPEATS
from interstellar.searching.search_run import build_strategy
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.training.presets import search_settings
from interstellar.training.settings import Precision, TrainingSettings, with_changes

TRAINING_SEED = 0
SUPERNETS = (StrategyName.DARTS, StrategyName.ONE_SHOT)

Curve: TypeAlias = list[float]
"""The best score so far after each trial."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="geography-S3")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--strategies", nargs="+", type=StrategyName, default=STRATEGIES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--supernet-epochs", type=int, default=20, help="of darts and one-shot")
    parser.add_argument("--shared-score", type=SharedScore, default=SharedScore.LOSS)
    parser.add_argument("--epochs", type=int, help="instead of those of the settings")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--state", type=Path, help="where all that was trained is kept")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path, help="plot; PNG where the name ends so")
    arguments = parser.parse_args()
    if StrategyName.TUNE in arguments.strategies:
        parser.error("tune proposes settings, not architectures")
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        state = arguments.state or Path(folder) / "state.jsonl"
        with Journal.open(state) as journal:
            figures = compare(arguments, journal)
    print(json.dumps({key: figures[key] for key in figures if key != "strategies"}, indent=1))
    for name, of_strategy in figures["strategies"].items():
        print(f"{name:10} {of_strategy['mean'][-1]:.4f} ± {of_strategy['deviation'][-1]:.4f}")
    print(describe_lead(figures))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    if arguments.svg:
        draw(figures, arguments.svg)


def compare(arguments: argparse.Namespace, journal: Journal) -> dict[str, Any]:
    experiment = build_experiment(arguments)
    device = find_device(arguments.device)
    work = Workshop(arguments, experiment, device, journal)
    searches = [
        Search(name, seed, build_search(arguments, experiment, name, seed))
        for name in arguments.strategies
        for seed in range(arguments.seeds)
    ]
    run_in_lockstep(searches, work, arguments.trials)
    settings = experiment.settings
    return {
        "data": arguments.data,
        "device": name_device(device),
        "score": str(settings.metric),
        "seeds": arguments.seeds,
        "trials": arguments.trials,
        "epochs": settings.max_epochs,
        "dim": settings.dim,
        "supernet_epochs": arguments.supernet_epochs,
        "shared_score": str(arguments.shared_score),
        "networks_trained": len(work.score_by_network),
        "networks_failed": sum(score is None for score in work.score_by_network.values()),
        "training_seconds": round(work.training_seconds, 1),
        "supernet_seconds": round(sum(work.supernet_seconds.values()), 1),
        "hybrid_not_under_random_from": find_lead(searches, arguments.trials),
        "strategies": {
            name: sum_up(searches, name, arguments.trials)
            | {"supernet_seconds": round(work.supernet_seconds.get(name, 0.0), 1)}
            for name in arguments.strategies
        },
    }


def build_experiment(arguments: argparse.Namespace) -> Experiment:
    task = task_of(interstellar.load(arguments.data))
    settings: TrainingSettings = with_changes(
        search_settings(task, arguments.data),
        epochs=arguments.epochs,
        precision=Precision.FLOAT32,
    )
    return Experiment(data=arguments.data, architecture=ANY, seed=TRAINING_SEED, settings=settings)


def build_search(
    arguments: argparse.Namespace, experiment: Experiment, name: StrategyName, seed: int
) -> SearchStrategy:
    epochs = arguments.supernet_epochs if name in SUPERNETS else None
    plan = SearchPlan(
        strategy=name,
        from_scratch=True,
        architecture_only=name is StrategyName.SURROGATE,
        supernet_epochs=epochs,
    )
    return build_strategy(replace(experiment, seed=seed, plan=plan))


@dataclass(slots=True, eq=False)
class Search:
    """One strategy with one seed."""

    name: StrategyName
    seed: int
    strategy: SearchStrategy
    curve: Curve = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    """Of each trial."""
    met: set[Architecture] = field(default_factory=set)
    """Networks whose trials it has had."""
    waiting: Proposal | None = None
    """What is to be trained before it can go on."""
    n_repeats: int = 0
    is_over: bool = False

    def tell(self, proposal: Proposal, score: float | None) -> None:
        """Learn a score; a trial if the network is new here."""
        network = network_of(proposal)
        self.n_repeats = self.n_repeats + 1 if network in self.met else 0
        if network not in self.met:
            self.met.add(network)
            self.scores.append(score or 0.0)
            self.curve.append(max(self.scores))
        self.strategy.tell(proposal.number, TrialResult(score=score))


def network_of(proposal: Proposal) -> Architecture:
    assert proposal.architecture is not None
    return canonical_form(proposal.architecture)


def run_in_lockstep(searches: Sequence[Search], work: "Workshop", n_trials: int) -> None:
    round_number = 0
    while under_way := [search for search in searches if not search.is_over]:
        round_number += 1
        for search in under_way:
            advance(search, work, n_trials)
        waiting = [s for s in under_way if s.waiting is not None]
        work.train([network_of(s.waiting) for s in waiting if s.waiting is not None])
        for search in waiting:
            assert search.waiting is not None
            search.tell(search.waiting, work.score_of(search.waiting))
            search.waiting = None
        work.say(f"round {round_number}: {len(waiting)} searches waited for a network")


def advance(search: Search, work: "Workshop", n_trials: int) -> None:
    """Ask a search until it waits for a network that nobody has trained, or is over."""
    while len(search.curve) < n_trials and search.n_repeats < MAX_REPEATS:
        proposal = search.strategy.ask()
        if proposal is None:
            break
        if proposal.architecture is None:
            outcome = work.train_supernet(search, proposal)
            search.strategy.tell(proposal.number, TrialResult.from_plain(outcome))
        elif work.has_score(proposal):
            search.tell(proposal, work.score_of(proposal))
        else:
            search.waiting = proposal
            return
    search.is_over = True


class Workshop:
    """Trains what is not known yet, and keeps all that is in the state."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        experiment: Experiment,
        device: torch.device,
        journal: Journal,
    ) -> None:
        plan = SearchPlan(strategy=StrategyName.HYBRID, shared_score=arguments.shared_score)
        self.judge = Judge(replace(experiment, plan=plan), device)
        self.score_by_network: dict[Architecture, float | None] = {}
        self.training_seconds = 0.0
        self.supernet_seconds: dict[str, float] = {}
        self._outcome_by_key: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._journal = journal
        self._started = time.monotonic()
        self._begin(
            {
                "data": arguments.data,
                "device": name_device(device),
                "settings": str(experiment.settings),
                "supernet_epochs": arguments.supernet_epochs,
                "shared_score": str(arguments.shared_score),
            }
        )

    def has_score(self, proposal: Proposal) -> bool:
        return network_of(proposal) in self.score_by_network

    def score_of(self, proposal: Proposal) -> float | None:
        return self.score_by_network[network_of(proposal)]

    def train(self, architectures: Sequence[Architecture]) -> None:
        """Train each different network among them."""
        for network in dict.fromkeys(map(canonical_form, architectures)):
            started = time.perf_counter()
            outcome = self.judge.do(Proposal(number=0, architecture=network).as_plain())
            seconds = time.perf_counter() - started
            event = {
                "network": code_text(network),
                "score": None if outcome["failure"] else outcome["score"],
                "seconds": round(seconds, 3),
            }
            self._note(self._journal.append("trained", **event))
            self.say(f"a network in {seconds:.1f} s")

    def train_supernet(self, search: Search, proposal: Proposal) -> dict[str, Any]:
        """Return what a supernet came to; it draws from the seed of its search."""
        key = (str(search.name), search.seed, proposal.number)
        if key not in self._outcome_by_key:
            self.judge.seed = search.seed
            outcome = self.judge.do(proposal.as_plain())
            self.judge.seed = TRAINING_SEED
            names = dict(zip(("strategy", "seed", "number"), key, strict=True))
            self._note(self._journal.append("supernet", **names, outcome=outcome))
        return self._outcome_by_key[key]

    def say(self, text: str) -> None:
        n_known = len(self.score_by_network)
        seconds = time.monotonic() - self._started
        print(f"{seconds:7.1f} s  {text}; {n_known} networks known", file=sys.stderr, flush=True)

    def _begin(self, facts: Mapping[str, object]) -> None:
        """Note with what the state is made, or take up what is in it."""
        events: list[dict[str, Any]] = [dict(event) for event in self._journal.events()]
        if not events:
            self._journal.append("began", **facts)
            return
        before = {key: events[0].get(key) for key in facts}
        before["shared_score"] = before["shared_score"] or str(SharedScore.LOSS)  # of older states
        if before != facts:
            sys.exit(f"error: {self._journal.path} was made with {before}, and now it is {facts}.")
        for event in events[1:]:
            self._note(event)

    def _note(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "trained":
            self.score_by_network[from_code_text(event["network"])] = event["score"]
            self.training_seconds += event["seconds"]
            return
        name, outcome = event["strategy"], event["outcome"]
        self._outcome_by_key[name, event["seed"], event["number"]] = outcome
        before = self.supernet_seconds.get(name, 0.0)
        self.supernet_seconds[name] = before + outcome.get("seconds", 0.0)


def sum_up(searches: Sequence[Search], name: StrategyName, n_trials: int) -> dict[str, Any]:
    """Return mean, deviation and all curves of a strategy, and how many networks it met."""
    own = [search for search in searches if search.name is name]
    return {
        "mean": mean_curve(own, n_trials, statistics.mean),
        "deviation": mean_curve(own, n_trials, deviation),
        "curves": [search.curve for search in own],
        "networks": len(set().union(*(search.met for search in own))),
        "mean_of_tens": [
            statistics.mean(chain.from_iterable(search.scores[i : i + 10] for search in own))
            for i in range(0, max(len(search.scores) for search in own), 10)
        ],
    }


def mean_curve(
    searches: Sequence[Search], n_trials: int, over: Callable[[Sequence[float]], float]
) -> Curve:
    curves = [extend(search.curve, n_trials) for search in searches]
    return [over(column) for column in zip(*curves, strict=True)]


def deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def extend(curve: Curve, n_trials: int) -> Curve:
    """Let a search that has ended keep its best; one without a trial has 0."""
    return curve + [curve[-1] if curve else 0.0] * (n_trials - len(curve))


def find_lead(searches: Sequence[Search], n_trials: int) -> int | None:
    """Return from which trial on hybrid's mean is not under random's; None: it is at the end."""
    hybrid, random = (
        [search for search in searches if search.name is name]
        for name in (StrategyName.HYBRID, StrategyName.RANDOM)
    )
    if not hybrid or not random:
        return None
    ours, theirs = (mean_curve(own, n_trials, statistics.mean) for own in (hybrid, random))
    under = [trial for trial in range(1, n_trials + 1) if ours[trial - 1] < theirs[trial - 1]]
    first = max(under, default=0) + 1
    return first if first <= n_trials else None


def describe_lead(figures: Mapping[str, Any]) -> str:
    if not {"hybrid", "random"} <= figures["strategies"].keys():
        return "hybrid and random were not both run"
    first = figures["hybrid_not_under_random_from"]
    if first is None:
        return "hybrid's mean is under random's at the last trial"
    return f"hybrid's mean is not under random's from trial {first} on"


def draw(figures: Mapping[str, Any], file: Path) -> None:
    """Plot mean ± deviation of every strategy; what has one trial is dashed."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    panel = figure.subplots()
    trials = range(1, figures["trials"] + 1)
    for name, of_strategy in figures["strategies"].items():
        mean, spread = of_strategy["mean"], of_strategy["deviation"]
        has_one = all(len(curve) <= 1 for curve in of_strategy["curves"])
        [line] = panel.plot(trials, mean, label=name, linestyle="--" if has_one else "-")
        low = [m - d for m, d in zip(mean, spread, strict=True)]
        high = [m + d for m, d in zip(mean, spread, strict=True)]
        panel.fill_between(trials, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    panel.set_xlabel("trials")
    panel.set_ylabel(f"best {figures['score']} so far, mean ± deviation of {figures['seeds']}")
    panel.set_title(figures["data"])
    figure.legend(loc="outside right upper")
    figure.savefig(file)


if __name__ == "__main__":
    main()
