"""Surrogate search: predict what architectures and settings earn, and try what promises most.

The scores of all trials are regressed on their choices (`ridge`). Candidates are mutations and
crossovers of the best and some random networks; the one with the highest expected improvement is
proposed. Those in flight count as if they had earned what is predicted of them, so that those
asked for together differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isnan
from statistics import median
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from interstellar.architecture.architecture import Architecture, Source
from interstellar.architecture.canonical_form import PRODUCTS
from interstellar.architecture.propagation import CLAUSES
from interstellar.architecture.search_space import N_CHOICES, Point, SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.ridge import Codes, Floats, Posterior, fit_ridge
from interstellar.searching.settings_space import SettingChoice, changes_at, locate_changes
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.searching.tried_network import SearchedNetwork, cell_of, searched_network

N_STARTUP_TRIALS = 8
"""Scores that must be known to predict others; until then networks are drawn."""
N_PARENTS = 8
N_MUTATIONS, N_CROSSOVERS, N_RANDOM = 100, 40, 20
SETTINGS_SHARE = 0.3
"""Of proposals that change the settings of one of the best and nothing else; the others change
architectures. So what a setting is worth is seen by itself."""
MOST_FITTED = 256
"""Trials that the regression sees: the best, and as many of the latest others."""
TIE = 1e-6
"""Expected improvements as close as that are a tie: their last bits depend on the machine."""

Fit: TypeAlias = Callable[[Codes, Floats], Posterior]
"""From the codes of trials and what they are worth, on a scale of mean 0."""


@dataclass(slots=True, kw_only=True)
class _Tried:
    """A network with settings that was proposed, here or by others."""

    place: Point | None
    """The options that it takes, of the thirteen choices and of the settings; None: outside."""
    score_by_epochs: dict[int, float] = field(default_factory=dict)
    is_told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Belief:
    """What is believed after all that was told."""

    posterior: Posterior
    parents: list[Point]
    """The places of the best, the best first."""
    best: float
    """What the best is worth."""


@final
class SurrogateSearch:
    """Learns from few, noisy trials of architectures and settings, its own and those of others.

    It is told of a trial once or after each rung: what was trained less counts as if it had gained
    what others gained from there on. Failed trials count as the worst. Of scores only the order
    counts, so that the many hopeless ones do not hide how the good ones differ. What others tried
    under settings that are none of its choices does not count.
    """

    def __init__(
        self,
        space: SearchSpace,
        seed: int,
        *,
        settings: Sequence[SettingChoice] = (),
        fit: Fit = fit_ridge,
    ) -> None:
        self._space = space
        self._seed = seed
        self._settings = settings
        self._fit = fit
        self._sizes = [len(choice.options) for choice in space.choices()]
        self._sizes += [len(choice.options) for choice in settings]
        self._own: Point = (0,) * len(settings)  # the graph's own settings
        own = [replace(choice, options=choice.options[:1]) for choice in settings]
        self._random = RandomSearch(space, seed, settings=own)
        self._tried_by_code: dict[Point, _Tried] = {}
        self._asked: list[_Tried] = []
        self._belief: _Belief | None = None

    def ask(self) -> Proposal | None:
        number = len(self._asked)
        place = self._choose(spawn(self._seed, f"surrogate {number}"))
        if place is None:
            return None
        architecture = self._space.at(place[:N_CHOICES])
        changes = changes_at(self._settings, place[N_CHOICES:])
        proposal = Proposal(number=number, architecture=architecture, changes=changes)
        self._asked.append(self._enter(architecture, place[N_CHOICES:]))
        return proposal

    def tell(self, number: int, result: TrialResult) -> None:
        self._note(self._asked[number], result)

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        point = locate_changes(self._settings, proposal.changes)
        if proposal.architecture is not None and point is not None:
            self._note(self._enter(proposal.point, point), result)

    def answer(self) -> Architecture | None:
        belief = self._believe()
        return None if belief is None else self._space.at(belief.parents[0][:N_CHOICES])

    def _enter(self, architecture: Architecture, point: Point) -> _Tried:
        """Return the entry of an architecture with settings, a new one unless it was there."""
        network = searched_network(architecture, changes_at(self._settings, point))
        cell = cell_of(network)
        shown = cell if cell in self._space else architecture
        place = (*self._space.locate(shown), *point) if shown in self._space else None
        code = self._encode(network, point)
        return self._tried_by_code.setdefault(code, _Tried(place=place))

    def _note(self, tried: _Tried, result: TrialResult) -> None:
        tried.is_told = True
        if result.score is not None and not isnan(result.score):
            tried.score_by_epochs[result.epochs] = result.score
        self._belief = None

    def _choose(self, rng: np.random.Generator) -> Point | None:
        belief = self._believe()
        if belief is None or not (place_by_code := self._breed(belief.parents, rng)):
            return self._draw()
        posterior = belief.posterior
        in_flight = [code for code, tried in self._tried_by_code.items() if not tried.is_told]
        if in_flight:
            posterior = posterior.believe(np.array(in_flight))
        mean, deviation = posterior.predict(np.array(list(place_by_code)))
        promise = expected_improvement(mean, deviation, belief.best)
        chosen = int(np.argmax(promise + TIE * rng.random(len(promise))))
        return list(place_by_code.values())[chosen]

    def _draw(self) -> Point | None:
        """Return a network that was not tried without changes; None: all were."""
        while (proposal := self._random.ask()) is not None:
            place = (*self._space.locate(proposal.point), *self._own)
            if self._code_at(place) not in self._tried_by_code:
                return place
        return None

    def _believe(self) -> _Belief | None:
        """Return what is believed after all that was told; None: that is too little."""
        told = {code: tried for code, tried in self._tried_by_code.items() if tried.is_told}
        if sum(bool(tried.score_by_epochs) for tried in told.values()) < N_STARTUP_TRIALS:
            return None
        if self._belief is None:
            values = extrapolate([tried.score_by_epochs for tried in told.values()])
            fitted = choose_fitted(values)
            codes = np.array(list(told))[fitted]
            posterior = self._fit(codes, normal_scores(values[fitted]))
            mean, _ = posterior.predict(codes)
            places = [tried.place for tried in told.values()]
            best_first = [places[i] for i in fitted[np.argsort(-mean, kind="stable")]]
            parents = [place for place in best_first if place is not None][:N_PARENTS]
            self._belief = _Belief(posterior=posterior, parents=parents, best=float(mean.max()))
        return self._belief if self._belief.parents else None

    def _breed(self, parents: Sequence[Point], rng: np.random.Generator) -> dict[Point, Point]:
        """Return the places of candidates that were not tried, by their codes."""
        free, places = range(N_CHOICES, len(self._sizes)), list[Point]()
        if not self._settings or rng.random() >= SETTINGS_SHARE:
            free = range(N_CHOICES)
            drawn = (self._space.sample(rng) for _ in range(N_RANDOM))
            places += [(*self._space.locate(architecture), *self._own) for architecture in drawn]
            pairs = rng.integers(len(parents), size=(N_CROSSOVERS, 2))
            places += [cross(parents[i], parents[j], rng) for i, j in pairs]
        picked = rng.integers(len(parents), size=N_MUTATIONS)
        places += [mutate(parents[i], self._sizes, free, rng) for i in picked]
        found = {self._code_at(place): place for place in dict.fromkeys(places)}
        return {code: place for code, place in found.items() if code not in self._tried_by_code}

    def _code_at(self, place: Point) -> Point:
        architecture, point = self._space.at(place[:N_CHOICES]), place[N_CHOICES:]
        return self._encode(
            searched_network(architecture, changes_at(self._settings, point)), point
        )

    def _encode(self, network: SearchedNetwork, point: Point) -> Point:
        """Return the options that a network and its settings take, −1 where it does not matter."""
        if isinstance(network, Architecture):
            return (*encode(network), *point)
        options = list(point)
        for i, choice in enumerate(self._settings):
            if choice.name in CLAUSES:  # what is none of the options has lost its meaning
                value = getattr(network, choice.name)
                options[i] = choice.options.index(value) if value in choice.options else -1
        return (*encode(network.cell), *options)


def encode(network: Architecture) -> Point:
    """Return the option of each choice of a canonical form, −1 where it makes no difference."""
    macro = network.macro
    reads_s = macro.is_subject_output_read
    reads_x_r, reads_x_v = (
        x is not Source.ZERO for x in (macro.relation_source, macro.output_source)
    )
    reads_r = reads_x_r or macro.relation not in PRODUCTS
    macro_counts = (reads_s, True, reads_r, True, True)
    micro_counts = (reads_s, True, reads_s, reads_s, reads_x_r, reads_r, reads_x_v, True)
    options = zip(SearchSpace().locate(network), macro_counts + micro_counts, strict=True)
    return tuple(option if counts else -1 for option, counts in options)


def cross(first: Point, second: Point, rng: np.random.Generator) -> Point:
    """Return a place that takes each option from one of the two."""
    return tuple(np.where(rng.random(len(first)) < 0.5, first, second).tolist())


def mutate(
    place: Point, sizes: Sequence[int], free: Sequence[int], rng: np.random.Generator
) -> Point:
    """Return a place with one of the free choices changed, in two of five cases more of them."""
    free = [i for i in free if sizes[i] > 1]
    mutated = list(place)
    for i in rng.choice(free, min(int(rng.geometric(0.6)), len(free)), replace=False):
        mutated[i] = int(place[i] + rng.integers(1, sizes[i])) % sizes[i]  # another than it was
    return tuple(mutated)


def extrapolate(curves: Sequence[Mapping[int, float]]) -> Floats:
    """Return what trials with these scores by epochs are worth, comparable among each other.

    That is the last score, and what others gained who were told of at these epochs and later
    again, rung by rung: the median. To regress on epochs would credit them with what is
    due to the choices, because only the better trials go on. Without a score: the worst.
    """
    steps_by_epochs: dict[int, list[tuple[int, float]]] = {}
    for curve in curves:
        for (epochs, score), (later, next_score) in pairwise(sorted(curve.items())):
            steps_by_epochs.setdefault(epochs, []).append((later, next_score - score))

    def gain_from(epochs: int) -> float:
        if epochs not in steps_by_epochs:
            return 0.0
        later, gains = zip(*steps_by_epochs[epochs], strict=True)
        return float(median(gains)) + gain_from(max(later))

    last = [max(curve) if curve else None for curve in curves]
    values = [
        np.nan if epochs is None else curve[epochs] + gain_from(epochs)
        for curve, epochs in zip(curves, last, strict=True)
    ]
    found: Floats = np.nan_to_num(values, nan=np.nanmin(values))
    return found


def choose_fitted(values: Floats) -> NDArray[np.intp]:
    """Return which trials the regression sees, given what all are worth in their order."""
    order, half = np.argsort(-values, kind="stable"), MOST_FITTED // 2
    return np.concatenate([order[:half], np.sort(order[half:])[-half:]])


def normal_scores(values: Floats) -> Floats:
    """Return the quantile of the normal distribution that is each value's among them all."""
    n_under = np.sum(values[:, None] > values, axis=1)
    n_equal = np.sum(values[:, None] == values, axis=1)
    quantiles: Floats = ndtri((n_under + 0.5 * n_equal) / len(values))
    return quantiles


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """Return E max(y − best, 0) for y normally distributed: (mean − best) Φ(u) + deviation φ(u)."""
    u = (mean - best) / deviation
    density = np.exp(-0.5 * u**2) / np.sqrt(2.0 * np.pi)
    improvement: Floats = (mean - best) * ndtr(u) + deviation * density
    return improvement
