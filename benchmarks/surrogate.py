"""Which regression a surrogate search should have: on recorded trials, and on a planted function.

`pool`: a search may only propose networks that were trained for `results/searches`, first eight at
random, then the one of highest expected improvement among 300 of those left. TPE proposes freely,
and is given the nearest network of the pool.

`oracle`: extra trees fitted to a pool, with noise, stand for the training of any architecture; the
figure is what they say of the best by the noisy score, in deviations of random architectures. With
"known first" the named architectures are tried before, in addition.

`planted`: architectures and settings. A score is a sum over options, over pairs of options (also of
an architecture's with a setting's) and noise; the figure is what the best by the noisy score is
worth without noise, in deviations of random architectures with the graph's own settings. These are
worth as much as others on average, or more with `--own-is-good`, where settings also matter less.

    python benchmarks/surrogate.py pool --seeds 20
    python benchmarks/surrogate.py planted --seeds 20
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import NAMED
from interstellar.architecture.notation import from_code_text
from interstellar.architecture.search_space import N_CHOICES, SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.ridge import Codes, Floats, Posterior, fit_ridge
from interstellar.searching.settings_space import (
    SettingChoice,
    changes_at,
    locate_changes,
    searched_settings,
)
from interstellar.searching.surrogate import (
    SurrogateSearch,
    encode,
    expected_improvement,
    normal_scores,
)
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.searching.tried_network import Changes
from interstellar.training.presets import LINK_PREDICTION

SEARCHES = Path(__file__).parents[1] / "results" / "searches"
POOLS = {
    "geography-S3": ("geography_s3_strategies",),
    "WN18RR": ("wn18rr_bayes", "wn18rr_bayes_literature", "wn18rr_hybrid"),
    "WN18RR, final settings": ("wn18rr_bayes_finalists", "wn18rr_macro_only"),
    "DBP-WD": ("dbp_wd_hybrid",),
    "Countries-S3": ("countries_s3_hybrid",),
}
N_STARTUP = 8
N_TREES = 50
KNOWN = tuple(dict.fromkeys(map(canonical_form, NAMED.values())))
MARKS = (10, 20, 40, 60)
Pool: TypeAlias = dict[Architecture, float]
Fit: TypeAlias = Callable[[Codes, Floats], Posterior]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["pool", "oracle", "planted"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--noise", type=float, default=0.3, help="of planted scores")
    parser.add_argument("--own-is-good", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    compare = {"pool": compare_on_pools, "oracle": compare_by_oracle, "planted": compare_planted}
    rows = compare[arguments.what](arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


class Forest:
    """Trees whose spread stands for the uncertainty."""

    def __init__(self, kind: type, codes: Codes, y: Floats) -> None:
        self.model = kind(N_TREES, random_state=len(y), max_features=0.5)
        self.model.fit(indicate(codes), y)

    def predict(self, codes: Codes) -> tuple[Floats, Floats]:
        x = indicate(codes).astype(np.float32)
        predicted = np.stack([tree.predict(x) for tree in self.model.estimators_])
        return predicted.mean(axis=0), predicted.std(axis=0) + 1e-3

    def believe(self, codes: Codes) -> "Forest":
        del codes
        return self


def indicate(codes: Codes) -> Floats:
    """Return an indicator of each option from −1 to 3 of each choice, (n, 5 n_choices)."""
    taken: Floats = (codes[:, :, None] == np.arange(-1, 4)).astype(np.float64)
    return taken.reshape(len(codes), -1)


FITS: dict[str, Fit] = {
    "ridge": fit_ridge,
    "random forest": lambda codes, y: Forest(RandomForestRegressor, codes, y),
    "extra trees": lambda codes, y: Forest(ExtraTreesRegressor, codes, y),
}
MODELS = ("random", *FITS, "TPE")


def compare_on_pools(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for name, folders in POOLS.items():
        pool = read_pool(folders)
        scores = np.array(list(pool.values()))
        places = (np.argsort(np.argsort(scores)) + 1) / len(scores)
        n_trials = min(arguments.trials, len(pool) // 2 // 10 * 10)
        for model in ("random", *FITS, "TPE", "TPE, joint"):
            started = time.perf_counter()
            orders = [search_pool(pool, model, n_trials, seed) for seed in range(arguments.seeds)]
            seconds = (time.perf_counter() - started) / arguments.seeds / n_trials
            best = np.maximum.accumulate(scores[np.array(orders)], axis=1)
            tens = places[np.array(orders)].reshape(arguments.seeds, -1, 10).mean(axis=(0, 2))
            row = sum_up(f"{name} ({len(pool)})", model, best, seconds)
            rows.append(row | {"place_of_tens": tens.round(3).tolist()})
            print(" " * 40, "places", *tens.round(2))
    return rows


def read_pool(folders: Sequence[str]) -> Pool:
    found: Pool = {}
    for folder in folders:
        for code, score in read_scores(SEARCHES / folder):
            found[canonical_form(from_code_text(code))] = score
    return found


def read_scores(folder: Path) -> list[tuple[str, float]]:
    state = folder / "state.jsonl"
    file = state if state.exists() else folder / "journal.jsonl"
    events = [json.loads(line) for line in file.read_text().splitlines()]
    if file == state:
        return [(e["network"], e["score"] or 0.0) for e in events if e["event"] == "trained"]
    codes = {e["number"]: e["code"] for e in events if e["event"] == "proposed" and "code" in e}
    ended = [e for e in events if e["event"] == "ended" and e["number"] in codes]
    return [(codes[e["number"]], e["score"]) for e in ended if e["score"] is not None]


def search_pool(pool: Pool, model: str, n_trials: int, seed: int) -> list[int]:
    """Return which networks of the pool are tried, in their order."""
    rng, scores = spawn(seed, "pool"), np.array(list(pool.values()))
    if model.startswith("TPE"):
        return search_pool_by_tpe(pool, n_trials, seed, is_joint="joint" in model)
    order: list[int] = rng.permutation(len(pool)).tolist()
    if model == "random":
        return order[:n_trials]
    codes = np.array([encode(network) for network in pool])
    tried, left = order[:N_STARTUP], set(order[N_STARTUP:])
    while len(tried) < n_trials:
        candidates = rng.permutation(sorted(left))[:300]
        posterior = FITS[model](codes[tried], normal_scores(scores[tried]))
        best = float(posterior.predict(codes[tried])[0].max())
        promise = expected_improvement(*posterior.predict(codes[candidates]), best)
        tried.append(int(candidates[np.argmax(promise)]))
        left.remove(tried[-1])
    return tried


def search_pool_by_tpe(pool: Pool, n_trials: int, seed: int, *, is_joint: bool) -> list[int]:
    points = np.array([SearchSpace().locate(network) for network in pool])
    sizes = [len(choice.options) for choice in SearchSpace().choices()]
    scores, rng = np.array(list(pool.values())), spawn(seed, "nearest")
    tpe, is_tried, tried = Tpe(sizes, seed, is_joint=is_joint), np.zeros(len(pool)), []
    for _ in range(n_trials):
        distance = np.sum(points != tpe.ask(), axis=1) + 0.1 * rng.random(len(pool))
        nearest = int(np.argmin(distance + 100 * is_tried))
        is_tried[nearest] = 1
        tried.append(nearest)
        tpe.tell(points[nearest].tolist(), float(scores[nearest]))
    return tried


class Tpe:
    """Optuna's TPE over places; what is told need not be what was asked for."""

    def __init__(self, sizes: Sequence[int], seed: int, *, is_joint: bool) -> None:
        import optuna  # noqa: PLC0415

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=N_STARTUP, seed=seed, multivariate=is_joint
        )
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.distributions = {
            str(i): optuna.distributions.CategoricalDistribution(range(size))
            for i, size in enumerate(sizes)
        }

    def ask(self) -> list[int]:
        import optuna  # noqa: PLC0415

        trial = self.study.ask(self.distributions)  # type: ignore[arg-type]
        self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return [int(trial.params[key]) for key in self.distributions]

    def tell(self, place: Sequence[int], score: float) -> None:
        import optuna  # noqa: PLC0415

        params = dict(zip(self.distributions, place, strict=True))
        told = optuna.trial.create_trial(
            value=score,
            params=params,
            distributions=self.distributions,  # type: ignore[arg-type]
        )
        self.study.add_trial(told)


