"""Files of names, one JSON string a line: millions of them go from Arrow to the disk and back.

A name with a quote, a backslash or a control character has escapes; blocks of lines that hold
none are taken as they stand, without a Python string for each name.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from interstellar.errors import DataError
from interstellar.records.json_files import parse_value

AT_ONCE = 2**16
"""Names of one block in writing."""
BLOCK_BYTES = 2**22
"""Of lines that are read at once."""
_ESCAPED = r'["\\\x00-\x1f]'
_BETWEEN = '"\n"'


def encode_names(names: pa.Array) -> Iterator[bytes]:
    """Yield the lines of names, block by block."""
    for start in range(0, len(names), AT_ONCE):
        block = names.slice(start, AT_ONCE)
        if pc.any(pc.match_substring_regex(block, _ESCAPED)).as_py():
            block = _escape(block)
        lines = pc.binary_join_element_wise('"', block, '"\n', "")
        n_bytes = int(pc.sum(pc.binary_length(lines)).as_py())
        yield lines.buffers()[2].slice(0, n_bytes).to_pybytes()


def _escape(names: pa.Array) -> pa.Array:
    """Return names with what JSON writes otherwise, as Python's `json` does it."""
    for letter, escaped in (("\\", "\\\\"), ('"', '\\"'), *_CONTROLS):
        names = pc.replace_substring(names, letter, escaped)
    return names


_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = tuple((chr(n), _SHORT.get(chr(n), f"\\u{n:04x}")) for n in range(32))


def read_names(file: IO[bytes], path: Path) -> pa.Array:
    """Return the names on the lines of a file after the first."""
    blocks, n_before = [pa.array([], pa.string())], 1
    while content := file.read(BLOCK_BYTES) + file.readline():
        block = _take_plain(content)
        if block is None:
            lines = content.removesuffix(b"\n").split(b"\n")
            block = pa.array(_parse(lines, path, n_before + 1), pa.string())
        n_before += len(block)
        blocks.append(block)
    return pa.concat_arrays(blocks)


def _take_plain(content: bytes) -> pa.Array | None:
    """Return the names of lines without escapes; None where there is anything else."""
    if b"\\" in content or not (content[:1] == b'"' and content[-2:] == b'"\n'):
        return None
    with suppress(UnicodeDecodeError):
        text = pa.array([content[1:-2].decode()], pa.string())
        names = pc.split_pattern(text, _BETWEEN).values
        return None if pc.any(pc.match_substring_regex(names, _ESCAPED)).as_py() else names
    return None


def _parse(lines: list[bytes], path: Path, first: int) -> list[str]:
    """Return the name on each line: all at once, or one by one to say which is at fault."""
    with suppress(ValueError, RecursionError):
        names = parse_value(b"[" + b",".join(lines) + b"]")
        if len(names) == len(lines) and all(type(name) is str for name in names):
            return list(names)
    return [_parse_name(line, f"{path}:{number}") for number, line in enumerate(lines, first)]


def _parse_name(line: bytes, place: str) -> str:
    with suppress(ValueError, RecursionError):
        name = parse_value(line)
        if isinstance(name, str):
            return name
    raise DataError(
        f"{place} is not a JSON string of whole characters, but each line holds one name. "
        "Take the file from a copy, or train anew."
    )
