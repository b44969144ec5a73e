import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from starlette.testclient import TestClient

from interstellar.dashboard.guard import Guard
from interstellar.dashboard.open_models import OpenModels
from interstellar.dashboard.questions import Way
from interstellar.dashboard.sites import DashboardSite, ModelSite
from interstellar.reporting.web_page import POLICY
from tests.dashboard.small_folders import snapshot, wait_until, write_runs
from tests.reporting.written_runs import Page, write_training

BASE = "http://127.0.0.1:8080"
OUTSIDE = (
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/....//....//etc/passwd",
    "/dashboard.js/../../../etc/passwd",
    "//etc/passwd",
    "/run?run=../secret",
    "/run?run=..%2Fsecret",
    "/run?run=%2Fetc",
    "/run?run=trained%00",
    "/run?run=trained/../trained",
    "/run?run=",
    "/run",
    "/compare?run=trained&run=../secret",
    "/report?run=../secret",
    "/report",
    "/predict?run=../secret&relation=r&subject=s",
    "/predict?relation=r&subject=s",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_training(tmp_path / "secret", [0.2])
    return write_runs(tmp_path / "runs")


@pytest.fixture
def dashboard(folder: Path) -> Iterator[TestClient]:
    site = DashboardSite(folder, "cpu", lambda: False).build()
    with TestClient(Guard(served=site, token=None, is_own=True), base_url=BASE) as client:
        wait_until(lambda: "mrr 0.500" in client.get("/").text)
        yield client


def test_the_list_has_all_runs(dashboard: TestClient) -> None:
    page = Page(dashboard.get("/").text.replace("<link", "<br").replace("<input", "<br"))

    named = [a["href"] for tag, a in page.tags if tag == "a"]
    assert named == ["/run?run=search", "/run?run=deep%2Ftraining", "/run?run=trained"]


@pytest.mark.parametrize("name", ["search", "deep/training", "trained"])
def test_each_run_has_its_page_and_its_report(name: str, dashboard: TestClient) -> None:
    page = dashboard.get("/run", params={"run": name})
    report = dashboard.get("/report", params={"run": name})

    assert page.status_code == report.status_code == 200
    assert "<svg" in page.text
    assert "<svg" in report.text
    assert report.headers["content-security-policy"] == POLICY


def test_chosen_runs_are_on_one_page_and_in_one_report(dashboard: TestClient) -> None:
    chosen = {"run": ["trained", "search", "trained"]}

    assert "2 runs side by side" in dashboard.get("/compare", params=chosen).text
    assert "Side by side" in dashboard.get("/report", params=chosen).text


def test_who_chose_nothing_is_back_at_the_list(dashboard: TestClient) -> None:
    reply = dashboard.get("/compare", follow_redirects=False)

    assert (reply.status_code, reply.headers["location"]) == (303, "/")


@pytest.mark.parametrize("path", ["/compare", "/report", "/events"])
def test_too_many_runs_are_refused_and_not_cut(path: str, dashboard: TestClient) -> None:
    reply = dashboard.get(path, params={"run": [f"run {i}" for i in range(21)]})

    assert reply.status_code == 400
    assert "At most 20" in reply.text


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_the_list_is_read(path: str, dashboard: TestClient) -> None:
    reply = dashboard.get(f"{BASE}{path}")

    assert 400 <= reply.status_code < 500
    assert "root:" not in reply.text


def test_a_run_whose_files_are_links_is_not_listed_and_not_read(folder: Path) -> None:
    (folder / "linked").symlink_to(folder.parent / "secret")
    (folder / "trained" / "result.json").unlink()
    (folder / "trained" / "result.json").symlink_to("/etc/passwd")
    site = DashboardSite(folder, "cpu", lambda: False).build()

    with TestClient(site, base_url=BASE) as client:
        wait_until(lambda: "trained" in client.get("/").text)
        assert "linked" not in client.get("/").text
        assert client.get("/report", params={"run": "trained"}).status_code == 404
        assert "root:" not in client.get("/run", params={"run": "trained"}).text


def test_a_name_with_a_script_in_it_is_text_on_every_page(folder: Path) -> None:
    name = "<script>alert(1)<"
    write_training(folder / name, [0.3], test=0.2)
    site = DashboardSite(folder, "cpu", lambda: False).build()

    with TestClient(site, base_url=BASE) as client:
        wait_until(lambda: "mrr 0.300" in client.get("/").text)
        for path in ("/", f"/run?run={quote(name)}", f"/report?run={quote(name)}"):
            reply = client.get(path)
            assert reply.status_code == 200
            assert name not in reply.text


def test_the_files_of_the_pages_are_sent_with_their_types(dashboard: TestClient) -> None:
    kinds = {
        path: dashboard.get(path).headers["content-type"]
        for path in ("/dashboard.css", "/dashboard.js", "/icon.svg")
    }

    assert [kind.split(";")[0] for kind in kinds.values()] == [
        "text/css",
        "text/javascript",
        "image/svg+xml",
    ]


def test_a_model_is_asked_from_its_page_and_nothing_is_written(
    linked: Path, aligned: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "models"
    shutil.copytree(linked, runs / "linked")
    shutil.copytree(aligned, runs / "aligned")
    before = snapshot(runs)
    site = DashboardSite(runs, "cpu", lambda: False).build()

    with TestClient(site, base_url=BASE) as client:
        wait_until(lambda: "aligned" in client.get("/").text)
        asked = {"run": "linked", "subject": "nobody", "relation": "r"}
        unknown = client.get("/predict", params=asked)
        unfit = client.get("/predict", params=asked | {"run": "aligned"})
        strange = client.get("/predict", params=asked | {"colour": "red"})

    assert (unknown.status_code, unfit.status_code, strange.status_code) == (400, 400, 400)
    assert "not a relation of this graph" in unknown.json()["error"]
    assert "Ask /align" in unfit.json()["error"]
    assert "colour" in strange.json()["error"]
    assert snapshot(runs) == before


def serve(run: Path, way: Way) -> TestClient:
    models = OpenModels("cpu")
    assert models.open(run) is way
    return TestClient(ModelSite(run, way, models).build(), base_url=BASE)


@pytest.mark.parametrize("way", Way)
def test_what_is_answered_is_what_the_description_says(
    way: Way, linked: Path, aligned: Path
) -> None:
    run = linked if way is Way.PREDICT else aligned
    client = serve(run, way)
    described = client.get("/openapi.json").json()
    responses = described["paths"][f"/{way}"]["get"]["responses"]
    import interstellar

    graph = interstellar.open(run, device="cpu").graph
    if isinstance(graph, interstellar.KnowledgeGraph):
        given = {"subject": graph.entities.name(0), "relation": graph.relations.name(0)}
    else:
        given = {"source": graph.source.entities.name(0)}

    for asked in (given, given | {"k": "3"}, {**given, "k": "0"}, {}):
        reply = client.get(f"/{way}", params=asked)
        schema = responses[str(reply.status_code)]["content"]["application/json"]["schema"]
        jsonschema.validate(reply.json(), schema)
        assert reply.status_code == (200 if asked and asked.get("k") != "0" else 400)
    assert client.get("/").json() == described


def test_a_served_model_has_nothing_but_its_own_way(linked: Path) -> None:
    client = serve(linked, Way.PREDICT)

    assert client.get("/align", params={"source": "x"}).status_code == 404
    assert client.get("/run", params={"run": "."}).status_code == 404


def test_too_many_questions_are_a_503(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interstellar.dashboard import open_models

    client = serve(linked, Way.PREDICT)
    monkeypatch.setattr(open_models, "MOST_WAITING", 0)

    reply: Any = client.get("/predict", params={"subject": "a", "relation": "r"})

    assert reply.status_code == 503
    assert "again" in reply.json()["error"]
