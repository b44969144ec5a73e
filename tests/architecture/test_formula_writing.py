"""Tests of formulas as they are written."""

import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula_reading import from_formula
from interstellar.architecture.formula_writing import formulas, to_formula
from interstellar.architecture.literature import PUBLISHED, RSN, TRANSE

from .strategies import architectures


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
