"""The two servers: the dashboard of a folder, and the interface of one model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from interstellar.dashboard.board import Board, View
from interstellar.dashboard.listing import has_links
from interstellar.dashboard.open_models import OpenModels
from interstellar.dashboard.openapi import describe_interface
from interstellar.dashboard.page import read_files, write_list, write_runs
from interstellar.dashboard.parts import MOST_COMPARED
from interstellar.dashboard.questions import Refusal, Way, read_question
from interstellar.dashboard.streams import stream_parts
from interstellar.errors import BusyError, InterstellarError
from interstellar.records.environment import find_version
from interstellar.records.json_files import to_plain
from interstellar.reporting.reading import read_runs
from interstellar.reporting.web_page import POLICY, to_html
from interstellar.reporting.writing import build_document

NOT_HERE = "There is no such run here. The list has all that were found.\n"
TOO_MANY = f"At most {MOST_COMPARED} runs are compared. Choose fewer in the list.\n"


@final
class DashboardSite:
    """Pages on the runs below a folder."""

    def __init__(self, root: Path, device: str, is_ending: Callable[[], bool]) -> None:
        self._board = Board(root, is_ending)
        self._models = OpenModels(device)
        self._writing = asyncio.Lock()
        """Reports are written one after the other: a long journal takes a while."""

    def build(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/", self._list),
            Route("/run", self._runs),
            Route("/compare", self._runs),
            Route("/report", self._report),
            Route("/events", self._events),
            *(Route(f"/{way}", self._ask) for way in Way),
            *(Route(path, _send_file) for path in read_files()),
        ]
        return Starlette(routes=routes, lifespan=self._living)

    @asynccontextmanager
    async def _living(self, _app: Starlette) -> AsyncIterator[None]:
        async with self._board.following():
            yield
        self._models.close()

    async def _list(self, _request: Request) -> Response:
        followed = self._board.followed
        parts = await self._board.draw(View())
        assert parts is not None
        return HTMLResponse(write_list(followed.root, parts, is_cut_short=followed.is_cut_short))

    async def _runs(self, request: Request) -> Response:
        view = _view(request)
        if not view.names and request.url.path == "/compare":  # none was chosen in the list
            return RedirectResponse("/", HTTPStatus.SEE_OTHER)
        if len(view.names) > MOST_COMPARED:
            return _say(TOO_MANY, HTTPStatus.BAD_REQUEST)
        parts = await self._board.draw(view) if view.names else None
        if parts is None:
            return _say(NOT_HERE, HTTPStatus.NOT_FOUND)
        return HTMLResponse(write_runs(view, parts))

    async def _events(self, request: Request) -> Response:
        view = _view(request)
        if len(view.names) > MOST_COMPARED:
            return _say(TOO_MANY, HTTPStatus.BAD_REQUEST)
        stream = stream_parts(self._board, view)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _report(self, request: Request) -> Response:
        view = _view(request)
        if len(view.names) > MOST_COMPARED:
            return _say(TOO_MANY, HTTPStatus.BAD_REQUEST)
        folders = self._board.folders_of(view)
        if not folders or any(map(has_links, folders)):
            return _say(NOT_HERE, HTTPStatus.NOT_FOUND)
        async with self._writing:
            try:
                page = await asyncio.to_thread(_write_report, folders)
            except InterstellarError as error:
                return _say(f"{error}\n", HTTPStatus.CONFLICT)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})

    async def _ask(self, request: Request) -> Response:
        query = request.query_params.multi_items()
        view = View(tuple(value for name, value in query if name == "run"))
        folders = self._board.folders_of(view)
        if folders is None or len(folders) != 1:
            return _refuse("Give one run of the list as `run`.", HTTPStatus.NOT_FOUND)
        given = [(name, value) for name, value in query if name != "run"]
        return await _answer(self._models, folders[0], Way(request.url.path[1:]), given)


@final
class ModelSite:
    """The interface of one model."""

    def __init__(self, folder: Path, way: Way, models: OpenModels) -> None:
        self._folder, self._way, self._models = folder, way, models
        version = find_version("interstellar-kg") or "0"
        self._description = describe_interface(way, folder.resolve().name, version)

    def build(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/", self._describe),
            Route("/openapi.json", self._describe),
            Route(f"/{self._way}", self._ask),
        ]
        return Starlette(routes=routes)

    async def _describe(self, _request: Request) -> Response:
        return JSONResponse(self._description)

    async def _ask(self, request: Request) -> Response:
        given = request.query_params.multi_items()
        return await _answer(self._models, self._folder, self._way, given)


async def _answer(
    models: OpenModels, folder: Path, way: Way, given: list[tuple[str, str]]
) -> Response:
    try:
        answers = await models.ask(folder, read_question(way, given))
    except BusyError as error:
        return _refuse(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
    except InterstellarError as error:
        return _refuse(str(error), HTTPStatus.BAD_REQUEST)
    return JSONResponse(to_plain(asdict(answers)))


def _refuse(error: str, status: HTTPStatus) -> Response:
    return JSONResponse(asdict(Refusal(error=error)), status)


def _say(text: str, status: HTTPStatus) -> Response:
    return Response(text, status, media_type="text/plain")


def _view(request: Request) -> View:
    """Return what a page is on: the runs that its address names, each once."""
    return View(tuple(dict.fromkeys(request.query_params.getlist("run"))))


def _write_report(folders: list[Path]) -> str:
    return to_html(build_document(read_runs(folders)))


async def _send_file(request: Request) -> Response:
    content, kind = read_files()[request.url.path]
    return Response(content, media_type=kind)
