"""Downloads a named set: all of it, verified, or nothing.

Line ends and the evaluation pairs are brought into the format of this package; the checksum of each
finished file is compared; the files are written beside the target, and moved into its place when
all are there. Servers are not trusted: they choose no name and no place, and a body that is far too
long, or too slow, is not read to its end.
"""

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, final

from interstellar.data.catalogue import SOURCE_URL, NamedSet, SetFile, missing_files
from interstellar.errors import FetchError

Progress: TypeAlias = Callable[[str], None]
"""Is told, in a sentence, what is done next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a download may take, and how often it is tried."""

    n_attempts: int = 3
    pause_seconds: float = 1.0
    """Before the second attempt; doubled before each further one."""
    silence_seconds: float = 30.0
    """How long a server may say nothing."""
    file_seconds: float = 1800.0
    """How long one file may take."""


def fetch(
    named_set: NamedSet,
    root: Path,
    *,
    base_url: str = SOURCE_URL,
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> Path:
    """Return the folder of a set under `root`, downloading what is missing of it.

    Files that are there are used as they are, and never overwritten.

    Args:
        named_set: Which set, from the catalogue.
        root: The data root; nothing is written outside it.
        base_url: A mirror that holds the same paths as `SOURCE_URL`.
        progress: Is told what is being downloaded.
        patience: Timeouts and attempts, if not the usual ones.

    Raises:
        FetchError: Not every file arrived as expected; then none was kept.
    """
    folder = named_set.folder_below(root)
    missing = missing_files(named_set, root)
    if not missing:
        return folder
    _check_addresses(named_set, folder, base_url)
    download = _Download(
        base_url=base_url.rstrip("/"), folder=folder, patience=patience or Patience()
    )
    try:
        files = [file for file in named_set.files if file.name in missing]
        _fetch_missing(files, download, progress or (lambda _: None))
    except OSError as error:
        raise FetchError(
            f"{named_set.name} could not be written to {folder}: {error}. The folder must be "
            "writable and have room; choose another with $INTERSTELLAR_DATA."
        ) from error
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class _Download:
    """What all files of a set have in common when they are fetched."""

    base_url: str
    folder: Path
    patience: Patience

    def url(self, file: SetFile) -> str:
        return f"{self.base_url}/{file.path}"

    def error(self, file: SetFile, found: str) -> FetchError:
        return FetchError(
            f"{self.url(file)}: {found} Nothing was kept. Try again later, or put the files "
            f"of the set into {self.folder} by hand."
        )


def _check_addresses(named_set: NamedSet, folder: Path, base_url: str) -> None:
    if not named_set.is_fetchable:
        names = ", ".join(file.name for file in named_set.files)
        raise FetchError(
            f"no verified public address is known for {named_set.name}. It comes from "
            f"{named_set.source}; put its files ({names}) into {folder} by hand."
        )
    if not base_url.startswith(("https://", "http://")):
        raise FetchError(
            f"{base_url!r} is not an address to download from. It must start with https://."
        )


def _fetch_missing(files: list[SetFile], download: _Download, progress: Progress) -> None:
    """Fetch the missing files into a folder of their own, then move it or them into place."""
    folder = download.folder
    new_parents = [path for path in folder.parents if not path.exists()]
    # mkdir, not tempfile: the folder will be the set's, with the user's usual permissions.
    scratch = folder.parent / f".{folder.name}-{secrets.token_hex(8)}"
    scratch.mkdir(parents=True)
    try:
        bodies = {}
        for file in files:
            progress(f"Downloading {download.url(file)}")
            bodies[file.name] = _fetch_file(file, download).replace(b"\r\n", b"\n")
        for file in files:
            (scratch / file.name).write_bytes(_finish_file(file, bodies, download))
        _move_into_place(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # the first that is not empty ends it
            for parent in new_parents:
                parent.rmdir()


def _fetch_file(file: SetFile, download: _Download) -> bytes:
    """Return the body at the address of a file, trying again where that may help."""
    patience = download.patience
    for attempt in range(1, patience.n_attempts + 1):
        try:
            return _read_body(file, download)
        except FetchError:
            raise
        # Whatever pooch, requests and what lies beneath make of a server's doings.
        except Exception as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            is_refused = status is not None and status < 500
            if is_refused or attempt == patience.n_attempts:
                raise download.error(file, _say_what_went_wrong(error, status)) from None
        time.sleep(patience.pause_seconds * 2 ** (attempt - 1))
    raise AssertionError("the last attempt returns or raises")


def _say_what_went_wrong(error: BaseException, status: int | None) -> str:
    """Return a sentence on a failed attempt, from what lies at the bottom of the error."""
    if status is not None:
        return f"the server answers {status} instead of the file."
    while error.__context__ is not None:
        error = error.__context__
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return f"the file did not arrive whole ({reason[:200]})."


def _read_body(file: SetFile, download: _Download) -> bytes:
    # Here, because a machine that has its data needs no pooch.
    import pooch  # noqa: PLC0415

    body = _CappedBody(file, download)
    with ExitStack() as connections:

        def close_at_the_end(response: Any, **_: object) -> None:
            connections.callback(response.close)

        read = pooch.HTTPDownloader(
            timeout=download.patience.silence_seconds,
            chunk_size=65_536,
            headers={"Accept-Encoding": "identity"},
            # pooch leaves the connection open where a body is not read to its end.
            hooks={"response": close_at_the_end},
        )
        read(download.url(file), body, None)
    return bytes(body.content)


@final
class _CappedBody:
    """Takes the chunks of a body as a file would, and refuses too many or too late ones."""

    def __init__(self, file: SetFile, download: _Download) -> None:
        self._file = file
        self._download = download
        self._end = time.monotonic() + download.patience.file_seconds
        self.content = bytearray()

    def write(self, chunk: bytes) -> None:
        self.content += chunk
        if len(self.content) > self._file.most_bytes:
            raise self._download.error(
                self._file,
                f"the server sends more than {self._file.most_bytes:,} bytes, where about "
                f"{self._file.n_bytes:,} were expected.",
            )
        if time.monotonic() > self._end:
            seconds = self._download.patience.file_seconds
            raise self._download.error(
                self._file, f"the download was not complete after {seconds:.0f} seconds."
            )

    def flush(self) -> None:
        """Do nothing: there is no file behind this."""


def _finish_file(file: SetFile, bodies: dict[str, bytes], download: _Download) -> bytes:
    """Return a downloaded file in the format of this package, verified."""
    content = bodies[file.name]
    if file.without is not None:  # that file may have been there before
        other = bodies.get(file.without) or (download.folder / file.without).read_bytes()
        taken_out = set(other.splitlines())
        lines = (line for line in content.splitlines() if line not in taken_out)
        content = b"".join(line + b"\n" for line in lines)
    digest = hashlib.new(file.algorithm, content, usedforsecurity=False).hexdigest()
    if digest != file.digest:
        raise download.error(
            file,
            f"expected {file.algorithm} {file.digest} of about {file.n_bytes:,} bytes, "
            f"arrived {digest} of {len(content):,} bytes.",
        )
    return content


def _move_into_place(scratch: Path, folder: Path) -> None:
    """Make the fetched files those of the set; a folder that is there keeps what it has."""
    with suppress(OSError):
        scratch.rename(folder)  # atomic; it replaces an empty folder at most
        return
    for path in sorted(scratch.iterdir()):
        with suppress(FileExistsError):
            os.link(path, folder / path.name)
