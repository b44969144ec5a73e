"""Reads the one-line notation, `O_s = s + h; O_r = tanh(h + W4 r); v = O_s ⊗ W6 O_r`.

Three clauses, between semicolons or line ends, in any order. The clause of O_s may be left
out when nobody reads O_s. `*` stands for ⊙ and the word `hermitian` for ⊗; `W_4` and `W₄` are
W4; `s_t`, `h_{t-1}`, `r_t`, `v_t`, `σ` are read as in the paper. `v = O_r` is `v = 0 + O_r`.
"""

import re
from dataclasses import dataclass
from typing import NoReturn, final

from interstellar.architecture.architecture import Architecture, Macro, Micro
from interstellar.architecture.choices import Activation, Combinator, Source
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
VECTORS = {
    **dict.fromkeys(("s", "s_t"), "s"),
    **dict.fromkeys(("h", "h_prev", "h_t-1", "h_t−1", "h_{t-1}", "h_{t−1}"), "h"),
    **dict.fromkeys(("r", "r_t"), "r"),
    **{word: word for word in ("O_s", "O_r", "0")},
}
SOURCES = {source.symbol: source for source in Source}
DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


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


@dataclass(frozen=True, slots=True)
class _Expression:
    """What one clause says."""

    source: str
    combinator: Combinator
    activation: Activation
    trained: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Operand:
    """A vector, behind the matrix of that number if there is one."""

    weight: int | None
    vector: str


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
        first = self._read_operand()
        if self._peek() in ("", ")"):
            if "0" not in self._rule.first:
                self._fail(f"{first.vector} stands alone, but O_s combines s with h")
            first, combinator, second = _Operand(None, "0"), Combinator.ADD, first
        else:
            combinator = self._read_combinator()
            second = self._read_operand()
        if is_wrapped and not self._accept(")"):
            self._fail(f"{self._found()} where the closing bracket must be")
        if self._tokens:
            self._fail(f"{self._found()} after the end of the expression")
        return self._build(activation, combinator, first, second)

    def _build(
        self,
        activation: Activation,
        combinator: Combinator,
        first: _Operand,
        second: _Operand,
    ) -> _Expression:
        rule = self._rule
        if first.vector == rule.second and second.vector in rule.first:
            if combinator is Combinator.GATED:
                self._fail(f"a gate tells its inputs apart, and {rule.second} must be the second")
            first, second = second, first
        if second.vector != rule.second:
            self._fail(f"{second.vector} stands where {rule.second} must be")
        if first.vector not in rule.first:
            self._fail(
                f"{first.vector} is combined with {second.vector}, which takes {self._choices()}"
            )
        for operand, number in zip((first, second), rule.weights, strict=True):
            if operand.weight not in (None, number):
                fault = f"W{operand.weight} stands before {operand.vector}"
                self._fail(f"{fault}, whose matrix is W{number}")
        weights = (first.weight, second.weight)
        trained = frozenset(weight for weight in weights if weight is not None)
        return _Expression(first.vector, combinator, activation, trained)

    def _read_activation(self, name: str) -> Activation:
        activation = ACTIVATIONS.get(self._peek().lower())
        if activation is None:
            return Activation.IDENTITY
        word = self._take()
        if name == "v":
            self._fail(f"{word} is applied to v, which has no activation")
        if self._peek() != "(":
            self._fail(f"{self._found()} where {word} must be followed by a bracket")
        return activation

    def _read_operand(self) -> _Operand:
        weight = None
        if WEIGHT.fullmatch(self._peek()):
            weight = int(self._take().translate(DIGITS).strip("W_"))
        vector = VECTORS.get(self._peek())
        if vector is None:
            self._fail(f"{self._found()} where a vector must be (s, h, r, O_s, O_r or 0)")
        self._take()
        return _Operand(weight, vector)

    def _read_combinator(self) -> Combinator:
        combinator = COMBINATORS.get(self._peek().lower())
        if combinator is None:
            signs = "+, ⊙ or *, ⊗ or hermitian, gated"
            self._fail(f"{self._found()} where a combinator must be ({signs})")
        self._take()
        return combinator

    def _choices(self) -> str:
        *others, last = self._rule.first
        return f"{', '.join(others)} or {last}" if others else last

    def _split(self, right: str) -> list[str]:
        tokens, end = [], 0
        while match := TOKEN.match(right, end):
            tokens.append(match.group().strip())
            end = match.end()
        if right[end:].strip():
            self._fail(f"{right[end:].strip()[:20]!r} cannot be read")
        return tokens

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self) -> str:
        return self._tokens.pop(0)

    def _accept(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._take()
        return True

    def _found(self) -> str:
        return f"{self._peek()!r} stands" if self._tokens else "the clause ends"

    def _fail(self, fault: str) -> NoReturn:
        raise ArchitectureError(
            f"In the clause {self._clause!r}, {fault}. Write it as in `{self._rule.example}`."
        )


def _missing(text: str, name: str, because: str = "") -> ArchitectureError:
    return ArchitectureError(
        f"The formula {text!r} has no clause for {name}{because}. "
        f"Add one, such as `{RULES[name].example}`."
    )
