"""Who may ask: what stands before every answer of the server, whatever it serves.

Only reading methods are known. A server that listens on this machine alone answers to its own
names alone, so that no page elsewhere can reach it by a name of its own (DNS rebinding); one that
others can reach asks for its token. There are no headers that would let another site's page read.
"""

import hmac
import secrets
import string
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interstellar.errors import SettingsError

COOKIE = "interstellar_token"
LEAST_LETTERS = 16
"""Of a token."""
METHODS = {"GET", "HEAD"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
HOW_TO_ASK = (
    "This server answers who knows its token. Open the address that it printed at its start, or "
    "send the header `Authorization: Bearer TOKEN`.\n"
)
_LETTERS = set(string.ascii_letters + string.digits + "-_")


def is_own_address(host: str) -> bool:
    """Return whether only this machine can reach what listens at a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def choose_token(host: str, given: str | None) -> str | None:
    """Return the token that a server at a host asks for; None: nobody else can reach it."""
    if given is None:
        return None if is_own_address(host) else secrets.token_urlsafe(32)
    if len(given) < LEAST_LETTERS or not set(given) <= _LETTERS:
        raise SettingsError(
            f"the token has {len(given)} letters, but it must have {LEAST_LETTERS} or more, of "
            "A–Z, a–z, 0–9, - and _. Leave `token` out to have one made."
        )
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A server behind the rules of this module."""

    served: ASGIApp
    token: str | None
    is_own: bool
    """Whether it listens on this machine alone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.served(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refuse(HTTPConnection(scope))
            await (refusal or self.served)(scope, receive, _with_headers(send))

    def _refuse(self, asked: HTTPConnection) -> Response | None:
        """Return what is said instead of an answer; None: it may be answered."""
        if asked.scope["method"] not in METHODS:
            said = "Only GET is answered: nothing can be changed here.\n"
            return _say(HTTPStatus.METHOD_NOT_ALLOWED, said, {"Allow": "GET, HEAD"})
        host = asked.headers.get("host", "")
        if self.is_own and not is_own_address(_name_of(host)):
            return _say(
                HTTPStatus.MISDIRECTED_REQUEST,
                "This server is for this machine, under 127.0.0.1 or localhost.\n",
            )
        if _is_from_another_site(asked.headers):
            return _say(HTTPStatus.FORBIDDEN, "Pages of other sites are not answered.\n")
        return self._ask_for_token(asked)

    def _ask_for_token(self, asked: HTTPConnection) -> Response | None:
        if self.token is None:
            return None
        named = asked.query_params.get("token")
        if named is not None and self._is_right(named):
            return self._remember(asked)
        scheme, _, bearer = asked.headers.get("authorization", "").partition(" ")
        is_borne = scheme.lower() == "bearer" and self._is_right(bearer)
        if is_borne or self._is_right(_kept_token(asked)):
            return None
        return _say(HTTPStatus.UNAUTHORIZED, HOW_TO_ASK, {"WWW-Authenticate": "Bearer"})

    def _is_right(self, given: str) -> bool:
        assert self.token is not None
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _remember(self, asked: HTTPConnection) -> Response:
        """Send to the same address without the token, which a cookie holds from now on."""
        assert self.token is not None
        query = parse_qsl(asked.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + asked.scope["path"].lstrip("/\\")  # `//elsewhere` would be another server
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, HTTPStatus.SEE_OTHER)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return answer


def _say(status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text, status, headers)


def _name_of(host: str) -> str:
    """Return the name in a `Host`, without its port and the brackets of IPv6."""
    name, colon, port = host.lower().rpartition(":")
    found = name if colon and port.isdigit() else host.lower()
    return found[1:-1] if found.startswith("[") and found.endswith("]") else found


def _is_from_another_site(headers: Headers) -> bool:
    """Return whether a page elsewhere asks, but for a link that somebody follows."""
    is_elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return is_elsewhere and headers.get("sec-fetch-mode") != "navigate"


def _kept_token(asked: HTTPConnection) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(asked.headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _with_headers(send: Send) -> Send:
    """Return `send` that adds the headers of every answer which an answer does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
