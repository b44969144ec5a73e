"""A web server on this machine that answers as well or as badly as a test wants."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What the server says to a request."""

    body: bytes = b""
    status: int = 200
    stated_length: str | None = None
    """What Content-Length says, if not the truth; "" leaves it out."""
    headers: Mapping[str, str] = field(default_factory=dict)
    fails_first: int = 0
    """So many requests are answered with status 503 before the true answer."""


@dataclass
class LoopbackServer:
    """Where the server listens, what it answers, and what it was asked."""

    url: str
    answers: dict[str, Answer]
    asked: list[str] = field(default_factory=list)


@contextmanager
def serve(answers: Mapping[str, Answer]) -> Iterator[LoopbackServer]:
    """Answer requests for `/path` until the block ends."""
    served = LoopbackServer("", dict(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            served.asked.append(path)
            answer = served.answers.get(path, Answer(status=404))
            if answer.fails_first:
                answer.fails_first -= 1
                answer = Answer(status=503)
            self.send_response(answer.status)
            length = str(len(answer.body)) if answer.stated_length is None else answer.stated_length
            if length:
                self.send_header("Content-Length", length)
            for key, value in answer.headers.items():
                self.send_header(key, value)
            self.end_headers()
            with suppress(ConnectionError):  # the client has had enough, as some tests want
                self.wfile.write(answer.body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
