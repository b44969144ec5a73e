"""An architecture as formulas: one line to type and store, or several lines to look at."""

from dataclasses import dataclass

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.canonical_form import PRODUCTS, ZERO_OUTPUT, canonical_form
from interstellar.architecture.choices import Activation, Combinator, Source

GATE_LINE = "a gated b = (1 − g) ⊙ a + g ⊙ b,  g = σ(W_a a + W_b b + bias)"


def to_formula(architecture: Architecture) -> str:
    """Return the architecture as one line that `from_formula` reads back exactly.

    The clause of O_s is left out where nobody reads O_s and it is `O_s = s + h`.
    """
    clauses = [f"O_r = {_relation(architecture)}", f"v = {_output(architecture)}"]
    subject = f"O_s = {_subject(architecture)}"
    if architecture.macro.is_subject_output_read or subject != "O_s = s + h":
        clauses.insert(0, subject)
    return "; ".join(clauses)


def formulas(architecture: Architecture) -> tuple[str, ...]:
    """Return lines to show, in the paper's symbols, with notes where the cell is degenerate."""
    macro = architecture.macro
    lines = [f"O_r = {_relation(architecture)}", f"v_t = {_output(architecture)}"]
    if macro.is_subject_output_read:
        lines.insert(0, f"O_s = {_subject(architecture)}")
    lines = [_as_printed(line) for line in lines]
    if macro.is_hidden_read:
        lines.append("h_t = O_r,  h_0 = s_1")
    if _has_live_gate(macro):
        lines.append(GATE_LINE)
    return (*lines, *(f"Note: {note}" for note in _notes(architecture)))


@dataclass(frozen=True, slots=True)
class _Operand:
    weight: int
    vector: str


def _subject(architecture: Architecture) -> str:
    first, second = _Operand(1, "s"), _Operand(2, "h")
    expression = _combine(architecture, architecture.macro.subject, first, second)
    return _activate(architecture.micro.subject_activation, expression)


def _relation(architecture: Architecture) -> str:
    first, second = _Operand(3, architecture.macro.relation_source.symbol), _Operand(4, "r")
    expression = _combine(architecture, architecture.macro.relation, first, second)
    return _activate(architecture.micro.relation_activation, expression)


def _output(architecture: Architecture) -> str:
    first, second = _Operand(5, architecture.macro.output_source.symbol), _Operand(6, "O_r")
    return _combine(architecture, architecture.macro.output, first, second)


def _combine(
    architecture: Architecture, combinator: Combinator, first: _Operand, second: _Operand
) -> str:
    a, b = _link(architecture, first), _link(architecture, second)
    if a == "0" and combinator is Combinator.ADD:
        return b
    return f"{a} {combinator.symbol} {b}"


def _link(architecture: Architecture, operand: _Operand) -> str:
    if operand.weight in architecture.micro.trained:
        return f"W{operand.weight} {operand.vector}"
    return operand.vector


def _activate(activation: Activation, expression: str) -> str:
    return expression if activation is Activation.IDENTITY else f"{activation}({expression})"


def _as_printed(line: str) -> str:
    """Return a clause with the subscripts of the paper."""
    name, _, expression = line.partition(" = ")
    words = expression.replace("(", "( ").replace(")", " )").split(" ")
    printed = " ".join(_PRINTED.get(word, word) for word in words)
    return f"{name} = {printed}".replace("( ", "(").replace(" )", ")")


_PRINTED = {
    "s": "s_t",
    "h": "h_{t−1}",
    "r": "r_t",
    **{f"W{i}": f"W{subscript}" for i, subscript in enumerate("₁₂₃₄₅₆", 1)},
}


def _has_live_gate(macro: Macro) -> bool:
    combinators = [macro.relation, macro.output]
    if macro.is_subject_output_read:
        combinators.append(macro.subject)
    return Combinator.GATED in combinators


def _notes(architecture: Architecture) -> list[str]:
    """Return a sentence for each thing a reader might overlook in the formulas."""
    macro = architecture.macro
    if canonical_form(architecture) == ZERO_OUTPUT:
        return ["v_t is 0 at every step, so this network predicts nothing."]
    notes = []
    if macro.relation_source is Source.ZERO and macro.relation in PRODUCTS:
        is_half = architecture.micro.relation_activation is Activation.SIGMOID
        notes.append(
            f"O_r is {'½' if is_half else '0'} at every step, so the relation is never read."
        )
        if macro.output_source is Source.ZERO:
            notes.append("v_t is the same vector at every step, so this network tells nothing.")
            return notes
    if not macro.is_hidden_read:
        notes.append("nothing reads h_{t−1}, so each triplet is taken by itself.")
    return notes
