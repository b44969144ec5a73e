"""An architecture as a JSON object, with the name and version of the format."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from interstellar.architecture.architecture import Architecture, Macro, Micro
from interstellar.architecture.choices import Activation, Combinator, Source
from interstellar.errors import ArchitectureError

FORMAT = "interstellar-architecture"
VERSION = 1
MAX_BYTES = 64 * 1024

Choice = TypeVar("Choice", bound=StrEnum)

OBJECT_KEYS = ("format", "version", "macro", "micro")
MACRO_KEYS = ("subject", "relation", "output", "relation_source", "output_source")
MICRO_KEYS = ("subject_activation", "relation_activation", "trained")


def to_json(architecture: Architecture) -> dict[str, Any]:
    """Return the object, made of plain values that `json.dumps` takes."""
    macro, micro = architecture.macro, architecture.micro
    return {
        "format": FORMAT,
        "version": VERSION,
        "macro": {key: str(getattr(macro, key)) for key in MACRO_KEYS},
        "micro": {
            "subject_activation": str(micro.subject_activation),
            "relation_activation": str(micro.relation_activation),
            "trained": sorted(micro.trained),
        },
    }


def from_json(value: object) -> Architecture:
    """Return the architecture of an object that `to_json` could have written."""
    whole = _read_object(value, "the architecture", OBJECT_KEYS)
    _check_format(whole)
    macro = _read_object(whole["macro"], "macro", MACRO_KEYS)
    micro = _read_object(whole["micro"], "micro", MICRO_KEYS)
    return Architecture(
        Macro(
            subject=_read_choice(Combinator, macro, "macro.subject"),
            relation=_read_choice(Combinator, macro, "macro.relation"),
            output=_read_choice(Combinator, macro, "macro.output"),
            relation_source=_read_choice(Source, macro, "macro.relation_source"),
            output_source=_read_choice(Source, macro, "macro.output_source"),
        ),
        Micro(
            subject_activation=_read_choice(Activation, micro, "micro.subject_activation"),
            relation_activation=_read_choice(Activation, micro, "micro.relation_activation"),
            trained=_read_trained(micro["trained"]),
        ),
    )


def from_json_text(text: str) -> Architecture:
    """Read the object as written."""
    try:
        value = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:
        raise ArchitectureError(
            f"The text is not JSON ({error}), but an architecture is stored as a JSON object "
            f"with the keys {', '.join(OBJECT_KEYS)}. `interstellar show TransE --json` shows one, "
            "under `json`."
        ) from None
    return from_json(value)


def read_json_file(path: Path) -> Architecture:
    """Read an architecture from a JSON file of at most 64 KiB."""
    try:
        return from_json_text(_read_text(path))
    except ArchitectureError as error:
        raise ArchitectureError(f"{path}: {error}") from None


def _read_text(path: Path) -> str:
    remedy = "Give a JSON file that holds one architecture."
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a plain file"
        raise ArchitectureError(f"This is {kind}. {remedy}")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ArchitectureError(f"The file cannot be read ({error.strerror}). {remedy}") from None
    if len(content) > MAX_BYTES:
        raise ArchitectureError(
            f"The file has more than {MAX_BYTES} bytes, and an architecture needs under 500. "
            f"{remedy}"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArchitectureError(
            f"Byte {error.start} of the file is not UTF-8 text, but JSON is. {remedy}"
        ) from None


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ArchitectureError(
            f"The key {repeated[0]!r} stands twice in one object, but each key has one value. "
            "Remove one of them."
        )
    return dict(pairs)


def _read_object(value: object, where: str, keys: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ArchitectureError(
            f"{where} is {_shown(value)}, but it must be a JSON object with the keys "
            f"{', '.join(keys)}. Write it as one."
        )
    faults = [f"lacks {key!r}" for key in keys if key not in value]
    faults += [f"has the unknown key {key!r}" for key in value if key not in keys]
    if faults:
        raise ArchitectureError(
            f"{where} {' and '.join(faults)}. Its keys are exactly {', '.join(keys)}. "
            "Add what is missing and remove the rest."
        )
    return value


def _check_format(whole: Mapping[str, object]) -> None:
    name, version = whole["format"], whole["version"]
    if name != FORMAT:
        raise ArchitectureError(
            f"format is {_shown(name)}, but an architecture's is {FORMAT!r}. "
            "Check that this is the right file."
        )
    if type(version) is not int or version != VERSION:
        raise ArchitectureError(
            f"version is {_shown(version)}, but this program reads version {VERSION}. "
            "Use the program that wrote it, or write the architecture anew."
        )


def _read_choice(kind: type[Choice], values: Mapping[str, object], where: str) -> Choice:
    value = values[where.rpartition(".")[2]]
    if not isinstance(value, str) or value not in list(kind):
        known = ", ".join(kind)
        raise ArchitectureError(
            f"{where} is {_shown(value)}, but it must be one of {known}. Choose one of them."
        )
    return kind(value)


def _read_trained(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(i) is int for i in value):
        raise ArchitectureError(
            f"micro.trained is {_shown(value)}, but it must be a list of whole numbers, the i of "
            "each trained W_i. Write it as in [3, 4, 6], or [] for none."
        )
    if len(set(value)) < len(value):
        raise ArchitectureError(
            f"micro.trained is {_shown(value)} and names a matrix twice. Name each one once."
        )
    return frozenset(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
