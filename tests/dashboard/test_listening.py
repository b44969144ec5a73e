import json
import signal
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import interstellar
from interstellar.dashboard import listening
from interstellar.dashboard.listening import Address, Place, serve_dashboard, serve_model
from interstellar.errors import SettingsError
from tests.dashboard.small_folders import add_epoch, read_message, wait_until, write_runs
from tests.dashboard.started_servers import fetch, started


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_dashboard_serves_until_it_is_interrupted_also_with_pages_open(
    end: signal.Signals, tmp_path: Path
) -> None:
    write_runs(tmp_path)

    with started("dashboard", tmp_path, "--port", 0) as (process, said):
        assert set(said) == {"address", "token"}
        assert said["token"] is None
        wait_until(lambda: "mrr 0.500" in fetch(said["address"])[1])
        with urllib.request.urlopen(f"{said['address']}events", timeout=20) as stream:
            assert stream.readline() == b"retry: 1000\n"
            process.send_signal(end)
            out, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert out == ""  # the one object was all
    assert err == "error: interrupted.\n"


def test_fifty_open_pages_are_all_told_of_a_new_epoch(tmp_path: Path) -> None:
    write_runs(tmp_path)
    folder = tmp_path / "deep" / "training"

    with started("dashboard", tmp_path, "--port", 0) as (_, said), ExitStack() as stack:
        wait_until(lambda: "mrr 0.500" in fetch(said["address"])[1])
        address = f"{said['address']}events"
        pages = [
            stack.enter_context(urllib.request.urlopen(address, timeout=20)) for _ in range(50)
        ]
        add_epoch(folder, 2, 0.77)

        for page in pages:
            for _ in range(100):
                line = page.readline().decode()
                if line.startswith("data: ") and "0.770" in line:
                    break
            assert "deep/training" in read_message(line)["changed"]


def test_a_page_finds_a_server_that_was_killed_and_started_again(tmp_path: Path) -> None:
    write_runs(tmp_path)

    with started("dashboard", tmp_path, "--port", 0) as (process, said):
        port = said["address"].rstrip("/").rpartition(":")[2]
        with urllib.request.urlopen(f"{said['address']}events", timeout=20) as stream:
            stream.readline()
            process.kill()
            with pytest.raises(IncompleteRead):
                stream.read()
    with started("dashboard", tmp_path, "--port", port) as (_, again):
        assert again["address"] == said["address"]
        wait_until(lambda: "mrr 0.500" in fetch(again["address"])[1])


def test_a_hundred_programs_that_ask_a_model_at_once_get_their_own_answers(
    linked: Path, tmp_path: Path
) -> None:
    graph = interstellar.open(linked, device="cpu").graph
    assert isinstance(graph, interstellar.KnowledgeGraph)
    entities, relation = graph.entities.to_list(), graph.relations.name(0)

    with started("serve", linked, "--port", 0, "--device", "cpu") as (_, said):

        def ask(i: int) -> Any:
            query = {"subject": entities[i % len(entities)], "relation": relation, "k": 1 + i % 5}
            return json.loads(fetch(f"{said['address']}predict?{urlencode(query)}")[1])

        with ThreadPoolExecutor(50) as pool:
            found = list(pool.map(ask, range(100)))
        alone = [ask(i) for i in range(0, 100, 10)]

    for i, answers in enumerate(found):
        assert answers["query"]["subject"] == entities[i % len(entities)]
        assert len(answers["answers"]) == 1 + i % 5
    for one, among in zip(alone, found[::10], strict=True):
        assert [a["entity"] for a in one["answers"]] == [a["entity"] for a in among["answers"]]


def test_a_server_for_others_asks_for_the_token_it_printed(tmp_path: Path) -> None:
    write_runs(tmp_path)

    with started("dashboard", tmp_path, "--port", 0, "--host", "0.0.0.0") as (_, said):
        port = said["address"].rstrip("/").rpartition(":")[2]
        here, token = f"http://127.0.0.1:{port}/", said["token"]
        assert fetch(here)[0] == 401
        assert fetch(f"{here}?token=wrong-wrong-wrong")[0] == 401
        assert fetch(here, {"Authorization": f"Bearer {token}"})[0] == 200


def test_a_raw_path_that_climbs_is_refused(tmp_path: Path) -> None:
    write_runs(tmp_path)

    with started("dashboard", tmp_path, "--port", 0) as (_, said):
        port = int(said["address"].rstrip("/").rpartition(":")[2])
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//../etc/passwd"):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
                host = f"127.0.0.1:{port}"
                raw.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                )
                reply = b"".join(iter(lambda: raw.recv(4096), b""))
            assert reply.split()[1] == b"404"
            assert b"root:" not in reply


class StoppedError(Exception):
    """Raised once a server has said where it listens."""


def refuse_to_serve(_found: Address) -> None:
    raise StoppedError


def test_a_port_that_is_taken_is_refused_before_anything_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = Place(port=taken.getsockname()[1])
        with pytest.raises(SettingsError, match=r"nothing can listen at port .*`port`"):
            serve_dashboard(tmp_path, place, "cpu", refuse_to_serve)


@pytest.mark.parametrize("host", ["no.such.host.example", "1.2.3.4"])
def test_a_host_that_is_not_ones_own_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nothing can listen"):
        serve_dashboard(tmp_path, Place(host=host, port=0), "cpu", refuse_to_serve)


def test_what_cannot_be_served_is_refused_before_anything_listens(
    aligned: Path, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        serve_dashboard(tmp_path / "none", Place(port=0), "cpu", refuse_to_serve)
    with pytest.raises(SettingsError, match="a run is a folder"):
        serve_model(tmp_path / "none", Place(port=0), "cpu", refuse_to_serve)


def test_without_its_extra_a_server_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "find_spec", lambda _name: None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[dashboard\]"):
        serve_dashboard(tmp_path, Place(port=0), "cpu", refuse_to_serve)


@pytest.mark.parametrize(
    ("address", "link"),
    [
        (Address(address="http://127.0.0.1:80/", token=None), "http://127.0.0.1:80/"),
        (Address(address="http://here:80/", token="abc"), "http://here:80/?token=abc"),
    ],
)
def test_a_link_holds_the_token_where_there_is_one(address: Address, link: str) -> None:
    assert address.link == link
