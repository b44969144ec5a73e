"""Small JSON files: written whole, read with distrust, each with the version of its format.

A number that is not finite is written as null, because JSON has no word for it and null is what
pandas, polars and browsers take for "no number".
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from interstellar.errors import DataError
from interstellar.printable import printable
from interstellar.records.safe_files import replacing_file

MAX_JSON_BYTES = 2**26
"""Room for the result of a search of some hundred thousand trials."""


def to_plain(value: object) -> object:
    """Return `value` as JSON can hold it: NaN and ±inf as null, paths and NumPy's as plain ones.

    Text with half a character, as in a file name that is not UTF-8, has it shown as an escape.
    """
    match value:
        case None | bool() | int():
            return value
        case str() | Path():
            return _plain_text(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case np.generic() | np.ndarray():
            return to_plain(value.tolist())
        case list() | tuple():
            return [to_plain(item) for item in value]
        case Mapping():
            if all(isinstance(key, str) for key in value):
                return {_plain_text(key): to_plain(item) for key, item in value.items()}
    raise TypeError(f"{value!r} of type {type(value).__name__} has no place in JSON.")


def write_json(path: Path, values: Mapping[str, object], *, kind: str, version: int) -> None:
    """Write an object, with what it is and its version in front, whole or not at all."""
    assert not {"format", "version"} & set(values), "these two keys belong to the file"
    whole = {"format": f"interstellar {kind}", "version": version, **values}
    with replacing_file(path) as file:
        file.write(json.dumps(to_plain(whole), indent=2, allow_nan=False).encode() + b"\n")


def read_json(path: Path, *, kind: str, version: int) -> dict[str, object]:
    """Read what `write_json` wrote, without its two keys; a newer version is refused."""
    whole = parse_object(read_bounded(path, MAX_JSON_BYTES), str(path))
    check_format(whole, str(path), kind=kind, version=version)
    return {key: value for key, value in whole.items() if key not in ("format", "version")}


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a plain file; what the system refuses meanwhile becomes a DataError."""
    try:
        if not path.is_file():
            found = "is not a plain file" if path.exists() else "does not exist"
            raise DataError(f"{path} {found}, but it is to be read. Check the path.")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        reason = f"{path} cannot be read ({error.strerror}). Check its name and its rights."
        raise DataError(reason) from None


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """Return the content of a plain file of at most `most_bytes`."""
    with reading(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise DataError(
            f"{path} has more than {most_bytes:,} bytes, which no such file needs. "
            "Check that it is the right file."
        )
    return content


def parse_object(content: bytes, place: str) -> dict[str, object]:
    """Return the one JSON object that `content` is; its text is Unicode, its numbers finite."""
    try:
        value = parse_value(content)
    except (ValueError, RecursionError) as error:
        found = f"is not JSON ({error})" if content.strip() else "is empty"
        raise DataError(
            f"{place} {found}, but it must be one JSON object. "
            "Take the file from a copy, or make it anew."
        ) from None
    if not isinstance(value, dict):
        raise DataError(f"{place} must be one JSON object, but it is something else. Make it anew.")
    return value


def parse_value(content: bytes) -> Any:
    """Return the JSON value that `content` is; ValueError for what the standard does not allow."""
    value = json.loads(content.decode(), parse_float=_parse_float, parse_constant=_refuse_constant)
    if b"\\ud" in content.lower():  # half a character can be written as an escape only
        json.dumps(value, ensure_ascii=False).encode()
    return value


def check_format(whole: Mapping[str, object], place: str, *, kind: str, version: int) -> None:
    """Raise unless the object says that it is of this kind, and of a version we can read."""
    found, found_version = whole.get("format"), whole.get("version")
    if found != f"interstellar {kind}" or type(found_version) is not int or found_version < 1:
        raise DataError(
            f"{place} says format {str(found)[:60]!r} and version {str(found_version)[:20]}, but "
            f"must say 'interstellar {kind}' and a version from 1 up. Check the file."
        )
    if found_version > version:
        raise DataError(
            f"{place} has version {found_version} of the format 'interstellar {kind}', but this "
            f"program reads versions up to {version}. Use a newer interstellar."
        )


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _plain_text(value: str | Path) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return printable(text)
    return text
