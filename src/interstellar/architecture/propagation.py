"""A cell as the message of a propagation: the choices beside the thirteen, and their notations.

A propagation runs f(s_t, r_t, h_{t-1}) along all paths from a query's subject at once. What the
choices mean as a formula stands in `model/propagation_network.py`. In one line a propagation is
its cell's formula and a clause for each choice that is not the default:

    O_r = h ⊙ r; v = O_r; relations = query; depth = 4
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, assert_never

from interstellar.architecture.architecture import Architecture, Combinator, Source
from interstellar.architecture.canonical_form import (
    PRODUCTS,
    ZERO_OUTPUT,
    absorb_link_of_subject,
    drop_dead_subject,
    drop_links_of_zero,
    drop_relation_times_zero,
)
from interstellar.architecture.formula import GATE_LINE, from_formula, to_formula
from interstellar.architecture.json_format import read_choices, shown
from interstellar.errors import ArchitectureError

MAX_DEPTH = 8


class Aggregation(StrEnum):
    """How the messages that reach a node, and the boundary there, become one vector."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    PNA = "pna"
    """Mean, max, min and deviation, each also times and over the node's scaled log-degree."""


class Attention(StrEnum):
    """What weighs a message."""

    NONE = "none"
    QUERY = "query"
    """α = σ(w · relu(W_h x_r + W_r r + W_q s)), one number an edge and query."""


class RelationVectors(StrEnum):
    """Where r_t comes from, in each layer by itself."""

    OWN = "own"
    """A vector that is learnt, the same for all queries."""
    QUERY = "query"
    """W_r s + b_r: each relation has its own matrix and bias for the query's vector."""


class Update(StrEnum):
    """How a node's state takes up what was aggregated, x."""

    RESIDUAL = "residual"
    """h + x."""
    GATE = "gate"
    """(1 − g) ⊙ h + g ⊙ x with g = σ(W_a h + W_b x + bias)."""


class LeftOut(StrEnum):
    """Which edges are left out while a batch of training triplets is asked for."""

    TRIPLETS = "triplets"
    """The triplets themselves and their inverses."""
    BETWEEN = "between"
    """Every edge between the two ends of one of the triplets."""


CHOICES: Mapping[str, type[StrEnum]] = {
    "aggregation": Aggregation,
    "attention": Attention,
    "relations": RelationVectors,
    "update": Update,
}
CLAUSES = (*CHOICES, "depth")


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """A cell and how its messages are passed on. Equal propagations hash equally."""

    cell: Architecture
    aggregation: Aggregation = Aggregation.PNA
    attention: Attention = Attention.NONE
    relations: RelationVectors = RelationVectors.OWN
    update: Update = Update.RESIDUAL
    depth: int = 6
    """The number of layers: the length of the longest path that counts."""

    def __post_init__(self) -> None:
        if type(self.depth) is not int or not 1 <= self.depth <= MAX_DEPTH:
            raise ArchitectureError(
                f"depth is {shown(self.depth)}, but a propagation has 1 to {MAX_DEPTH} layers. "
                "Choose a whole number between them."
            )


def canonical_propagation(propagation: Propagation) -> Propagation:
    """Return the representative of all propagations that are the same network.

    As in `canonical_form`, each rule keeps the set of functions that a network can be. Its rules
    on O_r rest on h_t = O_r and do not hold here, where a state is an aggregate of messages.
    """
    cell = propagation.cell
    for rule in (
        drop_dead_subject,
        drop_links_of_zero,
        drop_relation_times_zero,
        drop_relation_matrix,
        drop_query_beside_output,
        absorb_link_of_subject,
        drop_dead_subject,
    ):
        cell = rule(cell)
    if cell.macro.output in PRODUCTS and cell.macro.output_source is Source.ZERO:
        return Propagation(cell=ZERO_OUTPUT, depth=1)
    return drop_dead_choices(replace(propagation, cell=cell))


def drop_relation_matrix(cell: Architecture) -> Architecture:
    """W_4 → I: r_t is a free vector, or W_r s + b_r with free W_r and b_r, and read behind W_4.

    r′ = W_4 r + b_4, or W_r′ = W_4 W_r and b_r′ = W_4 b_r + b_4; ⇐ W_4 = I, b_4 = 0.
    """
    return _untrained(cell, 4)


def drop_query_beside_output(cell: Architecture) -> Architecture:
    """Where v = W_5 s + W_6 O_r or W_6 O_r: v → O_r, for what reads v begins with A v + C s + c.

    A′ = A W_6, C′ = C + A W_5, c′ = c + A b_6; ⇐ W_6 = I, b_6 = 0, C = C′ − A W_5.
    """
    macro = cell.macro
    if macro.output is not Combinator.ADD or macro.output_source not in (
        Source.SUBJECT,
        Source.ZERO,
    ):
        return cell
    return _untrained(Architecture(replace(macro, output_source=Source.ZERO), cell.micro), 5, 6)


