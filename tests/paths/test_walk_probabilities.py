"""Sampled paths occur as often as the weights of the literal walk say."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats

from interstellar.paths import biased_walk
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkRule, WalkSettings

from .literal_walk import LiteralWalk, Path
from .small_graphs import HUB, ONE_GRAPH, PARALLEL, SELF_LOOP, Rows, knowledge_graph, two_graphs

N_PATHS = 200_000
P_VALUE = 1e-4


def sample_and_compare(
    graph: WalkGraph, settings: WalkSettings, expected: WalkSettings | None = None
) -> float:
    """Return the p-value of a chi-square test of whole paths, given their first triplets."""
    table = sample_paths(graph, settings, seed=1, device=torch.device("cpu"))
    counts = Counter(map(tuple, table.array.tolist()))
    literal = LiteralWalk(graph, expected or settings)
    statistic, freedom = 0.0, 0
    for triplet in map(tuple, graph.triplets().tolist()):
        share = [settings.paths_per_triplet * p for _, p in literal.probabilities(triplet)]
        found = [counts.pop(path, 0) for path, _ in literal.probabilities(triplet)]
        part, n_bins = chi_square(np.array(found), np.array(share))
        statistic += part
        freedom += n_bins - 1
    assert not counts, "a path was sampled that cannot be"
    return float(stats.chi2.sf(statistic, freedom))


def chi_square(found: np.ndarray, share: np.ndarray) -> tuple[float, int]:
    """Return the statistic and the number of bins; bins under 10 are put together."""
    small = share < 10
    if small.any():
        found = np.append(found[~small], found[small].sum())
        share = np.append(share[~small], share[small].sum())
    return float(((found - share) ** 2 / share).sum()), len(share)


def settings_for(
    graph: WalkGraph,
    rule: WalkRule,
    *,
    alpha: float = 0.8,
    beta: float | None = None,
    n_paths: int = N_PATHS,
) -> WalkSettings:
    return WalkSettings(
        length=4,
        depth_bias=alpha,
        cross_bias=beta,
        rule=rule,
        paths_per_triplet=n_paths // graph.n_triplets,
    )


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("rows", [ONE_GRAPH, HUB, SELF_LOOP, PARALLEL])
def test_one_graph(rows: Rows, rule: WalkRule) -> None:
    graph = WalkGraph.of(knowledge_graph(rows))

    assert sample_and_compare(graph, settings_for(graph, rule)) > P_VALUE


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("beta", [None, 0.7])
def test_two_graphs(rule: WalkRule, beta: float | None) -> None:
    graph = WalkGraph.of(two_graphs())

    assert sample_and_compare(graph, settings_for(graph, rule, beta=beta)) > P_VALUE


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("max_rounds", [1, 2])
def test_rows_weighed_in_full(
    rule: WalkRule, max_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(biased_walk, "MAX_ROUNDS", max_rounds)
    graph = WalkGraph.of(two_graphs())

    p_value = sample_and_compare(graph, settings_for(graph, rule, alpha=0.9, beta=0.7))

    assert p_value > P_VALUE


@pytest.mark.parametrize("rule", WalkRule)
def test_a_slightly_wrong_depth_bias_is_noticed(rule: WalkRule) -> None:
    graph = WalkGraph.of(knowledge_graph(HUB))

    p_value = sample_and_compare(
        graph, settings_for(graph, rule, alpha=0.8), settings_for(graph, rule, alpha=0.77)
    )

    assert p_value < P_VALUE


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("beta", [None, 0.7])
def test_a_wrong_depth_bias_is_noticed_in_two_graphs(rule: WalkRule, beta: float | None) -> None:
    graph = WalkGraph.of(two_graphs())
    right, wrong = (settings_for(graph, rule, alpha=a, beta=beta) for a in (0.8, 0.7))

    assert sample_and_compare(graph, right, wrong) < P_VALUE


@pytest.mark.parametrize("rule", WalkRule)
def test_a_slightly_wrong_cross_bias_is_noticed(rule: WalkRule) -> None:
    graph = WalkGraph.of(two_graphs())

    p_value = sample_and_compare(
        graph, settings_for(graph, rule, beta=0.7), settings_for(graph, rule, beta=0.73)
    )

    assert p_value < P_VALUE


def test_the_rules_are_told_apart() -> None:
    graph = WalkGraph.of(two_graphs())
    program, paper = (settings_for(graph, rule, beta=0.7, n_paths=5000) for rule in WalkRule)

    assert sample_and_compare(graph, program, paper) < P_VALUE


def test_the_first_steps_of_a_worked_example() -> None:
    """A triangle 0, 1, 2 with a tail 3 at 1, by hand: from 0 to 1, then where?"""
    graph = WalkGraph.of(knowledge_graph([(0, 0, 1), (1, 0, 2), (2, 0, 0), (1, 0, 3)]))
    paper = WalkSettings(length=2, depth_bias=0.8, rule=WalkRule.PAPER)
    program = WalkSettings(length=2, depth_bias=0.8)

    by_paper = dict(LiteralWalk(graph, paper).probabilities((0, 0, 1)))
    by_program = dict(LiteralWalk(graph, program).probabilities((0, 0, 1)))

    to_0: Path = (0, 0, 1, 1, 0)
    to_2: Path = (0, 0, 1, 0, 2)
    to_3: Path = (0, 0, 1, 0, 3)
    assert by_paper == pytest.approx({to_0: 1 / 6, to_2: 1 / 6, to_3: 4 / 6})
    assert by_program == pytest.approx({to_0: 1 / 3, to_2: 1 / 3, to_3: 1 / 3})
