"""An architecture as a small picture, in the manner of the paper's figures.

h_{t-1} comes in at the left and h_t leaves at the right; s_t and r_t come in from below; v_t
leaves at the upper right. A circle is an operator, its sign the combinator, the word at its
upper right the activation. Links are identities unless they carry a W_i. What nobody reads is
left out, and so is an operator that passes on what it is given. Of a propagation the cell is what
goes along an edge from v′ to v; it is followed by what v makes of it, once in each layer.
"""

from typing import assert_never

from interstellar.architecture.architecture import Architecture, Combinator, Macro, Source
from interstellar.architecture.formula import formulas, to_formula
from interstellar.architecture.literature import name_of
from interstellar.architecture.picture import ACCENT, RADIUS, SOFT, Link, Node, Picture, straight
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    Propagation,
    RelationVectors,
    Update,
    propagation_formulas,
    to_text,
)

WIDTH, HEIGHT = 540, 340
UNUSED_WITHOUT_HIDDEN = 120  # the left part, where h_{t-1} comes in
BEHIND_SUBSCRIPT = 31  # free space around h_{t-1}

HIDDEN_IN, HIDDEN_OUT = Node(40 + 180j, BEHIND_SUBSCRIPT), Node(500 + 180j)
SUBJECT_IN, RELATION_IN = Node(170 + 305j), Node(380 + 305j)
O_S, O_R, O_V = (Node(at, RADIUS) for at in (170 + 180j, 380 + 180j, 380 + 60j))
VECTOR_OUT = Node(500 + 60j)
ZERO_SIDE = 76  # how far left of its operator the 0 stands

PROPAGATION_WIDTH = 800
AGGREGATED, UPDATED, LAST = (Node(at, RADIUS) for at in (510 + 180j, 650 + 180j, 650 + 60j))
TRANSFORM = Node(580 + 180j, 13)
STATE_IN, STATE_OUT = Node(650 + 300j, 20), Node(755 + 180j)
ANSWER_OUT = Node(755 + 60j)
LAST_SIDE = 120  # how far left of O_v what it reads beside the last state stands
SIGNS = {
    Aggregation.SUM: "Σ",
    Aggregation.MEAN: "mean",
    Aggregation.MAX: "max",
    Aggregation.PNA: "PNA",
}


def draw_svg(network: Architecture | Propagation) -> str:
    """Return the picture as a self-contained SVG document."""
    if isinstance(network, Propagation):
        return _draw_propagation(network)
    macro = network.macro
    left = 0 if macro.is_hidden_read else UNUSED_WITHOUT_HIDDEN
    picture = Picture(
        left,
        WIDTH - left,
        HEIGHT,
        title=_title(network, to_formula(network)),
        description="\n".join(formulas(network)),
    )
    for link in (*_operand_links(macro), *_output_links(macro)):
        picture.link(link, network.micro.trained)
    if macro.is_hidden_read:
        picture.link(Link(straight(O_R, HIDDEN_OUT)))
    _draw_operators(picture, network)
    if not _is_passed_on(macro):
        picture.operator(O_V, "v", macro.output)
    _draw_names(picture, macro)
    return picture.to_svg()


def _title(network: Architecture | Propagation, formula: str) -> str:
    name = name_of(network)
    return f"{name}: {formula}" if name else formula


def _is_passed_on(macro: Macro) -> bool:
    """Whether v_t is W_6 O_r."""
    return macro.output is Combinator.ADD and macro.output_source is Source.ZERO


def _operand_links(macro: Macro) -> list[Link]:
    """Return what goes into O_s and O_r."""
    links = [_relation_link(macro), Link(straight(RELATION_IN, O_R), 4)]
    if macro.is_subject_output_read:
        links.append(Link(straight(SUBJECT_IN, O_S), 1, label_at=0.27))
        links.append(Link(straight(HIDDEN_IN, O_S), 2))
    return links


