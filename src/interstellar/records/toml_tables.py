"""Flat TOML tables and the frozen dataclasses they stand for.

TOML has no null: where a field may be None, the word "none" stands for it.
"""

import difflib
import json
import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from interstellar.errors import DataError, SettingsError
from interstellar.records.json_files import read_bounded

MAX_TOML_BYTES = 2**18
NONE = "none"

Table = dict[str, object]


def read_toml(path: Path) -> Table:
    """Return what a TOML file of at most 256 KiB holds."""
    try:
        return parse_toml(read_bounded(path, MAX_TOML_BYTES).decode("utf-8-sig"), str(path))
    except DataError as error:
        raise SettingsError(f"{error} Ready-made files are in experiments/.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path}: byte {error.start} is not UTF-8, but TOML is. Save the file as UTF-8."
        ) from None


def parse_toml(text: str, file: str) -> Table:
    """Return what a TOML text holds; `file` is named in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{file} is not TOML: {error}. It must hold lines such as `dim = 256` below "
            "`[training]`. Correct that line."
        ) from None


def toml_text(table: Mapping[str, object]) -> str:
    """Return a table of plain values, then of tables of plain values, as TOML."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"{key} = {_value_text(v)}" for key, v in table.items() if key not in tables]
    for name, inner in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_value_text(v)}" for key, v in inner.items())]
    return "\n".join(lines) + "\n"


def to_table(value: Any, *, without: Collection[str] = ()) -> Table:
    """Return the fields of a flat dataclass, in their order, None as "none"."""
    names = [field.name for field in fields(value) if field.name not in without]
    found = {name: getattr(value, name) for name in names}
    return {name: NONE if content is None else content for name, content in found.items()}


def take_fields(kind: type, table: object, place: str, *, without: Collection[str] = ()) -> Table:
    """Return the values of `kind`'s fields in a table, each of its field's type.

    Unknown keys and wrong types are refused with `place` and the key; missing keys are for
    `require_keys` to find.
    """
    types = {name: t for name, t in get_type_hints(kind).items() if name not in without}
    if not isinstance(table, dict):
        raise SettingsError(f"{place} must be a table, but it is a value. Write it as [name].")
    refuse_unknown_keys(table, types, place)
    return {
        key: take_value(types[key], value, f"{place} {key}".strip()) for key, value in table.items()
    }


def refuse_unknown_keys(table: Mapping[str, object], known: Collection[str], place: str) -> None:
    """Raise for the first key that nobody knows, with the one that was probably meant."""
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            advice = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(known)}."
            raise SettingsError(f"{place} {key[:60]} is not a key of this table. {advice}")


def require_keys(table: Mapping[str, object], needed: Collection[str], place: str) -> None:
    """Raise where a key is missing: nothing has a hidden default."""
    missing = [key for key in needed if key not in table]
    if missing:
        raise SettingsError(
            f"{place} {missing[0]} is missing, but every key must be there so that nothing is "
            f"decided out of sight. Add {', '.join(missing)}."
        )


def take_value(kind: Any, value: object, place: str) -> object:
    """Return a TOML value as the type of a field: plain, a choice, texts in a row, or None."""
    if get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return tuple(value)
        raise _wrong_value(value, place, "texts in brackets", 'Write ["a", "b"].')
    is_optional = NoneType in get_args(kind)
    if is_optional and value == NONE:
        return None
    [plain] = [option for option in get_args(kind) if option is not NoneType] or [kind]
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        if isinstance(value, str) and value in list(plain):
            return plain(value)
        raise _wrong_value(value, place, f"one of {', '.join(plain)}", "Choose one of them.")
    if plain is float and type(value) is int and abs(value) <= 2**53:
        return float(value)
    if type(value) is plain and not (isinstance(value, float) and math.isnan(value)):
        return value
    words = {int: "a whole number", float: "a number", str: "text in quotes", bool: "true or false"}
    or_none = f', or "{NONE}"' if is_optional else ""
    raise _wrong_value(value, place, f"{words[plain]}{or_none}", "Correct the value.")


def _wrong_value(value: object, place: str, needed: str, remedy: str) -> SettingsError:
    text = repr(value)
    shown = text if len(text) <= 60 else text[:57] + "..."
    return SettingsError(f"{place} is {shown}, but it must be {needed}. {remedy}")


def _value_text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _string_text(value)
        case list() | tuple():
            return "[" + ", ".join(map(_value_text, value)) + "]"
    raise TypeError(f"{value!r} of type {type(value).__name__} has no place in our TOML.")


def _string_text(text: str) -> str:
    """Return a basic string: JSON's escapes are TOML's too, but for DEL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(
            f"{text!r} is not text that a file can hold, because it is not Unicode. "
            "Rename what it names."
        ) from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
