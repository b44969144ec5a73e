"""The choices that make up an architecture (Table 2 of the paper).

The order of the members is the order of the 11-number code, counted from 0.
"""

from enum import StrEnum
from typing import assert_never


class Combinator(StrEnum):
    """How an operator turns two vectors a, b into one (Appendix A.1)."""

    ADD = "add"
    """a + b."""
    MULTIPLY = "multiply"
    """a ⊙ b, entry by entry."""
    HERMITIAN = "hermitian"
    """a ⊗ b, the product of complex vectors: first half real, second half imaginary.

    The paper prints a minus sign in the imaginary part. We use the plus sign of complex
    multiplication, as ComplEx and the authors' own program do.
    """
    GATED = "gated"
    """(1 − g) ⊙ a + g ⊙ b with g = σ(W_a a + W_b b + bias), each operator with its own gate.

    The paper lets g weigh a and prints no bias; the authors' program lets g weigh b and has
    one, and so do we.
    """

    @property
    def symbol(self) -> str:
        """The sign between two vectors in a formula."""
        match self:
            case Combinator.ADD:
                return "+"
            case Combinator.MULTIPLY:
                return "⊙"
            case Combinator.HERMITIAN:
                return "⊗"
            case Combinator.GATED:
                return "gated"
            case _:
                assert_never(self)


class Source(StrEnum):
    """What the first input of O_r or of O_v is."""

    SUBJECT = "subject"
    """s_t, the embedding of the step's subject."""
    HIDDEN = "hidden"
    """h_{t-1}, what the step before handed on."""
    SUBJECT_OUTPUT = "subject_output"
    """O_s, which combines the two."""
    ZERO = "zero"
    """The vector 0."""

    @property
    def symbol(self) -> str:
        """The vector's name in a formula."""
        match self:
            case Source.SUBJECT:
                return "s"
            case Source.HIDDEN:
                return "h"
            case Source.SUBJECT_OUTPUT:
                return "O_s"
            case Source.ZERO:
                return "0"
            case _:
                assert_never(self)


class Activation(StrEnum):
    """What is applied, entry by entry, to O_s or O_r."""

    IDENTITY = "identity"
    TANH = "tanh"
    SIGMOID = "sigmoid"