def _relation_link(macro: Macro) -> Link:
    """Return the link from x_r to O_r."""
    match macro.relation_source:
        case Source.SUBJECT:
            return Link(straight(SUBJECT_IN, O_R), 3, label_at=0.62)
        case Source.HIDDEN if macro.is_subject_output_read:  # round O_s
            at = HIDDEN_IN.at
            curve = (at + 8 + 16j, 105 + 256j, 265 + 256j, O_R.at - 20 + 11j)
            return Link(curve, 3, label_at=0.7)
        case Source.HIDDEN:
            return Link(straight(HIDDEN_IN, O_R), 3, label_at=0.3)
        case Source.SUBJECT_OUTPUT:
            return Link(straight(O_S, O_R), 3, label_at=0.3)
        case Source.ZERO:
            return Link(straight(Node(O_R.at - ZERO_SIDE), O_R), is_faint=True)
        case _:
            assert_never(macro.relation_source)


def _output_links(macro: Macro) -> list[Link]:
    """Return the links that end in v_t."""
    if _is_passed_on(macro):
        return [_bend(O_R, VECTOR_OUT)]
    up, out = Link(straight(O_R, O_V), 6), Link(straight(O_V, VECTOR_OUT))
    return [_output_link(macro.output_source), up, out]


def _bend(start: Node, end: Node) -> Link:
    """Return the link that goes up from an operator and then to the right."""
    corner = complex(start.at.real, end.at.imag)
    first, last = start.at - start.margin * 1j, end.at - end.margin - 1
    return Link((first, (first + 3 * corner) / 4, (3 * corner + last) / 4, last), 6, label_at=0.3)


def _output_link(source: Source) -> Link:
    """Return the link from x_v to O_v."""
    end = O_V.at - RADIUS - 1
    match source:
        case Source.SUBJECT:
            return Link(straight(SUBJECT_IN, O_V), 5, label_at=0.72)
        case Source.HIDDEN:
            curve = (HIDDEN_IN.at - 18j, 40 + 60j, 110 + 60j, end)
            return Link(curve, 5, label_at=0.7)
        case Source.SUBJECT_OUTPUT:
            return Link((O_S.at - RADIUS * 1j, 170 + 80j, 225 + 60j, end), 5, label_at=0.65)
        case Source.ZERO:
            return Link(straight(Node(O_V.at - ZERO_SIDE), O_V), is_faint=True)
        case _:
            assert_never(source)


def _draw_operators(picture: Picture, cell: Architecture) -> None:
    macro, micro = cell.macro, cell.micro
    if macro.is_subject_output_read:
        picture.operator(O_S, "s", macro.subject, micro.subject_activation)
    picture.operator(O_R, "r", macro.relation, micro.relation_activation)


def _draw_names(picture: Picture, macro: Macro) -> None:
    nodes = [(RELATION_IN, "r", "t"), (VECTOR_OUT, "v", "t")]
    if macro.is_hidden_read:
        nodes += [(HIDDEN_IN, "h", "t−1"), (HIDDEN_OUT, "h", "t")]
    if macro.is_subject_output_read or Source.SUBJECT in (
        macro.relation_source,
        macro.output_source,
    ):
        nodes.append((SUBJECT_IN, "s", "t"))
    for node, name, subscript in nodes:
        picture.symbol(node.at + 5j, name, subscript)
    _draw_zero(picture, macro.relation_source, O_R)
    if not _is_passed_on(macro):
        _draw_zero(picture, macro.output_source, O_V)


def _draw_zero(picture: Picture, source: Source, operator: Node) -> None:
    if source is Source.ZERO:
        picture.symbol(operator.at - ZERO_SIDE + 5j, "0", ink=SOFT, size=17)


def _draw_propagation(propagation: Propagation) -> str:
    cell = propagation.cell
    picture = Picture(
        0,
        PROPAGATION_WIDTH,
        HEIGHT,
        title=_title(propagation, to_text(propagation)),
        description="\n".join(propagation_formulas(propagation)),
    )
    for link in _operand_links(cell.macro):
        picture.link(link, cell.micro.trained)
    _draw_operators(picture, cell)
    _draw_zero(picture, cell.macro.relation_source, O_R)
    _draw_message_names(picture, propagation)
    _draw_layer(picture, propagation)
    _draw_answer(picture, cell)
    return picture.to_svg()


