"""An architecture as a small picture, in the manner of the paper's figures.

h_{t-1} comes in at the left and h_t leaves at the right; s_t and r_t come in from below; v_t
leaves at the upper right. A circle is an operator, its sign the combinator, the word at its
upper right the activation. Links are identities unless they carry a W_i. What nobody reads is
left out. The picture has its own light ground, so that it reads on dark pages too.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from interstellar.architecture.architecture import Activation, Architecture, Combinator, Source
from interstellar.architecture.formula import formulas, to_formula
from interstellar.architecture.literature import name_of

Point: TypeAlias = complex
"""x + y·j, y downwards."""
Curve: TypeAlias = tuple[Point, Point, Point, Point]

WIDTH, HEIGHT = 540, 340
UNUSED_WITHOUT_HIDDEN = 120  # the left part, where h_{t-1} comes in
RADIUS = 22
INK, SOFT, ACCENT, GROUND = "#1f2328", "#6b7280", "#9a3412", "#ffffff"
EDGE, FILL = "#d0d7de", "#eef2ff"
NAMESPACE = "http://www.w3.org/2000/svg"
FONT = "Helvetica, Arial, sans-serif"

HIDDEN_IN, HIDDEN_OUT = 40 + 180j, 500 + 180j
SUBJECT_IN, RELATION_IN = 170 + 305j, 380 + 305j
O_S, O_R, O_V = 170 + 180j, 380 + 180j, 380 + 60j
VECTOR_OUT = 500 + 60j
ZERO_SIDE = 76  # how far left of its operator the 0 stands

NODE_MARGIN = 18  # free space around an input's name
ARROW = 8


def draw_svg(architecture: Architecture) -> str:
    """Return the picture as a self-contained SVG document."""
    picture = _start_picture(architecture)
    for link in _links(architecture):
        _draw_link(picture, link, architecture.micro.trained)
    _draw_operators(picture, architecture)
    _draw_names(picture, architecture)
    ET.indent(picture)
    return ET.tostring(picture, encoding="unicode") + "\n"


@dataclass(frozen=True, slots=True)
class _Link:
    """A cubic curve with an arrow at its end, and a matrix on it where that is trained."""

    curve: Curve
    weight: int | None = None
    label_at: float = 0.5
    """Where on the curve the matrix stands, from 0 to 1."""
    is_faint: bool = False


def _links(architecture: Architecture) -> list[_Link]:
    macro = architecture.macro
    links = [
        _relation_link(architecture),
        _output_link(architecture),
        _Link(_straight(RELATION_IN, O_R), 4),
        _Link(_straight(O_R, O_V), 6),
        _Link(_straight(O_V, VECTOR_OUT)),
    ]
    if macro.is_subject_output_read:
        links.append(_Link(_straight(SUBJECT_IN, O_S), 1, label_at=0.27))
        links.append(_Link(_straight(HIDDEN_IN, O_S), 2))
    if macro.is_hidden_read:
        links.append(_Link(_straight(O_R, HIDDEN_OUT)))
    return links


def _relation_link(architecture: Architecture) -> _Link:
    """Return the link from x_r to O_r."""
    macro = architecture.macro
    match macro.relation_source:
        case Source.SUBJECT:
            return _Link(_straight(SUBJECT_IN, O_R), 3, label_at=0.62)
        case Source.HIDDEN if macro.is_subject_output_read:  # round O_s
            curve = (HIDDEN_IN + 8 + 16j, 105 + 256j, 265 + 256j, O_R - 20 + 11j)
            return _Link(curve, 3, label_at=0.7)
        case Source.HIDDEN:
            return _Link(_straight(HIDDEN_IN, O_R), 3, label_at=0.3)
        case Source.SUBJECT_OUTPUT:
            return _Link(_straight(O_S, O_R), 3, label_at=0.3)
        case Source.ZERO:
            return _Link(_straight(O_R - ZERO_SIDE, O_R), is_faint=True)
        case _:
            assert_never(macro.relation_source)


def _output_link(architecture: Architecture) -> _Link:
    """Return the link from x_v to O_v."""
    source, end = architecture.macro.output_source, O_V - RADIUS - 1
    match source:
        case Source.SUBJECT:
            return _Link(_straight(SUBJECT_IN, O_V), 5, label_at=0.72)
        case Source.HIDDEN:
            curve = (HIDDEN_IN - NODE_MARGIN * 1j, 40 + 60j, 110 + 60j, end)
            return _Link(curve, 5, label_at=0.7)
        case Source.SUBJECT_OUTPUT:
            return _Link((O_S - RADIUS * 1j, 170 + 80j, 225 + 60j, end), 5, label_at=0.65)
        case Source.ZERO:
            return _Link(_straight(O_V - ZERO_SIDE, O_V), is_faint=True)
        case _:
            assert_never(source)


def _straight(start: Point, end: Point) -> Curve:
    """Return the line between two nodes, cut where their names or circles begin."""
    direction = (end - start) / abs(end - start)
    start += _margin(start) * direction
    end -= (_margin(end) + 1) * direction
    third = (end - start) / 3
    return start, start + third, end - third, end


def _margin(node: Point) -> int:
    if node in (O_S, O_R, O_V):
        return RADIUS
    return NODE_MARGIN + 13 if node == HIDDEN_IN else NODE_MARGIN  # 13 for the subscript


def _start_picture(architecture: Architecture) -> ET.Element:
    left = 0 if architecture.macro.is_hidden_read else UNUSED_WITHOUT_HIDDEN
    size = {"width": str(WIDTH - left), "height": str(HEIGHT)}
    view = {**size, "viewBox": f"{left} 0 {WIDTH - left} {HEIGHT}", "role": "img"}
    picture = ET.Element("svg", {"xmlns": NAMESPACE, **view, "font-family": FONT})
    name, formula = name_of(architecture), to_formula(architecture)
    ET.SubElement(picture, "title").text = f"{name}: {formula}" if name else formula
    ET.SubElement(picture, "desc").text = "\n".join(formulas(architecture))
    place = {"x": str(left), **size, "rx": "10"}
    ET.SubElement(picture, "rect", {**place, "fill": GROUND, "stroke": EDGE})
    return picture


def _draw_link(picture: ET.Element, link: _Link, trained: frozenset[int]) -> None:
    start, one, two, end = link.curve
    ink = SOFT if link.is_faint else INK
    arrow = ARROW * (end - two) / abs(end - two)
    path = f"M{_xy(start)} C{_xy(one)} {_xy(two)} {_xy(end - 0.7 * arrow)}"  # within the arrow
    line = ET.SubElement(picture, "path", {"d": path, "fill": "none", "stroke": ink})
    line.set("stroke-width", "1.6")
    if link.is_faint:
        line.set("stroke-dasharray", "4 3")
    left, right = end - arrow + arrow * 0.5j, end - arrow - arrow * 0.5j
    ET.SubElement(picture, "path", {"d": f"M{_xy(end)} L{_xy(left)} L{_xy(right)} Z", "fill": ink})
    if link.weight in trained:
        at = _point_on(link.curve, link.label_at)
        x, y = _n(at.real - 15), _n(at.imag - 11)
        box = {"x": x, "y": y, "width": "30", "height": "22", "rx": "5"}
        ET.SubElement(picture, "rect", {**box, "fill": GROUND, "stroke": ACCENT})
        _write_symbol(picture, at + 4.5j, "W", str(link.weight), ink=ACCENT, size=14)


def _point_on(curve: Curve, u: float) -> Point:
    shares = ((1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u**2 * (1 - u), u**3)
    return sum((share * point for share, point in zip(shares, curve, strict=True)), 0j)


def _draw_operators(picture: ET.Element, architecture: Architecture) -> None:
    macro, micro = architecture.macro, architecture.micro
    if macro.is_subject_output_read:
        _draw_operator(picture, O_S, "s", macro.subject, micro.subject_activation)
    _draw_operator(picture, O_R, "r", macro.relation, micro.relation_activation)
    _draw_operator(picture, O_V, "v", macro.output, Activation.IDENTITY)


def _draw_operator(
    picture: ET.Element, at: Point, name: str, combinator: Combinator, activation: Activation
) -> None:
    _circle(picture, at, RADIUS, fill=FILL)
    _draw_combinator(picture, at, combinator)
    _write_symbol(picture, at + 30 + 30j, "O", name, ink=SOFT, size=14)
    if activation is not Activation.IDENTITY:
        _write(picture, at + 18 - 24j, str(activation), ink=ACCENT, size=13, anchor="start")


def _draw_combinator(picture: ET.Element, at: Point, combinator: Combinator) -> None:
    """Draw the sign as lines: not every font has ⊙ and ⊗."""
    match combinator:
        case Combinator.ADD:
            _cross(picture, at, 9, 9j)
        case Combinator.MULTIPLY:
            _circle(picture, at, 10, fill="none")
            _circle(picture, at, 2.5, fill=INK)
        case Combinator.HERMITIAN:
            _circle(picture, at, 10, fill="none")
            _cross(picture, at, 7 + 7j, 7 - 7j)
        case Combinator.GATED:
            _write(picture, at + 4.5j, "gate", size=14)
        case _:
            assert_never(combinator)


def _cross(picture: ET.Element, at: Point, *arms: Point) -> None:
    for arm in arms:
        line = {"d": f"M{_xy(at - arm)} L{_xy(at + arm)}", "stroke": INK, "stroke-width": "1.8"}
        ET.SubElement(picture, "path", line)


def _circle(picture: ET.Element, at: Point, radius: float, *, fill: str) -> None:
    place = {"cx": _n(at.real), "cy": _n(at.imag), "r": _n(radius)}
    style = {"fill": fill, "stroke": INK, "stroke-width": "1.6"}
    ET.SubElement(picture, "circle", {**place, **style})


def _draw_names(picture: ET.Element, architecture: Architecture) -> None:
    macro = architecture.macro
    sources = (macro.relation_source, macro.output_source)
    nodes = [(RELATION_IN, "r", "t"), (VECTOR_OUT, "v", "t")]
    if macro.is_hidden_read:
        nodes += [(HIDDEN_IN, "h", "t−1"), (HIDDEN_OUT, "h", "t")]
    if macro.is_subject_output_read or Source.SUBJECT in sources:
        nodes.append((SUBJECT_IN, "s", "t"))
    for at, name, subscript in nodes:
        _write_symbol(picture, at + 5j, name, subscript, ink=INK, size=20)
    for source, operator in zip(sources, (O_R, O_V), strict=True):
        if source is Source.ZERO:
            _write(picture, operator - ZERO_SIDE + 5j, "0", ink=SOFT, size=17)


def _write_symbol(
    picture: ET.Element, at: Point, name: str, subscript: str, *, ink: str, size: int
) -> None:
    """Write a letter with its subscript as two texts that meet: renderers differ on `tspan`."""
    seam = at + size * (0.2 - 0.15 * (len(subscript) - 1))
    below = seam + 0.5 + size * 0.22j
    _write(picture, seam, name, ink=ink, size=size, anchor="end")
    _write(picture, below, subscript, ink=ink, size=round(size * 0.68), anchor="start")


def _write(
    picture: ET.Element, at: Point, word: str, *, size: int, ink: str = INK, anchor: str = "middle"
) -> None:
    place = {"x": _n(at.real), "y": _n(at.imag), "font-size": str(size), "text-anchor": anchor}
    ET.SubElement(picture, "text", {**place, "fill": ink}).text = word


def _xy(point: Point) -> str:
    return f"{_n(point.real)},{_n(point.imag)}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
