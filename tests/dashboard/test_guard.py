import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message

from interstellar.dashboard.guard import COOKIE, Guard, choose_token, is_own_address
from interstellar.errors import SettingsError

TOKEN = "a-token-of-some-length"


async def answer(_request: Request) -> Response:
    return PlainTextResponse("secret")


def client(
    *, token: str | None = None, is_own: bool = True, base: str = "http://127.0.0.1:8080"
) -> TestClient:
    served = Starlette(routes=[Route("/", answer), Route("/page", answer)])
    guard = Guard(served=served, token=token, is_own=is_own)
    return TestClient(guard, base_url=base, follow_redirects=False)


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example", False),
    ],
)
def test_only_loopback_is_this_machine_alone(host: str, is_own: bool) -> None:
    assert is_own_address(host) is is_own
    assert (choose_token(host, None) is None) is is_own


def test_tokens_that_are_made_are_long_and_differ() -> None:
    tokens = {choose_token("0.0.0.0", None) for _ in range(8)}

    assert len(tokens) == 8
    assert min(len(token or "") for token in tokens) > 40


@pytest.mark.parametrize("token", ["", "short", "with spaces in it, and long", "é" * 20, "x;" * 20])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused(token: str) -> None:
    with pytest.raises(SettingsError, match="16 or more"):
        choose_token("127.0.0.1", token)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost:1", "LOCALHOST", "[::1]", "[::1]:8080"]
)
def test_this_machine_is_answered_under_its_own_names(host: str) -> None:
    assert client().get("/", headers={"Host": host}).text == "secret"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "[::1", ":80"]
)
def test_a_name_of_somebody_else_is_refused(host: str) -> None:
    reply = client().get("/", headers={"Host": host})

    assert reply.status_code == 421
    assert "secret" not in reply.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_known(method: str) -> None:
    reply = client().request(method, "/")

    assert reply.status_code == 405
    assert reply.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("cross-site", "cors", 403),
        ("same-site", "cors", 403),
    ],
)
def test_pages_of_other_sites_can_link_here_and_no_more(site: str, mode: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}

    assert client().get("/", headers=headers).status_code == status


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/none", 404)])
def test_every_answer_has_the_headers_of_safety_and_none_that_lets_others_read(
    path: str, status: int
) -> None:
    reply = client().get(path)

    assert reply.status_code == status
    assert reply.headers["content-security-policy"].startswith("default-src 'self';")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert [name for name in reply.headers if name.startswith("access-control")] == []


def test_without_the_token_nothing_is_said() -> None:
    asked = client(token=TOKEN, is_own=False, base="http://somewhere.example")

    for reply in (
        asked.get("/"),
        asked.get("/none"),
        asked.get("/?token=wrong"),
        asked.get("/?token="),
        asked.get("/", headers={"Authorization": "Bearer wrong"}),
        asked.get("/", headers={"Authorization": "Basic " + TOKEN}),
        asked.get("/", headers={b"Authorization": "Bearer é".encode()}),
        asked.get("/", headers={"Cookie": f"{COOKIE}=wrong"}),
        asked.get("/", headers={"Cookie": '=;;;="\\'}),
    ):
        assert reply.status_code == 401
        assert "secret" not in reply.text
        assert "set-cookie" not in reply.headers


def test_the_token_is_taken_as_a_header() -> None:
    asked = client(token=TOKEN, is_own=False, base="http://somewhere.example")

    reply = asked.get("/", headers={"Authorization": f"bearer {TOKEN}"})

    assert (reply.status_code, reply.text) == (200, "secret")
    assert "set-cookie" not in reply.headers


def test_the_token_in_an_address_becomes_a_cookie_and_leaves_the_address() -> None:
    asked = client(token=TOKEN, is_own=False, base="http://somewhere.example")

    first = asked.get("/page", params={"token": TOKEN, "run": "a b&c"})

    assert first.status_code == 303
    assert first.headers["location"] == "/page?run=a+b%26c"
    for word in ("HttpOnly", "samesite=strict"):
        assert word.lower() in first.headers["set-cookie"].lower()
    assert asked.get(first.headers["location"]).text == "secret"  # the client keeps cookies


def test_an_address_with_the_token_cannot_lead_to_another_server() -> None:
    asked = client(token=TOKEN, is_own=False, base="http://somewhere.example")

    reply = asked.get("http://somewhere.example//evil.example/", params={"token": TOKEN})

    assert reply.headers["location"].startswith("/evil.example")


def test_a_loopback_server_with_a_token_asks_for_both() -> None:
    asked = client(token=TOKEN)

    assert asked.get("/").status_code == 401
    asked.headers["Authorization"] = f"Bearer {TOKEN}"
    assert asked.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert asked.get("/").status_code == 200


def test_what_is_neither_a_request_nor_the_servers_own_is_not_answered() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    async def serve(*_: Any) -> None:
        raise AssertionError

    guard = Guard(served=serve, token=None, is_own=True)
    asyncio.run(guard({"type": "websocket", "headers": []}, receive, send))

    assert sent == []
