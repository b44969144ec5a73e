"""Commands that serve, started as programs of their own on a free port, and what they answer."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a command that serves, and return it with the object it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "interstellar", *map(str, arguments), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline() or "{}")
    finally:
        process.kill()
        process.communicate(timeout=20)


def fetch(address: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
