"""Where trials run: said by the user, or by budget and machine."""

import pytest
import torch

import interstellar as ist
from interstellar.engine.ray_cluster import RayCluster
from interstellar.searching.workers import Workers
from interstellar.workflow import chosen_workers
from interstellar.workflow.audience import Audience
from interstellar.workflow.chosen_workers import choose_workers

CPU = torch.device("cpu")
DATA = "geography-S3"


@pytest.mark.parametrize(
    ("asked", "budget", "n"),
    [
        (None, ist.Budget(trials=5), 1),
        (None, ist.Budget(time="1m"), 3),
        (None, ist.Budget(time="5s"), 1),
        (None, ist.Budget(time="1m", trials=5), 3),
        (2, ist.Budget(time="1m"), 2),
        (2, ist.Budget(trials=5), 2),
    ],
)
def test_with_a_limit_of_time_every_core_has_a_trial_unless_workers_are_given(
    monkeypatch: pytest.MonkeyPatch, asked: int | None, budget: ist.Budget, n: int
) -> None:
    monkeypatch.setattr(chosen_workers, "count_cores", lambda: 3)

    workers = choose_workers(ist.load(DATA), "cpu", budget, Audience.NOBODY, n=asked)

    assert workers == Workers(device=CPU, n=n)


@pytest.mark.parametrize(("address", "is_said"), [(None, True), ("auto", False)])
def test_whoever_has_ray_started_is_told_that_it_listens(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str | None,
    is_said: bool,
) -> None:
    cluster = RayCluster(n_cpus=2, n_gpus=0, is_joined=True, address=address)
    monkeypatch.setattr(chosen_workers, "join_cluster", lambda _: cluster)

    workers = choose_workers(
        ist.load(DATA),
        "cpu",
        ist.Budget(trials=5),
        Audience.LINES,
        engine="ray",
        ray_address=address,
    )

    assert workers == Workers(device=CPU, n=2, cluster=cluster)
    assert ("listens on all network interfaces" in capsys.readouterr().err) is is_said