def _draw_message_names(picture: Picture, propagation: Propagation) -> None:
    """Write what goes into a message, and from where."""
    macro, sources = propagation.cell.macro, {propagation.cell.macro.relation_source}
    layers = "t = 1" if propagation.depth == 1 else f"t = 1, …, {propagation.depth}"
    picture.write(24 + 30j, layers, ink=SOFT, size=14, anchor="start")
    picture.symbol(RELATION_IN.at + 5j, "r", "t")
    is_own = propagation.relations is RelationVectors.OWN
    if not is_own:
        picture.link(Link(straight(SUBJECT_IN, RELATION_IN)))
        picture.label((SUBJECT_IN.at + RELATION_IN.at) / 2, "W", "r")
    if macro.is_subject_output_read or Source.SUBJECT in sources or not is_own:
        picture.symbol(SUBJECT_IN.at + 5j, "s")
    if macro.is_subject_output_read or Source.HIDDEN in sources:
        picture.symbol(HIDDEN_IN.at + 5j, "h", "t−1")
        picture.write(HIDDEN_IN.at - 20j, "at v′", ink=SOFT, size=13)


def _draw_layer(picture: Picture, propagation: Propagation) -> None:
    """Draw what a node makes of the messages that reach it."""
    at = AGGREGATED.at
    picture.link(Link(straight(O_R, AGGREGATED)))
    if propagation.attention is Attention.QUERY:
        picture.label((O_R.at + at) / 2 - 3, "α")
    for start, end in ((at - 34 - 60j, at - 10 - 21j), (at - 34 + 60j, at - 10 + 21j)):
        picture.link(Link(straight(Node(start, 0), Node(end, 0)), is_faint=True))
    picture.write(at - 36 - 66j, "other edges to v", ink=SOFT, size=13)
    picture.symbol(at - 36 + 76j, "h", "0", ink=SOFT, size=16)
    picture.circle(AGGREGATED, word=SIGNS[propagation.aggregation])
    picture.link(Link(straight(AGGREGATED, UPDATED)))
    picture.link(Link(straight(STATE_IN, UPDATED)))
    picture.link(Link(straight(STATE_IN, TRANSFORM)))
    picture.link(Link(straight(UPDATED, STATE_OUT)))
    picture.label(TRANSFORM.at, "W")
    picture.write(TRANSFORM.at - 19j, "relu", ink=ACCENT, size=13)
    is_gate = propagation.update is Update.GATE
    picture.operator(UPDATED, "", Combinator.GATED if is_gate else Combinator.ADD)
    picture.symbol(STATE_IN.at + 5j, "h", "t−1")
    picture.write(STATE_IN.at + 27j, "at v", ink=SOFT, size=13)
    picture.symbol(STATE_OUT.at + 5j, "h", "t")
    picture.write(STATE_OUT.at - 20j, "at v", ink=SOFT, size=13)


def _draw_answer(picture: Picture, cell: Architecture) -> None:
    """Draw what is read of the last layer's states."""
    macro, trained = cell.macro, cell.micro.trained
    picture.symbol(ANSWER_OUT.at + 5j, "v", "t")
    picture.write(ANSWER_OUT.at + 30j, "last t", ink=SOFT, size=13)
    if _is_passed_on(macro):
        picture.link(_bend(UPDATED, ANSWER_OUT), trained)
        return
    picture.link(Link(straight(UPDATED, LAST), 6), trained)
    picture.link(Link(straight(LAST, ANSWER_OUT)))
    side, is_zero = Node(LAST.at - LAST_SIDE, 20), macro.output_source is Source.ZERO
    picture.link(Link(straight(side, LAST), 5, is_faint=is_zero), trained)
    name, subscript = {
        Source.SUBJECT: ("s", ""),
        Source.HIDDEN: ("h", "t−1"),
        Source.SUBJECT_OUTPUT: ("O", "s"),
        Source.ZERO: ("0", ""),
    }[macro.output_source]
    picture.symbol(side.at + 5j, name, subscript, size=17)
    picture.operator(LAST, "v", macro.output)