class Judge(Protocol):
    """Scores with noise over architectures, and settings where it has any."""

    settings: Sequence[SettingChoice]

    def worth(self, proposal: Proposal) -> float:
        """Return what a proposal is worth without noise."""

    def judge(self, proposal: Proposal) -> float:
        """Return a score."""


class Oracle:
    """What a forest says that was fitted to a pool, with noise."""

    def __init__(self, pool: Pool, noise: float) -> None:
        self.settings: Sequence[SettingChoice] = ()
        codes, scores = np.array([encode(network) for network in pool]), list(pool.values())
        self.model = ExtraTreesRegressor(N_TREES, random_state=0, max_features=0.5)
        self.model.fit(indicate(codes), normal_scores(np.array(scores)))
        drawn = spawn(0, "drawn")
        architectures = [SearchSpace().sample(drawn) for _ in range(1000)]
        codes = np.array([encode(canonical_form(architecture)) for architecture in architectures])
        self.drawn = self.model.predict(indicate(codes))
        self.noise = noise
        self.rng = spawn(0, "noise")

    def worth(self, proposal: Proposal) -> float:
        assert proposal.architecture is not None
        code = np.array([encode(canonical_form(proposal.point))])
        [found] = self.model.predict(indicate(code))
        return float((found - self.drawn.mean()) / self.drawn.std())

    def judge(self, proposal: Proposal) -> float:
        return self.worth(proposal) + self.noise * float(self.rng.standard_normal())


