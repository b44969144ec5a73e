"""Files as they lie on disk: which form they have, and their bytes unpacked."""

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO

import pyarrow as pa

from interstellar.data.findings import Findings

COMPRESSIONS = (".gz", ".xz", ".zst")


class FileForm(StrEnum):
    """How triplets are written in one file."""

    TSV = "tab-separated"
    CSV = "comma-separated"
    PARQUET = "Parquet"
    N_TRIPLES = "N-Triples"
    TURTLE = "Turtle"


FORM_BY_SUFFIX = {
    "": FileForm.TSV,
    ".txt": FileForm.TSV,
    ".tsv": FileForm.TSV,
    ".tab": FileForm.TSV,
    ".csv": FileForm.CSV,
    ".parquet": FileForm.PARQUET,
    ".pq": FileForm.PARQUET,
    ".nt": FileForm.N_TRIPLES,
    ".ttl": FileForm.TURTLE,
    ".turtle": FileForm.TURTLE,
}


def plain_name(path: Path) -> str:
    """Return the file's name without the suffix of a compression."""
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def form_of(path: Path) -> FileForm | None:
    """Return the form that a file's name promises, or None for an unknown ending."""
    return FORM_BY_SUFFIX.get(Path(plain_name(path)).suffix.lower())


def find_file(folder: Path, stem: str) -> Path | None:
    """Return the file of that stem in any form and compression, e.g. `train.tsv.gz`."""
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = (stem + suffix + packed for suffix in FORM_BY_SUFFIX for packed in ("", *COMPRESSIONS))
    paths = (folder / name for name in names if name in present)
    return next((path for path in paths if path.is_file()), None)


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, unpacking .gz, .xz and .zst as they come."""
    if path.suffix.lower() == ".xz":
        with lzma.open(path) as stream:
            yield stream
    elif path.suffix.lower() in COMPRESSIONS:
        with pa.input_stream(str(path)) as stream:
            yield stream
    else:
        with pa.OSFile(str(path)) as stream:  # Arrow reads its own files without the GIL
            yield stream


def is_readable_file(path: Path, findings: Findings) -> bool:
    """Return whether there is something to read at `path`; record the fault if not."""
    if path.is_dir():
        findings.fault(path, None, "is a folder. A file of triplets or pairs must stand here.")
    elif not path.exists():
        findings.fault(path, None, "does not exist. Check the path for a typing error.")
    elif path.stat().st_size == 0:
        findings.fault(path, None, "is empty. It must hold at least one line.")
    else:
        return True
    return False


UNPACKING_ERRORS = (OSError, lzma.LZMAError, EOFError)


def record_damage(path: Path, error: BaseException, findings: Findings) -> None:
    """Record that a file could not be unpacked or read to its end."""
    findings.fault(
        path, None, f"cannot be read to its end ({error}). Copy or download the file again."
    )
