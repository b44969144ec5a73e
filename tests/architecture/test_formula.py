"""Tests of formulas, read and written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import EXAMPLE, formulas, from_formula, to_formula
from interstellar.architecture.literature import PUBLISHED, RSN, TRANSE
from interstellar.errors import ArchitectureError

from .strategies import architectures


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("v=O_r;O_r=s+r", "O_r = s + r; v = O_r"),
        ("O_r = s * r; v = O_r", "O_r = s ⊙ r; v = O_r"),
        ("O_r = s hermitian r; v = 0 + O_r", "O_r = s ⊗ r; v = O_r"),
        ("O_r = TANH(W_3 s + W₄r); v_t = W6 O_r;", "O_r = tanh(W3 s + W4 r); v = W6 O_r"),
        ("O_r = r_t + h_{t-1}\nO_v = O_r + s_t", "O_r = h + r; v = s + O_r"),
        (
            "O_s = h + s; O_r = σ(O_s gated r); v = O_r",
            "O_s = s + h; O_r = sigmoid(O_s gated r); v = O_r",
        ),
        ("O_r = (s + r); v = (O_r)", "O_r = s + r; v = O_r"),
        (EXAMPLE, EXAMPLE),
    ],
)
def test_a_formula_may_be_typed_in_several_ways(typed: str, meant: str) -> None:
    assert to_formula(from_formula(typed)) == meant


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("O_r = q + r; v = O_r", "In the clause 'O_r = q + r', 'q' stands where a vector must be"),
        ("O_r = s + W r; v = O_r", "'W' stands where a vector must be"),
        ("O_r = s - r; v = O_r", "'-' stands where a combinator must be (+, ⊙ or *"),
        ("O_r = s r; v = O_r", "'r' stands where a combinator must be"),
        ("O_r = s + r + h; v = O_r", "'+' stands after the end of the expression"),
        ("O_r = tanh(s + r; v = O_r", "the clause ends where the closing bracket must be"),
        ("O_r = tanh s + r; v = O_r", "'s' stands where tanh must be followed by a bracket"),
        ("O_r = s # r; v = O_r", "'# r' cannot be read"),
        ("O_r = ; v = O_r", "the clause ends where a vector must be"),
        ("O_r = s + s; v = O_r", "s stands where r must be"),
        ("O_r = O_r + r; v = O_r", "O_r is combined with r, which takes s, h, O_s or 0"),
        ("O_s = h; O_r = s + r; v = O_r", "h stands alone, but O_s combines s with h"),
        ("O_r = W4 s + r; v = O_r", "W4 stands before s, whose matrix is W3"),
        ("O_r = s + W7 r; v = O_r", "W7 stands before r, whose matrix is W4"),
        ("O_r = r gated s; v = O_r", "a gate tells its inputs apart, and r must be the second"),
        ("O_r = s + r; v = tanh(O_r)", "tanh is applied to v, which has no activation"),
        ("O_r = s + r", "has no clause for v. Add one, such as `v = W5 s + W6 O_r`."),
        ("v = s + O_r", "has no clause for O_r"),
        ("O_r = O_s + r; v = O_r", "has no clause for O_s, and another clause reads O_s"),
        ("O_r = s + r; O_r = s + r; v = O_r", "has two clauses for O_r"),
        ("O_r = s + r; h = O_r; v = O_r", "The clause 'h = O_r' does not start with `O_s =`"),
        ("v = " + "(" * 2000, "has 2004 characters"),
    ],
)
def test_a_formula_that_cannot_be_read_is_refused_at_the_part_at_fault(
    formula: str, message: str
) -> None:
    with pytest.raises(ArchitectureError, match=re.escape(message)):
        from_formula(formula)


@given(text=st.text(alphabet="srhvO_W0123456₄()=;+*⊙⊗ tangedimo\n", max_size=60))
def test_no_text_makes_the_reader_fail_otherwise(text: str) -> None:
    try:
        architecture = from_formula(text)
    except ArchitectureError:
        return
    assert from_formula(to_formula(architecture)) == architecture


@given(architecture=architectures)
def test_a_formula_is_read_back_exactly(architecture: Architecture) -> None:
    assert from_formula(to_formula(architecture)) == architecture


def test_rsn_is_shown_in_the_symbols_of_the_paper() -> None:
    assert formulas(RSN) == (
        "O_s = tanh(W₁ s_t + W₂ h_{t−1})",
        "O_r = tanh(W₃ O_s + W₄ r_t)",
        "v_t = W₅ s_t + W₆ O_r",
        "h_t = O_r,  h_0 = s_1",
    )


@given(architecture=architectures)
def test_the_shown_clauses_can_be_typed_in_again(architecture: Architecture) -> None:
    clauses = [line for line in formulas(architecture) if line[:3] in ("O_s", "O_r", "v_t")]

    read = from_formula("\n".join(clauses))

    if architecture.macro.is_subject_output_read:
        assert read == architecture
    else:
        assert to_formula(read) == "; ".join(to_formula(architecture).split("; ")[-2:])


def test_a_dead_operator_is_not_shown() -> None:
    lines = formulas(PUBLISHED["Interstellar-EN-DE"])

    assert not any("O_s" in line for line in lines)


def test_transe_is_said_to_take_each_triplet_by_itself() -> None:
    assert (
        formulas(TRANSE)[-1] == "Note: nothing reads h_{t−1}, so each triplet is taken by itself."
    )


@pytest.mark.parametrize(
    ("formula", "note"),
    [
        ("O_r = s + r; v = 0 ⊙ O_r", "Note: v_t is 0 at every step, so this network predicts"),
        ("O_r = 0 ⊙ r; v = h + O_r", "Note: O_r is 0 at every step, so the relation is never read"),
        ("O_r = sigmoid(0 ⊙ r); v = s + O_r", "Note: O_r is ½ at every step"),
        ("O_r = sigmoid(0 ⊙ r); v = O_r", "Note: v_t is the same vector at every step"),
        ("O_r = s gated r; v = O_r", "a gated b = (1 − g) ⊙ a + g ⊙ b"),
    ],
)
def test_what_a_reader_might_overlook_is_said_in_words(formula: str, note: str) -> None:
    lines = formulas(from_formula(formula))

    assert any(line.startswith(note) for line in lines)
