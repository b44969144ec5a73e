"""How many paths the paper's sets give."""

import pytest
import torch

import interstellar
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkSettings
from tests.benchmark_sets import requires_set

CPU = torch.device("cpu")

pytestmark = pytest.mark.benchmark_sets


@requires_set("entity-alignment/DBP-WD-normal")
def test_dbp_wd_gives_531_708_paths_of_seven_steps() -> None:
    graph = WalkGraph.of(interstellar.load("DBP-WD"))

    paths = sample_paths(graph, WalkSettings.alignment(), seed=0, device=CPU)

    assert graph.n_triplets == 265_854
    assert (paths.n_paths, paths.length) == (531_708, 7)


@requires_set("link-prediction/WN18RR")
def test_wn18rr_gives_347_340_paths_of_three_steps() -> None:
    graph = WalkGraph.of(interstellar.load("WN18RR"))

    paths = sample_paths(graph, WalkSettings.link_prediction(), seed=0, device=CPU)

    assert (paths.n_paths, paths.length) == (347_340, 3)
