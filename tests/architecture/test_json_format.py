"""Tests of the JSON form."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.json_format import (
    from_json,
    from_json_text,
    read_json_file,
    to_json,
)
from interstellar.architecture.literature import RSN
from interstellar.errors import ArchitectureError

from .strategies import architectures


@given(architecture=architectures)
def test_a_json_object_is_read_back_exactly(architecture: Architecture) -> None:
    text = json.dumps(to_json(architecture))

    assert from_json_text(text) == architecture


def test_the_object_names_its_format_and_version() -> None:
    value = to_json(RSN)

    assert value["format"] == "interstellar-architecture"
    assert value["version"] == 1
    assert value["micro"]["trained"] == [1, 2, 3, 4, 5, 6]


def changed(*path: str, to: Any) -> dict[str, Any]:
    value = to_json(RSN)
    *parents, key = path
    inner = value
    for parent in parents:
        inner = inner[parent]
    inner[key] = to
    return value


def without(*path: str) -> dict[str, Any]:
    value = changed(*path, to=None)
    inner = value if len(path) == 1 else value[path[0]]
    del inner[path[-1]]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"the architecture is \[\], but it must be a JSON object"),
        (changed("macro", to=3), "macro is 3, but it must be a JSON object"),
        (changed("colour", to=1), "the architecture has the unknown key 'colour'"),
        (changed("macro", "depth", to=1), "macro has the unknown key 'depth'"),
        (without("micro"), "the architecture lacks 'micro'"),
        (without("micro", "trained"), "micro lacks 'trained'"),
        (changed("format", to="other"), "format is 'other'"),
        (changed("version", to=2), "version is 2, but this program reads version 1"),
        (changed("version", to=True), "version is True"),
        (changed("macro", "subject", to="plus"), "macro.subject is 'plus', .* one of add, mult"),
        (changed("macro", "output_source", to=0), "macro.output_source is 0"),
        (changed("micro", "trained", to="3"), "micro.trained is '3', but it must be a list"),
        (changed("micro", "trained", to=[1.0]), r"micro.trained is \[1.0\]"),
        (changed("micro", "trained", to=[3, 3]), "names a matrix twice"),
        (changed("micro", "trained", to=[7]), r"names weight matrices \[7\]"),
    ],
)
def test_an_object_that_is_not_an_architecture_is_refused_by_key(value: Any, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        from_json(value)


def test_a_key_that_stands_twice_is_refused() -> None:
    text = json.dumps(to_json(RSN)).replace('"version": 1', '"version": 1, "version": 1')

    with pytest.raises(ArchitectureError, match="key 'version' stands twice"):
        from_json_text(text)


@pytest.mark.parametrize("text", ["", "{", "nope", "[" * 100_000])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ArchitectureError, match="not JSON"):
        from_json_text(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "Byte 0 of the file is not UTF-8"),
        (b"O_r = s + r", "is not JSON"),
        (b" " * 70_000, "more than 65536 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "best.json"
    path.write_bytes(content)

    with pytest.raises(ArchitectureError, match=f"best.json: .*{message}"):
        read_json_file(path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "best.json"
    path.write_text(json.dumps(to_json(RSN)), encoding="utf-8-sig")

    assert read_json_file(path) == RSN
