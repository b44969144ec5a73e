"""A server that listens: its socket, its address, and its end."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MOST_WAITING = 128
"""Connections that wait to be taken up."""
END_SECONDS = 2
"""That what is being answered has at the end, before it is cut off."""
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 (asks for a token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server listens and who may ask."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0 for a free one."""
    token: str | None = None
    """None: one is made where others than this machine can ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server can be reached."""

    address: str
    token: str | None

    @property
    def link(self) -> str:
        """What a browser is given, once."""
        return self.address if self.token is None else f"{self.address}?token={self.token}"


def serve_dashboard(
    runs: Path, place: Place, device: str, announce: Callable[[Address], None]
) -> None:
    """Show the runs below a folder until interrupted; `announce` is told where."""
    _require_extra()
    from interstellar.dashboard.listing import list_runs  # noqa: PLC0415 (an extra)
    from interstellar.dashboard.sites import DashboardSite  # noqa: PLC0415

    list_runs(runs)  # what is no folder is refused before anything listens
    _serve(place, announce, lambda is_ending: DashboardSite(runs, device, is_ending).build())


def serve_model(run: Path, place: Place, device: str, announce: Callable[[Address], None]) -> None:
    """Answer questions to a trained run over HTTP until interrupted; `announce` is told where."""
    _require_extra()
    from interstellar.dashboard.open_models import OpenModels  # noqa: PLC0415 (an extra)
    from interstellar.dashboard.sites import ModelSite  # noqa: PLC0415

    models = OpenModels(device)
    way = models.open(run)
    _serve(place, announce, lambda _is_ending: ModelSite(run, way, models).build())


def _serve(
    place: Place,
    announce: Callable[[Address], None],
    build: Callable[[Callable[[], bool]], "ASGIApp"],
) -> None:
    import uvicorn  # noqa: PLC0415 (an extra)

    from interstellar.dashboard.guard import Guard, choose_token, is_own_address  # noqa: PLC0415

    def is_ending() -> bool:
        return server.should_exit

    token = choose_token(place.host, place.token)
    guard = Guard(served=build(is_ending), token=token, is_own=is_own_address(place.host))
    config = uvicorn.Config(
        guard,
        http="h11",
        loop="asyncio",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=END_SECONDS,
    )
    server = uvicorn.Server(config)
    with _listen(place) as listening:
        announce(Address(address=_address(place.host, listening), token=token))
        server.run(sockets=[listening])


def _listen(place: Place) -> socket.socket:
    """Return a socket that takes up connections from now on."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        return socket.create_server((place.host, place.port), family=family, backlog=MOST_WAITING)
    except OSError as error:
        raise SettingsError(
            f"nothing can listen at port {place.port} of {place.host} ({error.strerror}). "
            "Choose another `port` (0 for a free one), or another `host`."
        ) from None


def _address(host: str, listening: socket.socket) -> str:
    """Return the address of a server; one that listens everywhere is named by its machine."""
    port = listening.getsockname()[1]
    if host in EVERYWHERE:
        host = socket.gethostname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _require_extra() -> None:
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"{' and '.join(missing)} is not installed, and a server needs it. "
            "Install it by `pip install 'interstellar-kg[dashboard]'`."
        )
