import json
from pathlib import Path

import pytest

from interstellar.dashboard import listening
from interstellar.dashboard.listening import Address, Place
from tests.cli.run_command import assert_refused, run_command
from tests.dashboard.started_servers import fetch, started
from tests.reporting.written_runs import write_search


def test_a_dashboard_prints_its_address_and_the_link_with_the_token(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def serve(runs: Path, place: Place, device: str, announce: object) -> None:
        asked.extend((runs, place, device))
        assert callable(announce)
        announce(Address(address="http://here:9/", token="t" * 20))

    monkeypatch.setattr(listening, "serve_dashboard", serve)

    outcome = run_command(
        capfd, "dashboard", tmp_path, "--port", 9, "--host", "0.0.0.0", "--device", "cpu"
    )

    assert outcome.code == 0
    assert outcome.out == f"Listening at http://here:9/?token={'t' * 20}\n"
    assert asked == [tmp_path, Place(host="0.0.0.0", port=9), "cpu"]


@pytest.mark.parametrize("command", ["dashboard", "serve"])
def test_a_token_that_could_be_guessed_is_refused(
    command: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_search(tmp_path / "run", [{"score": 0.1}])
    place = tmp_path if command == "dashboard" else tmp_path / "run"

    outcome = run_command(capfd, command, place, "--port", 0, "--token", "1234")

    words = ("--token", "16") if command == "dashboard" else ("keeps no trained network",)
    assert_refused(outcome, *words)


@pytest.mark.parametrize("command", ["dashboard", "serve"])
def test_a_folder_that_is_not_there_is_one_line_and_one_object(
    command: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert_refused(run_command(capfd, command, tmp_path / "none"), "none does not exist")

    said = run_command(capfd, command, tmp_path / "none", "--json")

    assert said.code == 2
    assert "does not exist" in json.loads(said.out)["error"]


def test_what_a_person_reads_is_where_it_listens(tmp_path: Path) -> None:
    with started("dashboard", tmp_path, "--port", 0) as (_, said):
        assert said["address"].startswith("http://127.0.0.1:")
        status, page = fetch(said["address"])

    assert status == 200
    assert "no run in this folder yet" in page
