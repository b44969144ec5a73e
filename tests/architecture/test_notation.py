"""Tests of the one reader for every notation."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from interstellar.architecture import formula, number_code
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import COMPLEX, NAMED, PUBLISHED, RSN, TRANSE
from interstellar.architecture.notation import (
    code_text,
    read_architecture,
    to_code,
    to_formula,
    to_json,
)
from interstellar.errors import ArchitectureError

from .strategies import architectures

MANUAL = Path(__file__).parents[2] / "docs" / "notation.md"


@given(architecture=architectures)
def test_every_notation_is_recognised(architecture: Architecture) -> None:
    written = (code_text(architecture), to_formula(architecture), json.dumps(to_json(architecture)))

    assert [read_architecture(text) for text in written] == [architecture] * 3


@pytest.mark.parametrize("text", ["ComplEx", "complex", " COMPLEX "])
def test_a_published_name_is_read_in_any_case(text: str) -> None:
    assert read_architecture(text) == COMPLEX


def test_an_architecture_that_the_paper_found_is_read_by_its_name() -> None:
    found = read_architecture("interstellar-dbp-wd")

    assert found == PUBLISHED["Interstellar-DBP-WD"]


def test_a_json_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a=b.json"
    path.write_text(json.dumps(to_json(RSN)), encoding="utf-8")

    assert read_architecture(str(path)) == RSN


def test_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ArchitectureError, match=re.escape(f"{tmp_path}: This is a folder")):
        read_architecture(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(ArchitectureError, match="not a plain file"):
        read_architecture(str(path))


@pytest.mark.parametrize("text", ["", "what", "a\0b", "x" * 5000, "\ud800", "best.json"])
def test_anything_else_is_answered_with_an_example_of_each_form(text: str) -> None:
    with pytest.raises(ArchitectureError) as caught:
        read_architecture(text)

    for example in ("TransE", "[0,4,10,1,1,0,0,1,1,0,1]", "O_s = s + h", "best.json"):
        assert example in str(caught.value)


def test_the_json_example_in_the_manual_is_what_is_written() -> None:
    manual = MANUAL.read_text(encoding="utf-8")
    example = manual.split("```json")[1].split("```")[0]

    assert json.loads(example) == to_json(PUBLISHED["Interstellar-DBP-WD"])


@given(architecture=architectures)
def test_a_code_may_be_numbers(architecture: Architecture) -> None:
    code = to_code(architecture)

    for numbers in (code, list(code), np.array(code)):
        assert read_architecture(numbers) == architecture


@pytest.mark.parametrize("given", [None, 7, {"macro": {}}, b"TransE", 0.5])
def test_what_is_neither_text_nor_numbers_is_answered_with_what_to_give(given: Any) -> None:
    with pytest.raises(ArchitectureError, match="Give a text, or 11 whole numbers such as"):
        read_architecture(given)


def test_too_few_numbers_are_counted() -> None:
    with pytest.raises(ArchitectureError, match="has 3 numbers, but a code has 11"):
        read_architecture([0, 4, 10])


def test_an_unknown_name_is_answered_with_all_names() -> None:
    with pytest.raises(ArchitectureError) as caught:
        read_architecture("Transformer")

    assert all(name in str(caught.value) for name in NAMED)


def test_a_misspelt_name_is_answered_with_the_close_ones() -> None:
    with pytest.raises(ArchitectureError, match=r"'TransF' .* Did you mean TransE"):
        read_architecture("TransF")


def test_the_examples_in_the_message_can_be_read() -> None:
    assert read_architecture("TransE") == TRANSE
    assert read_architecture(number_code.EXAMPLE) == PUBLISHED["Interstellar-DBP-WD"]
    assert to_formula(read_architecture(formula.EXAMPLE)) == formula.EXAMPLE
