"""Where trials run: how many do not slow each other down, and which engine that is."""

from contextlib import closing
from pathlib import Path

import pytest
import torch

from interstellar.engine.engine import ThisProcess
from interstellar.engine.local_processes import LocalProcesses
from interstellar.engine.ray_cluster import RayCluster
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.judge import Judge
from interstellar.searching.workers import Workers
from tests.searching.small_searches import CPU, small_search


def test_one_worker_is_this_process_and_several_are_others(tmp_path: Path) -> None:
    experiment = small_search(StrategyName.RANDOM)
    judge = Judge(experiment, CPU)

    engines = []
    for n in (1, 2):
        workers = Workers(device=CPU, n=n)
        with closing(workers.open_engine(judge, experiment, tmp_path, 4)) as engine:
            engines.append(type(engine))

    assert engines == [ThisProcess, LocalProcesses]


@pytest.mark.parametrize(("device", "n_apart"), [("cpu", 6), ("cuda", 3)])
def test_workers_of_a_cluster_slow_each_other_down_on_its_cards_alone(
    device: str, n_apart: int
) -> None:
    cluster = RayCluster(n_cpus=8, n_gpus=3, is_joined=False)

    assert Workers(device=torch.device(device), n=6, cluster=cluster).n_apart == n_apart
