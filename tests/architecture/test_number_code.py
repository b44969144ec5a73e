"""Tests of the 11-number code."""

import numpy as np
import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import to_formula
from interstellar.architecture.number_code import (
    code_text,
    from_code,
    from_code_text,
    looks_like_code,
    to_code,
)
from interstellar.errors import ArchitectureError

from .strategies import architectures

DBP_WD = [0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1]


@given(architecture=architectures)
def test_a_code_is_read_back_exactly(architecture: Architecture) -> None:
    assert from_code(to_code(architecture)) == architecture
    assert from_code_text(code_text(architecture)) == architecture


def test_the_published_code_for_dbp_wd_means_what_the_paper_draws() -> None:
    formula = to_formula(from_code(DBP_WD))

    assert formula == "O_s = tanh(s + h); O_r = tanh(W3 h + W4 r); v = O_s ⊗ W6 O_r"


@pytest.mark.parametrize(
    "text",
    [
        "[0,4,10,1,1,0,0,1,1,0,1]",
        "0,4,10,1,1,0,0,1,1,0,1",
        " ( 0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1 ) ",
        "0 4 10 1 1 0 0 1 1 0 1",
    ],
)
def test_a_code_is_read_with_and_without_brackets(text: str) -> None:
    assert looks_like_code(text)
    assert from_code_text(text) == from_code(DBP_WD)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1,2]", "has 2 numbers, but a code has 11"),
        ("[4,0,0,0,0,0,0,0,0,0,0]", "Number 1 of the code .* is 4, .* from 0 to 3"),
        ("[0,16,0,0,0,0,0,0,0,0,0]", "Number 2 .* is 16, .* of O_r, which goes from 0 to 15"),
        ("[0,0,0,0,-1,0,0,0,0,0,0]", "Number 5 .* is -1"),
        ("[0,0,0,0,0,0,0,0,0,0,2]", "Number 11 .* W_6, 1 if trained"),
        ("[0,0,0,0,0,0,0,0,0,0,1+1]", "contains '1\\+1', which is not a number"),
        ("[0,0,0,0,0,0,0,0,0,0,99999999999999999]", "is not a number"),
    ],
)
def test_a_code_outside_the_space_is_refused_with_the_number_at_fault(
    text: str, message: str
) -> None:
    with pytest.raises(ArchitectureError, match=message):
        from_code_text(text)


def test_the_whole_numbers_of_numpy_are_read() -> None:
    assert from_code(list(np.array(DBP_WD))) == from_code(DBP_WD)


def test_true_is_not_taken_for_the_number_one() -> None:
    with pytest.raises(ArchitectureError, match=r"Number 6 .* is True"):
        from_code([0, 0, 0, 0, 0, True, 0, 0, 0, 0, 0])
