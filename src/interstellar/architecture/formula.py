"""Formulas: the one-line notation, `O_s = s + h; O_r = tanh(h + W4 r); v = O_s ⊗ W6 O_r`.

Three clauses, between semicolons or line ends, in any order. The clause of O_s may be left
out when nobody reads O_s. `*` stands for ⊙ and the word `hermitian` for ⊗; `W_4` and `W₄` are
W4; `s_t`, `h_{t-1}`, `r_t`, `v_t`, `σ` are read as in the paper. `v = O_r` is `v = 0 + O_r`.
"""

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias, final

from interstellar.architecture.architecture import (
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.architecture.canonical_form import PRODUCTS, ZERO_OUTPUT, canonical_form
from interstellar.errors import ArchitectureError

EXAMPLE = "O_s = s + h; O_r = tanh(h + W4 r); v = O_s ⊗ W6 O_r"
MAX_LENGTH = 1000

WEIGHT = re.compile(r"W_?(?:[0-9]+|[₀-₉]+)")
WORD = re.compile(r"h_\{t[-−]1\}|h_t[-−]1|[A-Za-zσ][A-Za-z0-9_]*|[0-9]+")
TOKEN = re.compile(rf"\s*(?:{WEIGHT.pattern}|{WORD.pattern}|[-+*⊙⊗()/])")
COMBINATORS = {
    "+": Combinator.ADD,
    "*": Combinator.MULTIPLY,
    "⊙": Combinator.MULTIPLY,
    "⊗": Combinator.HERMITIAN,
    "hermitian": Combinator.HERMITIAN,
    "gated": Combinator.GATED,
}
ACTIVATIONS = {"tanh": Activation.TANH, "sigmoid": Activation.SIGMOID, "σ": Activation.SIGMOID}
NAMES = {"O_s": "O_s", "O_r": "O_r", "O_v": "v", "v": "v", "v_t": "v"}
VECTORS = {word: word for word in ("s", "h", "r", "O_s", "O_r", "0")} | {"s_t": "s", "r_t": "r"}
VECTORS |= dict.fromkeys(("h_prev", "h_t-1", "h_t−1", "h_{t-1}", "h_{t−1}"), "h")
SOURCES = {source.symbol: source for source in Source}
DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
PRINTED = {"s": "s_t", "h": "h_{t−1}", "r": "r_t"}
PRINTED |= {f"W{i}": f"W{subscript}" for i, subscript in enumerate("₁₂₃₄₅₆", 1)}
GATE_LINE = "a gated b = (1 − g) ⊙ a + g ⊙ b,  g = σ(W_a a + W_b b + bias)"


def from_formula(text: str) -> Architecture:
    """Return the architecture that the formula says."""
    expressions = _read_clauses(text)
    subject, relation, output = (expressions.get(name) for name in ("O_s", "O_r", "v"))
    if relation is None or output is None:
        raise _missing(text, "O_r" if relation is None else "v")
    if subject is None and "O_s" in (relation.source, output.source):
        raise _missing(text, "O_s", because=", and another clause reads O_s")
    subject = subject or _Expression("s", Combinator.ADD, Activation.IDENTITY, frozenset())
    macro = Macro(
        subject=subject.combinator,
        relation=relation.combinator,
        output=output.combinator,
        relation_source=SOURCES[relation.source],
        output_source=SOURCES[output.source],
    )
    micro = Micro(
        subject_activation=subject.activation,
        relation_activation=relation.activation,
        trained=subject.trained | relation.trained | output.trained,
    )
    return Architecture(macro, micro)


def to_formula(architecture: Architecture) -> str:
    """Return the architecture as one line that `from_formula` reads back exactly.

    The clause of O_s is left out where nobody reads O_s and it is `O_s = s + h`.
    """
    subject, *others = (f"{name} = {_write(architecture, name)}" for name in RULES)
    is_said = architecture.macro.is_subject_output_read or subject != "O_s = s + h"
    return "; ".join([subject, *others] if is_said else others)


def formulas(architecture: Architecture) -> tuple[str, ...]:
    """Return lines to show, in the paper's symbols, with notes where the cell is degenerate."""
    macro = architecture.macro
    subject, relation, output = (
        re.sub(r"\b(?:[shr]|W[1-6])\b", lambda word: PRINTED[word[0]], _write(architecture, name))
        for name in RULES
    )
    lines = [f"O_s = {subject}"] if macro.is_subject_output_read else []
    lines += [f"O_r = {relation}", f"v_t = {output}"]
    if macro.is_hidden_read:
        lines.append("h_t = O_r,  h_0 = s_1")
    if any(" gated " in line for line in lines):
        lines.append(GATE_LINE)
    return (*lines, *(f"Note: {note}" for note in _notes(architecture)))


_Operand: TypeAlias = tuple[int | None, str]
"""A vector, behind the matrix of that number if there is one."""


@dataclass(frozen=True, slots=True)
class _Expression:
    """What one clause says."""

    source: str
    combinator: Combinator
    activation: Activation
    trained: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Rule:
    """What one clause may say: `first` and `second` input, with the numbers of their links."""

    first: tuple[str, ...]
    second: str
    weights: tuple[int, int]
    example: str


RULES = {
    "O_s": _Rule(("s",), "h", (1, 2), "O_s = tanh(W1 s + W2 h)"),
    "O_r": _Rule(("s", "h", "O_s", "0"), "r", (3, 4), "O_r = tanh(W3 h + W4 r)"),
    "v": _Rule(("s", "h", "O_s", "0"), "O_r", (5, 6), "v = W5 s + W6 O_r"),
}


def _read_clauses(text: str) -> dict[str, _Expression]:
    if len(text) > MAX_LENGTH:
        raise ArchitectureError(
            f"The formula that starts with {text[:40]!r} has {len(text)} characters, but none "
            f"needs more than {MAX_LENGTH}. Write it as in `{EXAMPLE}`."
        )
    expressions: dict[str, _Expression] = {}
    for clause in filter(None, map(str.strip, re.split(r"[;\n]", text))):
        left, equals, right = (part.strip() for part in clause.partition("="))
        name = NAMES.get(left)
        if not equals or name is None:
            raise ArchitectureError(
                f"The clause {clause!r} does not start with `O_s =`, `O_r =` or `v =`, and these "
                f"are the clauses of a formula. Write it as in `{EXAMPLE}`."
            )
        if name in expressions:
            raise ArchitectureError(
                f"The formula {text!r} has two clauses for {name}, but each operator has one. "
                "Remove one of them."
            )
        expressions[name] = _ClauseReader(clause, right, RULES[name]).read(name)
    return expressions


@final
class _ClauseReader:
    """Reads the right side of one clause from left to right."""

    def __init__(self, clause: str, right: str, rule: _Rule) -> None:
        self._clause = clause
        self._rule = rule
        self._tokens = self._split(right)

    def read(self, name: str) -> _Expression:
        activation = self._read_activation(name)
        is_wrapped = self._accept("(")
        first: _Operand = (None, "0")
        combinator, second = Combinator.ADD, self._read_operand()
        if self._next not in ("", ")"):
            first, combinator = second, self._read_combinator()
            second = self._read_operand()
        elif "0" not in self._rule.first:
            self._fail(f"{second[1]} stands alone, but O_s combines s with h")
        if is_wrapped and not self._accept(")"):
            self._fail(f"{self._found} where the closing bracket must be")
        if self._tokens:
            self._fail(f"{self._found} after the end of the expression")
        return self._build(activation, combinator, first, second)

    def _build(
        self, activation: Activation, combinator: Combinator, first: _Operand, second: _Operand
    ) -> _Expression:
        rule = self._rule
        if first[1] == rule.second and second[1] in rule.first:
            if combinator is Combinator.GATED:
                self._fail(f"a gate tells its inputs apart, and {rule.second} must be the second")
            first, second = second, first
        if second[1] != rule.second:
            self._fail(f"{second[1]} stands where {rule.second} must be")
        if first[1] not in rule.first:
            known = " or ".join(", ".join(rule.first).rsplit(", ", 1))
            self._fail(f"{first[1]} is combined with {second[1]}, which takes {known}")
        for (weight, vector), number in zip((first, second), rule.weights, strict=True):
            if weight not in (None, number):
                self._fail(f"W{weight} stands before {vector}, whose matrix is W{number}")
        trained = frozenset(weight for weight, _ in (first, second) if weight is not None)
        return _Expression(first[1], combinator, activation, trained)

    def _read_activation(self, name: str) -> Activation:
        activation = ACTIVATIONS.get(self._next.lower())
        if activation is None:
            return Activation.IDENTITY
        word = self._tokens.pop(0)
        if name == "v":
            self._fail(f"{word} is applied to v, which has no activation")
        if self._next != "(":
            self._fail(f"{self._found} where {word} must be followed by a bracket")
        return activation

    def _read_operand(self) -> _Operand:
        weight = None
        if WEIGHT.fullmatch(self._next):
            weight = int(self._tokens.pop(0).translate(DIGITS).strip("W_"))
        if self._next not in VECTORS:
            self._fail(f"{self._found} where a vector must be (s, h, r, O_s, O_r or 0)")
        return weight, VECTORS[self._tokens.pop(0)]

    def _read_combinator(self) -> Combinator:
        if self._next.lower() not in COMBINATORS:
            signs = "+, ⊙ or *, ⊗ or hermitian, gated"
            self._fail(f"{self._found} where a combinator must be ({signs})")
        return COMBINATORS[self._tokens.pop(0).lower()]

    def _split(self, right: str) -> list[str]:
        tokens, end = [], 0
        while match := TOKEN.match(right, end):
            tokens.append(match.group().strip())
            end = match.end()
        if right[end:].strip():
            self._fail(f"{right[end:].strip()[:20]!r} cannot be read")
        return tokens

    def _accept(self, token: str) -> bool:
        return self._next == token and bool(self._tokens.pop(0))

    @property
    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    @property
    def _found(self) -> str:
        return f"{self._next!r} stands" if self._tokens else "the clause ends"

    def _fail(self, fault: str) -> NoReturn:
        raise ArchitectureError(
            f"In the clause {self._clause!r}, {fault}. Write it as in `{self._rule.example}`."
        )


def _missing(text: str, name: str, because: str = "") -> ArchitectureError:
    return ArchitectureError(
        f"The formula {text!r} has no clause for {name}{because}. "
        f"Add one, such as `{RULES[name].example}`."
    )


def _write(architecture: Architecture, name: str) -> str:
    """Return the right side of a clause."""
    macro, micro = architecture.macro, architecture.micro
    source, combinator, activation = {
        "O_s": (Source.SUBJECT, macro.subject, micro.subject_activation),
        "O_r": (macro.relation_source, macro.relation, micro.relation_activation),
        "v": (macro.output_source, macro.output, Activation.IDENTITY),
    }[name]
    inputs = zip(RULES[name].weights, (source.symbol, RULES[name].second), strict=True)
    a, b = (f"W{i} {x}" if i in micro.trained else x for i, x in inputs)
    is_alone = a == "0" and combinator is Combinator.ADD
    expression = b if is_alone else f"{a} {combinator.symbol} {b}"
    return expression if activation is Activation.IDENTITY else f"{activation}({expression})"


def _notes(architecture: Architecture) -> list[str]:
    """Return a sentence for each thing a reader might overlook in the formulas."""
    macro = architecture.macro
    if canonical_form(architecture) == ZERO_OUTPUT:
        return ["v_t is 0 at every step, so this network predicts nothing."]
    notes = []
    if macro.relation_source is Source.ZERO and macro.relation in PRODUCTS:
        value = "½" if architecture.micro.relation_activation is Activation.SIGMOID else "0"
        notes.append(f"O_r is {value} at every step, so the relation is never read.")
        if macro.output_source is Source.ZERO:
            notes.append("v_t is the same vector at every step, so this network tells nothing.")
            return notes
    if not macro.is_hidden_read:
        notes.append("nothing reads h_{t−1}, so each triplet is taken by itself.")
    return notes
