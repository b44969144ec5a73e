"""One point of the search space: α = [α₁, α₂].

One step of the cell, [v_t, h_t] = f(s_t, r_t, h_{t-1}) with h_0 = s_1 (Section 3.1):

    O_s = act_s(c_s(W_1 s_t, W_2 h_{t-1}))
    O_r = act_r(c_r(W_3 x_r, W_4 r_t))        x_r ∈ {s_t, h_{t-1}, O_s, 0}
    O_v = c_v(W_5 x_v, W_6 O_r)               x_v ∈ {s_t, h_{t-1}, O_s, 0}
    v_t = O_v,  h_t = O_r

Each W_i is a trained matrix or the identity. W_2, W_4 and W_6 have a bias when they are
trained; W_1, W_3 and W_5 never have one, so W_3 0 = W_5 0 = 0 (as in the authors'
program; the paper prints no bias at all). What c does is said in `Combinator`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from interstellar.errors import ArchitectureError

N_WEIGHTS = 6  # W_1 ... W_6, two on the way into each of O_s, O_r, O_v
ALL_WEIGHTS = frozenset(range(1, N_WEIGHTS + 1))


class Combinator(StrEnum):
    """How an operator turns two vectors a, b into one (Appendix A.1).

    Here and below, the order of the members is that of the 11-number code, counted from 0.
    """

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
        return {"add": "+", "multiply": "⊙", "hermitian": "⊗", "gated": "gated"}[self]


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
        return {"subject": "s", "hidden": "h", "subject_output": "O_s", "zero": "0"}[self]


class Activation(StrEnum):
    """What is applied, entry by entry, to O_s or O_r."""

    IDENTITY = "identity"
    TANH = "tanh"
    SIGMOID = "sigmoid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """Macro level α₁: what flows where. Judged by training from scratch."""

    subject: Combinator
    """c_s: O_s combines s_t with h_{t-1}."""
    relation: Combinator
    """c_r: O_r combines `relation_source` with r_t."""
    output: Combinator
    """c_v: O_v combines `output_source` with O_r."""
    relation_source: Source
    """x_r."""
    output_source: Source
    """x_v."""

    @property
    def is_subject_output_read(self) -> bool:
        """Whether O_r or O_v reads O_s; if neither does, O_s is dead."""
        return Source.SUBJECT_OUTPUT in (self.relation_source, self.output_source)

    @property
    def is_hidden_read(self) -> bool:
        """Whether anything reads h_{t-1}; if not, each triplet is taken by itself."""
        sources = (self.relation_source, self.output_source)
        return Source.HIDDEN in sources or Source.SUBJECT_OUTPUT in sources

    @property
    def is_hidden_passed_on(self) -> bool:
        """Whether O_r reads h_{t-1}, itself or by O_s: as a message it then tells where from."""
        return self.relation_source in (Source.HIDDEN, Source.SUBJECT_OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Micro:
    """Micro level α₂: fine adjustments. Judged with shared weights."""

    subject_activation: Activation = Activation.IDENTITY
    """act_s."""
    relation_activation: Activation = Activation.IDENTITY
    """act_r."""
    trained: frozenset[int] = frozenset()
    """The i for which W_i is a trained matrix; every other W_i is the identity."""

    def __post_init__(self) -> None:
        if not self.trained <= ALL_WEIGHTS:
            raise ArchitectureError(
                f"trained={sorted(self.trained)} names weight matrices "
                f"{sorted(self.trained - ALL_WEIGHTS)}, but a cell has only W_1 to W_{N_WEIGHTS}. "
                "Remove them, or check that the numbering starts at 1."
            )


@dataclass(frozen=True, slots=True)
class Architecture:
    """A complete recurrent cell. Equal architectures hash equally."""

    macro: Macro
    micro: Micro = field(default_factory=Micro)
