"""Tests of the values that make up an architecture."""

import pytest

from interstellar.architecture.architecture import (
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.architecture.literature import CHAINS, DISTMULT, PTRANSE_ADD
from interstellar.errors import ArchitectureError


def test_equal_architectures_hash_equally() -> None:
    twins = [
        Architecture(
            Macro(
                subject=Combinator.ADD,
                relation=Combinator.GATED,
                output=Combinator.ADD,
                relation_source=Source.HIDDEN,
                output_source=Source.ZERO,
            ),
            Micro(trained=frozenset({4, 3})),
        )
        for _ in range(2)
    ]

    assert len(set(twins)) == 1


def test_a_matrix_outside_w_1_to_w_6_is_refused_with_its_number() -> None:
    with pytest.raises(ArchitectureError, match=r"matrices \[0, 7\], but a cell has only W_1"):
        Micro(trained=frozenset({0, 3, 7}))


def test_whether_anything_reads_the_hidden_state_is_known() -> None:
    assert [a.macro.is_hidden_read for a in (DISTMULT, PTRANSE_ADD, CHAINS)] == [False, True, True]
    assert [a.macro.is_subject_output_read for a in (DISTMULT, PTRANSE_ADD, CHAINS)] == [
        False,
        False,
        True,
    ]


def test_the_order_of_the_choices_is_that_of_the_11_number_code() -> None:
    assert [c.symbol for c in Combinator] == ["+", "⊙", "⊗", "gated"]
    assert [s.symbol for s in Source] == ["s", "h", "O_s", "0"]
    assert list(Activation) == ["identity", "tanh", "sigmoid"]
