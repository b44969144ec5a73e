"""Files as they lie on disk: their format, and their bytes packed and unpacked."""

import io
import lzma
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import IO, BinaryIO

import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.spelling import shorten
from interstellar.errors import SettingsError
from interstellar.printable import printable
from interstellar.watching import is_watched, say_how_far

COMPRESSIONS = (".gz", ".xz", ".zst")
PACKING_BY_SUFFIX = {".gz": "gzip", ".zst": "zstd"}
"""Those that Arrow packs and unpacks."""
UNPACKING_ERRORS = (OSError, lzma.LZMAError, EOFError)
LOOK_SECONDS = 0.1
SIZE_VARIABLE = "INTERSTELLAR_MAX_UNPACKED_GB"


class FileFormat(StrEnum):
    """How triplets are written in one file."""

    TSV = "tab-separated"
    CSV = "comma-separated"
    PARQUET = "Parquet"
    N_TRIPLES = "N-Triples"
    TURTLE = "Turtle"


FORMAT_BY_SUFFIX = {
    "": FileFormat.TSV,
    ".txt": FileFormat.TSV,
    ".tsv": FileFormat.TSV,
    ".tab": FileFormat.TSV,
    ".csv": FileFormat.CSV,
    ".parquet": FileFormat.PARQUET,
    ".pq": FileFormat.PARQUET,
    ".nt": FileFormat.N_TRIPLES,
    ".ttl": FileFormat.TURTLE,
    ".turtle": FileFormat.TURTLE,
}


def plain_name(path: Path) -> str:
    """Return the file's name without the suffix of a compression."""
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def format_of(path: Path) -> FileFormat | None:
    """Return the format that a file's name promises, or None for an unknown ending."""
    return FORMAT_BY_SUFFIX.get(Path(plain_name(path)).suffix.lower())


def find_files(folder: Path, stem: str) -> list[Path]:
    """Return the files of that stem in any format and compression, e.g. `train.tsv.gz`."""
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = [stem + end + packed for end in FORMAT_BY_SUFFIX for packed in ("", *COMPRESSIONS)]
    return [folder / name for name in names if name in present and (folder / name).is_file()]


def find_file(folder: Path, stem: str) -> Path | None:
    """Return the first file of that stem, or None."""
    return next(iter(find_files(folder, stem)), None)


def locate(folder: Path, stem: str, ending: str = "") -> Path:
    """Return the first file of that stem, or where it should be."""
    return find_file(folder, stem) or folder / f"{stem}{ending}"


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, unpacking .gz, .xz and .zst as they come."""
    suffix = path.suffix.lower()
    if suffix == ".xz":
        with path.open("rb") as packed, saying_how_far(packed, path), lzma.open(packed) as unpacked:
            yield unpacked
    elif suffix in PACKING_BY_SUFFIX:
        with path.open("rb") as packed, saying_how_far(packed, path):
            yield pa.CompressedInputStream(packed, PACKING_BY_SUFFIX[suffix])
    elif str(path).isprintable():
        # Arrow reads its own files without the GIL
        with pa.OSFile(str(path)) as stream, saying_how_far(stream, path):
            yield stream
    else:  # Arrow wants text, but the system allows any bytes in the name of a file
        with path.open("rb") as stream, saying_how_far(stream, path):
            yield stream


@contextmanager
def saying_how_far(stream: IO[bytes], path: Path) -> Iterator[None]:
    """Look now and then how much of a file has been read, where somebody wants to know."""
    if not is_watched():
        yield
        return
    work, n_bytes, is_over = f"reading {path.name}", path.stat().st_size, threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_SECONDS):
            with suppress(OSError, ValueError):  # a pipe has no place; it may be closed by now
                say_how_far(work, min(stream.tell(), n_bytes - 1), n_bytes, "bytes")

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()
        say_how_far(work, n_bytes, n_bytes, "bytes")


def is_readable_file(path: Path, findings: Findings) -> bool:
    """Return whether there is something to read at `path`; record the fault if not."""
    try:
        status = path.stat()
    except FileNotFoundError:
        findings.fault(path, None, "does not exist. Check the path for a typing error.")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        findings.fault(shorten(str(path)), None, f"cannot be read ({reason}). Check the path.")
    else:
        if stat.S_ISDIR(status.st_mode):
            findings.fault(path, None, "is a folder. A file of triplets or pairs must stand here.")
        elif status.st_size == 0 and stat.S_ISREG(status.st_mode):
            findings.fault(path, None, "is empty. It must hold at least one line.")
        else:
            is_packed = path.suffix.lower() in COMPRESSIONS
            return not is_packed or is_small_enough(path, findings)
    return False


def is_small_enough(path: Path, findings: Findings) -> bool:
    """Return whether a packed file holds no more than is allowed; record the fault if it does."""
    most = left = most_unpacked_bytes()
    with suppress(*UNPACKING_ERRORS), open_unpacked(path) as stream:  # damage is found out later
        while left >= 0 and (chunk := stream.read(2**20)):
            left -= len(chunk)
    if left < 0:
        findings.fault(
            path,
            None,
            f"unpacks to more than {most / 1e9:g} GB, the most that is allowed. If that is meant, "
            f"set ${SIZE_VARIABLE} to a larger number of gigabytes.",
        )
    return left >= 0


def most_unpacked_bytes() -> int:
    """Return how large a packed file may become: $INTERSTELLAR_MAX_UNPACKED_GB, or 2 GB."""
    given = os.environ.get(SIZE_VARIABLE, "2")
    try:
        n_bytes = float(given) * 1e9
    except ValueError:
        n_bytes = 0
    if not 0 < n_bytes < inf:
        raise SettingsError(
            f"${SIZE_VARIABLE} is {printable(given)!r}, but it must be a number of gigabytes. "
            "Set it to a number such as 20."
        )
    return int(n_bytes)


@contextmanager
def recording_damage(path: Path, findings: Findings) -> Iterator[None]:
    """Record a fault where the file that is read inside cannot be unpacked or read to its end."""
    try:
        yield
    except UNPACKING_ERRORS as error:
        findings.fault(
            path, None, f"cannot be read to its end ({error}). Copy or download the file again."
        )


@contextmanager
def packing(file: BinaryIO, path: Path) -> Iterator[IO[bytes]]:
    """Give a stream that packs what is written, as the file's name promises."""
    suffix = path.suffix.lower()
    if suffix == ".xz":
        with lzma.open(file, "wb") as stream:
            yield stream
    elif suffix in PACKING_BY_SUFFIX:
        own = io.FileIO(os.dup(file.fileno()), "wb")  # Arrow closes what it writes to
        with pa.CompressedOutputStream(own, PACKING_BY_SUFFIX[suffix]) as stream:
            yield stream
    else:
        yield file