class Planted:
    """A score with noise over architectures and settings."""

    def __init__(
        self, settings: Sequence[SettingChoice], noise: float, seed: int, *, own_is_good: bool
    ) -> None:
        self.settings, self.noise = settings, noise
        rng = spawn(seed, "planted")
        n = N_CHOICES + len(settings)
        self.single = rng.standard_normal((n, 5))
        self.pair = rng.standard_normal((n, n, 5, 5)) * 2.0 / np.sqrt(n)
        self.pair *= np.triu(np.ones((n, n)), 1)[:, :, None, None]
        if own_is_good:
            self.single[N_CHOICES:] *= 0.5
            self.pair[:, N_CHOICES:] *= 0.5
            self.single[N_CHOICES:, 1] += 0.7  # the option of the graph's own settings
        drawn = spawn(seed, "drawn")
        worth = [self._sum(SearchSpace().sample(drawn), {}) for _ in range(500)]
        self.mean, self.deviation = float(np.mean(worth)), float(np.std(worth))
        self.rng = spawn(seed, "noise")

    def worth(self, proposal: Proposal) -> float:
        assert proposal.architecture is not None
        total = self._sum(proposal.point, proposal.changes)
        return (total - self.mean) / self.deviation

    def judge(self, proposal: Proposal) -> float:
        return self.worth(proposal) + self.noise * float(self.rng.standard_normal())

    def _sum(self, architecture: Architecture, changes: Changes) -> float:
        point = locate_changes(self.settings, changes)
        assert point is not None
        code = np.array([*encode(canonical_form(architecture)), *point]) + 1
        i = np.arange(len(code))
        pairs = self.pair[i[:, None], i, code[:, None], code]
        return float(self.single[i, code].sum() + pairs.sum())


