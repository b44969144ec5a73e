"""The choices of a propagation: how they are written, and which make no difference."""

from dataclasses import replace

import pytest
from hypothesis import given

from interstellar.architecture.canonical_form import ZERO_OUTPUT
from interstellar.architecture.formula import from_formula
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    Propagation,
    RelationVectors,
    Update,
    canonical_propagation,
    from_text,
    split_choices,
    to_text,
)
from interstellar.errors import ArchitectureError
from tests.architecture.strategies import propagations


@given(propagations)
def test_a_line_reads_back_to_the_same_propagation(propagation: Propagation) -> None:
    assert from_text(to_text(propagation)) == propagation


def test_a_line_says_what_is_not_the_default() -> None:
    propagation = Propagation(
        cell=from_formula("O_r = h ⊙ r; v = O_r"),
        aggregation=Aggregation.SUM,
        relations=RelationVectors.QUERY,
        depth=3,
    )

    line = "O_r = h ⊙ r; v = 0 + O_r; aggregation = sum; relations = query; depth = 3"
    assert from_text(line) == propagation
    assert from_text(to_text(propagation)) == propagation
    assert to_text(Propagation(cell=propagation.cell)) == "O_r = h ⊙ r; v = O_r"


def test_the_choices_of_a_line_are_told_from_the_rest() -> None:
    assert split_choices("[0,1]; depth = 3; update = gate") == (
        "[0,1]",
        {"update": Update.GATE, "depth": 3},
    )
    assert split_choices('{"a": 1,\n"b": 2}') == ('{"a": 1,\n"b": 2}', {})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("O_r = h ⊙ r; v = O_r; depth = 9", "depth is 9, but a propagation has 1 to 8 layers"),
        ("O_r = h ⊙ r; v = O_r; depth = six", "depth is 'six'"),
        ("O_r = h ⊙ r; v = O_r; aggregation = best", "must be one of sum, mean, max, pna"),
        ("O_r = h ⊙ r; v = O_r; depth = 2; depth = 3", "depth is said twice"),
        ("v = O_r; depth = 2", "no clause for O_r"),
    ],
)
def test_a_line_that_says_no_propagation_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(ArchitectureError, match=complaint):
        from_text(line)


@given(propagations)
def test_a_canonical_form_is_its_own(propagation: Propagation) -> None:
    canonical = canonical_propagation(propagation)

    assert canonical_propagation(canonical) == canonical


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("O_s = tanh(s ⊙ h); O_r = h + r; v = O_r", "O_r = h + r; v = O_r"),
        ("O_r = W3 h + W4 r; v = W6 O_r", "O_r = W3 h + r; v = O_r"),
        ("O_r = h ⊙ r; v = W5 s + O_r", "O_r = h ⊙ r; v = O_r"),
        (
            "O_s = W1 s + W2 h; O_r = W3 O_s ⊙ r; v = O_r",
            "O_s = W1 s + W2 h; O_r = O_s ⊙ r; v = O_r",
        ),
        ("O_r = 0 ⊗ r; v = O_r; relations = query; attention = query", "O_r = 0 ⊙ r; v = O_r"),
        ("O_r = σ(0 ⊙ r); v = h + O_r; relations = query", "O_r = σ(0 ⊙ r); v = h + O_r"),
    ],
)
def test_what_makes_no_difference_falls_together(line: str, canonical: str) -> None:
    assert to_text(canonical_propagation(from_text(line))) == to_text(from_text(canonical))


def test_a_read_out_of_zero_makes_everything_before_it_the_same() -> None:
    one = from_text("O_r = h ⊙ r; v = 0 ⊙ O_r; aggregation = max; depth = 5")
    other = replace(one, attention=Attention.QUERY, update=Update.GATE)

    assert canonical_propagation(one) == canonical_propagation(other)
    assert canonical_propagation(one).cell == ZERO_OUTPUT


def test_choices_that_matter_stay() -> None:
    line = "O_r = tanh(h gated r); v = h ⊗ W6 O_r; attention = query; relations = query"

    assert canonical_propagation(from_text(line)) == from_text(line)
