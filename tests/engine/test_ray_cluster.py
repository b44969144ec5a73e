"""A Ray cluster: what is refused before the first trial."""

import socket
import sys
from importlib import import_module

import pytest

from interstellar.engine.ray_cluster import (
    RayCluster,
    facts_here,
    join_cluster,
    refuse_other_versions,
    refuse_silent_address,
    share_of,
)
from interstellar.errors import SettingsError

TWO_CARDS = RayCluster(n_cpus=4, n_gpus=2, is_joined=False)
NO_CARD = RayCluster(n_cpus=4, n_gpus=0, is_joined=False)


def test_machines_with_the_same_versions_are_taken() -> None:
    refuse_other_versions({"10.0.0.1": facts_here(), "10.0.0.2": facts_here()}, facts_here())


@pytest.mark.parametrize("name", ["Python", "interstellar-kg", "torch", "ray"])
def test_a_machine_with_another_version_is_refused_with_both(name: str) -> None:
    theirs = facts_here() | {name: "0.0.1"}

    with pytest.raises(SettingsError) as refusal:
        refuse_other_versions({"10.0.0.1": facts_here(), "10.0.0.2": theirs}, facts_here())

    words = str(refusal.value)
    assert f"10.0.0.2 of the Ray cluster has {name} 0.0.1, and here it is" in words
    assert facts_here()[name] in words
    assert "\n" not in words


def test_a_machine_without_the_package_is_refused_with_the_reason() -> None:
    with pytest.raises(SettingsError, match=r"10\.0\.0\.2 .* cannot run .*No module named"):
        refuse_other_versions({"10.0.0.2": "No module named 'interstellar'"}, facts_here())


@pytest.mark.parametrize("address", ["", "x", "x:", ":1", "x:0", "x:99999", "ray://x"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="must be auto or host:port"):
        refuse_silent_address(address)


def test_an_address_at_which_nobody_listens_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refuse_silent_address(f"127.0.0.1:{port}")

    with pytest.raises(SettingsError, match=f"no Ray cluster answers at 127.0.0.1:{port}"):
        refuse_silent_address(f"127.0.0.1:{port}")


def test_without_ray_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interstellar.engine.ray_cluster.find_spec", lambda _: None)

    with pytest.raises(SettingsError, match=r"pip install 'interstellar-kg\[ray\]'"):
        join_cluster()


@pytest.mark.parametrize(
    ("device", "n_workers", "share"),
    [
        ("cpu", 4, {"num_cpus": 1}),
        ("cuda", 2, {"num_cpus": 0, "num_gpus": 1.0}),
        ("cuda", 3, {"num_cpus": 0, "num_gpus": 0.5}),
        ("cuda", 8, {"num_cpus": 0, "num_gpus": 0.25}),
    ],
)
def test_workers_share_cores_or_cards(device: str, n_workers: int, share: dict[str, float]) -> None:
    assert share_of(TWO_CARDS, device, n_workers) == share


@pytest.mark.parametrize(
    ("device", "n_workers", "words"),
    [
        ("cpu", 5, "5 workers were asked for, and the Ray cluster has 4 cores"),
        ("cuda", 1, "has no GPU"),
        ("cuda:1", 1, "Ray itself chooses the GPU"),
    ],
)
def test_what_the_cluster_does_not_have_is_refused(device: str, n_workers: int, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        share_of(NO_CARD, device, n_workers)


def test_what_happens_in_a_cluster_is_not_printed_among_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    cluster = RayCluster(n_cpus=1, n_gpus=0, is_joined=True)
    said = {"lines": ["Raylet is terminated."], "pid": "raylet", "is_err": False}

    def happen() -> str:
        import_module("ray._private.worker").print_worker_logs(said, sys.stdout)
        return capsys.readouterr().out

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    cluster.join_again()
    silent = happen()
    cluster.leave()

    assert silent == ""
    assert "Raylet is terminated." in happen()