def compare_by_oracle(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    oracles = {
        name: Oracle(read_pool(POOLS[name]), arguments.noise) for name in ("geography-S3", "WN18RR")
    }
    return [
        follow(f"oracle of {name}", model, [oracles[name]] * arguments.seeds, arguments.trials)
        for name in oracles
        for model in [f"{m}{known}" for known in ("", ", known first") for m in MODELS]
    ]


def compare_planted(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    settings = searched_settings(LINK_PREDICTION)
    own_is_good, noise = arguments.own_is_good, arguments.noise
    name = "planted, own settings good" if own_is_good else "planted"
    rows = []
    for model in ("random, own settings", *MODELS, "ridge, own settings"):
        seeds = range(arguments.seeds)
        judges = [Planted(settings, noise, seed, own_is_good=own_is_good) for seed in seeds]
        rows.append(follow(name, model, judges, arguments.trials))
    return rows


def follow(name: str, model: str, judges: Sequence[Judge], n_trials: int) -> dict[str, Any]:
    """Return how a model fares with each judge, and a seed of its own."""
    started = time.perf_counter()
    curves = [search(judge, model, n_trials, seed) for seed, judge in enumerate(judges)]
    seconds = (time.perf_counter() - started) / len(judges) / n_trials
    return sum_up(name, model, np.array(curves), seconds)


def search(judge: Judge, model: str, n_trials: int, seed: int) -> list[float]:
    """Return what the best by the noisy score is worth, after each trial."""
    settings = () if "own" in model else judge.settings
    ask, tell = build_proposer(settings, model.split(",", maxsplit=1)[0], seed)
    known = KNOWN if "known" in model else ()
    curve: list[float] = []
    best_score, best_worth = -np.inf, -np.inf
    for i in range(len(known) + n_trials):
        proposal = Proposal(number=i, architecture=known[i]) if i < len(known) else ask()
        score = judge.judge(proposal)
        tell(proposal, score)
        if score > best_score:
            best_score, best_worth = score, judge.worth(proposal)
        curve.append(best_worth)
    return curve[len(known) :]


def build_proposer(
    settings: Sequence[SettingChoice], model: str, seed: int
) -> tuple[Callable[[], Proposal], Callable[[Proposal, float], None]]:
    """Return how to ask and how to tell."""
    if model in FITS:
        strategy = SurrogateSearch(SearchSpace(), seed, settings=settings, fit=FITS[model])
        return (
            lambda: strategy.ask() or Proposal(number=0),
            lambda proposal, score: strategy.learn(proposal, TrialResult(score=score)),
        )
    sizes = [len(c.options) for c in SearchSpace().choices()] + [len(c.options) for c in settings]
    tpe, rng = Tpe(sizes, seed, is_joint=True), spawn(seed, "random")

    def ask() -> Proposal:
        place = [int(rng.integers(n)) for n in sizes] if model == "random" else tpe.ask()
        return Proposal(
            number=0,
            architecture=SearchSpace().at(tuple(place[:N_CHOICES])),
            changes=changes_at(settings, tuple(place[N_CHOICES:])),
        )

    def tell(proposal: Proposal, score: float) -> None:
        point = locate_changes(settings, proposal.changes)
        assert proposal.architecture is not None
        assert point is not None
        tpe.tell((*SearchSpace().locate(proposal.point), *point), score)

    return ask, tell


def sum_up(name: str, model: str, best: Floats, seconds: float) -> dict[str, Any]:
    """Print and return the mean of the best so far, with its standard error, at some trials."""
    marks = [mark for mark in MARKS if mark <= best.shape[1]]
    mean = {mark: round(float(best[:, mark - 1].mean()), 4) for mark in marks}
    error = {m: round(float(best[:, m - 1].std() / np.sqrt(len(best))), 4) for m in marks}
    shown = "  ".join(f"{mean[mark]:.4f} ± {error[mark]:.4f}" for mark in marks)
    print(f"{name:30} {model:22} {shown}  {1e3 * seconds:.1f} ms", flush=True)
    return {"name": name, "model": model, "mean": mean, "error": error}


if __name__ == "__main__":
    main()
