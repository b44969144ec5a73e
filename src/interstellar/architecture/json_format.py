"""An architecture as a JSON object, with the name and version of the format."""

import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from interstellar.architecture.architecture import (
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.errors import ArchitectureError

FORMAT = "interstellar-architecture"
VERSION = 1
MAX_BYTES = 64 * 1024
REMEDY = "Give a JSON file that holds one architecture."

OBJECT_KEYS = ("format", "version", "macro", "micro")
MACRO: Mapping[str, type[StrEnum]] = {
    **dict.fromkeys(("subject", "relation", "output"), Combinator),
    **dict.fromkeys(("relation_source", "output_source"), Source),
}
ACTIVATIONS = dict.fromkeys(("subject_activation", "relation_activation"), Activation)


def to_json(architecture: Architecture) -> dict[str, Any]:
    """Return the object, made of plain values that `json.dumps` takes."""
    macro, micro = architecture.macro, architecture.micro
    activations = {key: str(getattr(micro, key)) for key in ACTIVATIONS}
    return {
        "format": FORMAT,
        "version": VERSION,
        "macro": {key: str(getattr(macro, key)) for key in MACRO},
        "micro": {**activations, "trained": sorted(micro.trained)},
    }


def from_json(value: object) -> Architecture:
    """Return the architecture of an object that `to_json` could have written."""
    whole = read_object(value, "the architecture", OBJECT_KEYS)
    check_format(whole)
    macro = read_object(whole["macro"], "macro", MACRO)
    micro = read_object(whole["micro"], "micro", (*ACTIVATIONS, "trained"))
    activations = read_choices(ACTIVATIONS, micro, "micro")
    return Architecture(
        Macro(**read_choices(MACRO, macro, "macro")),
        Micro(**activations, trained=_read_trained(micro["trained"])),
    )


def from_json_text(text: str) -> Architecture:
    """Read the object as written."""
    try:
        value = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:
        raise ArchitectureError(
            f"The text is not JSON ({error}), but an architecture is stored as a JSON object "
            f"with the keys {', '.join(OBJECT_KEYS)}. Write it as `to_json` does."
        ) from None
    return from_json(value)


def read_json_file(path: Path) -> Architecture:
    """Read an architecture from a JSON file of at most 64 KiB."""
    try:
        return from_json_text(_read_text(path))
    except ArchitectureError as error:
        raise ArchitectureError(f"{path}: {error}") from None


def _read_text(path: Path) -> str:
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a plain file"
        raise ArchitectureError(f"This is {kind}. {REMEDY}")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ArchitectureError(f"The file cannot be read ({error.strerror}). {REMEDY}") from None
    if len(content) > MAX_BYTES:
        size = f"more than {MAX_BYTES} bytes, and an architecture needs under 500"
        raise ArchitectureError(f"The file has {size}. {REMEDY}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"Byte {error.start} of the file"
        raise ArchitectureError(f"{place} is not UTF-8 text, but JSON is. {REMEDY}") from None


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ArchitectureError(
            f"The key {repeated[0]!r} stands twice in one object, but each key has one value. "
            "Remove one of them."
        )
    return dict(pairs)


def read_object(value: object, where: str, keys: Collection[str]) -> Mapping[str, object]:
    """Return a JSON object that has exactly these keys."""
    if not isinstance(value, dict):
        raise ArchitectureError(
            f"{where} is {shown(value)}, but it must be a JSON object with the keys "
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


def check_format(whole: Mapping[str, object], expected: str = FORMAT) -> None:
    """Refuse an object of another format or version."""
    name, version = whole["format"], whole["version"]
    if name != expected:
        raise ArchitectureError(
            f"format is {shown(name)}, but it must be {expected!r}. "
            "Check that this is the right file."
        )
    if type(version) is not int or version != VERSION:
        raise ArchitectureError(
            f"version is {shown(version)}, but this program reads version {VERSION}. "
            "Use the program that wrote it, or write the architecture anew."
        )


def read_choices(
    kinds: Mapping[str, type[StrEnum]], values: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return the choices that an object names, each as its kind."""
    for key, kind in kinds.items():
        if values[key] not in list(kind):
            raise ArchitectureError(
                f"{where}.{key} is {shown(values[key])}, but it must be one of "
                f"{', '.join(kind)}. Choose one of them."
            )
    return {key: kind(values[key]) for key, kind in kinds.items()}


def _read_trained(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(i) is int for i in value):
        raise ArchitectureError(
            f"micro.trained is {shown(value)}, but it must be a list of whole numbers, the i of "
            "each trained W_i. Write it as in [3, 4, 6], or [] for none."
        )
    if len(set(value)) < len(value):
        raise ArchitectureError(
            f"micro.trained is {shown(value)} and names a matrix twice. Name each one once."
        )
    return frozenset(value)


def shown(value: object) -> str:
    """Return a value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