def drop_dead_choices(propagation: Propagation) -> Propagation:
    """Where messages are the same constant: relation vectors → own; where it is 0: no attention.

    Relation vectors are read by messages and by attention alone. Nothing to move.
    """
    macro, micro = propagation.cell.macro, propagation.cell.micro
    if macro.relation_source is not Source.ZERO or macro.relation not in PRODUCTS:
        return propagation
    if micro.relation_activation == "identity":  # tanh has become that
        propagation = replace(propagation, attention=Attention.NONE)
    if propagation.attention is Attention.QUERY:
        return propagation
    return replace(propagation, relations=RelationVectors.OWN)


def _untrained(cell: Architecture, *weights: int) -> Architecture:
    return Architecture(cell.macro, replace(cell.micro, trained=cell.micro.trained - set(weights)))


def to_text(propagation: Propagation) -> str:
    """Return the propagation as one line that `from_text` reads back exactly."""
    defaults = {field.name: field.default for field in fields(Propagation)}
    clauses = [
        f"{name} = {getattr(propagation, name)}"
        for name in CLAUSES
        if getattr(propagation, name) != defaults[name]
    ]
    return "; ".join([to_formula(propagation.cell), *clauses])


def propagation_formulas(propagation: Propagation) -> tuple[str, ...]:
    """Return lines to show: a message, what a node makes of those that reach it, and the answer."""
    clauses = dict(clause.split(" = ", 1) for clause in to_formula(propagation.cell).split("; "))
    message = {"s": "s", "h": "h_{t−1}[v′]", "r": "r_t", "O_s": "O_s[v′]"}
    answer = {"s": "s", "h": "h_{t−1}[v]", "O_r": "h_t[v]", "O_s": "O_s[v]"}
    lines = [f"O_r = {_say(clauses['O_r'], message)}    along every edge (v′, r, v)"]
    if "O_s" in " ".join([clauses["O_r"], clauses["v"]]):
        subject = clauses.get("O_s", "s + h")
        lines.insert(0, f"O_s[v] = {_say(subject, {'s': 's', 'h': 'h_{t−1}[v]'})}")
    lines += _layer_lines(propagation)
    lines.append(f"v_t = {_say(clauses['v'], answer)}    after t = {propagation.depth}")
    if any(" gated " in line for line in lines):
        lines.append(GATE_LINE)
    return tuple(lines)


def _layer_lines(propagation: Propagation) -> Iterator[str]:
    has_attention = propagation.attention is Attention.QUERY
    message = "α O_r" if has_attention else "O_r"
    yield f"m = {propagation.aggregation} of {message} over the edges into v, and of h_0[v]"
    yield "x = relu(norm(W [h_{t−1}[v]; m] + b))"
    match propagation.update:
        case Update.RESIDUAL:
            yield "h_t[v] = h_{t−1}[v] + x"
        case Update.GATE:
            yield "h_t[v] = h_{t−1}[v] gated x"
        case _:
            assert_never(propagation.update)
    if has_attention:
        yield "α = σ(w · relu(W_h x_r + W_r r_t + W_q s))"
    if propagation.relations is RelationVectors.QUERY:
        yield "r_t = W_r s + b_r"
    yield "s is the vector of the query's relation; h_0 is s at its subject, else 0"


def _say(formula: str, words: Mapping[str, str]) -> str:
    """Return a side of a clause in the symbols of a propagation."""
    matrices = {f"W{i}": f"W{digit}" for i, digit in enumerate("₁₂₃₄₅₆", 1)}
    return re.sub(r"\b(?:O_[rs]|[shr]|W[1-6])\b", lambda at: {**words, **matrices}[at[0]], formula)


def from_text(text: str) -> Propagation:
    """Return the propagation that a line says; choices without a clause take the default."""
    formula, chosen = split_choices(text)
    return Propagation(cell=from_formula(formula), **chosen)


def split_choices(text: str) -> tuple[str, dict[str, Any]]:
    """Return what a line says of the cell, and the choices that it has clauses for."""
    said: dict[str, str] = {}
    others: list[str] = []
    for clause in text.replace("\n", ";").split(";"):
        name, _, value = (part.strip() for part in clause.partition("="))
        if name not in CLAUSES:
            others.append(clause)
            continue
        if name in said:
            raise ArchitectureError(
                f"{name} is said twice in {text!r}, but it has one value. Remove one of the two."
            )
        said[name] = value
    if not said:
        return text, {}
    depth = {"depth": _read_depth(said.pop("depth"))} if "depth" in said else {}
    kinds = {name: CHOICES[name] for name in said}
    return ";".join(others), read_choices(kinds, said, "propagation") | depth


def _read_depth(text: str) -> Any:
    """Return the number, or the text itself for `Propagation` to refuse."""
    return int(text) if text.isdecimal() else text
