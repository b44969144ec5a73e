"""An architecture as a small picture, in the manner of the paper's figures.

h_{t-1} comes in at the left and h_t leaves at the right; s_t and r_t come in from below; v_t
leaves at the upper right. A circle is an operator, its sign the combinator, the word at its
upper right the activation. Links are identities unless they carry a W_i. What nobody reads is
left out. The picture has its own light ground, so that it reads on dark pages too.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.choices import Activation, Combinator, Source
from interstellar.architecture.formula_writing import formulas, to_formula
from interstellar.architecture.literature import name_of

Point: TypeAlias = tuple[float, float]

WIDTH, HEIGHT = 540, 340
UNUSED_WITHOUT_HIDDEN = 120  # the left part, where h_{t-1} comes in
RADIUS = 22
INK, SOFT, ACCENT, GROUND = "#1f2328", "#6b7280", "#9a3412", "#ffffff"
EDGE, FILL = "#d0d7de", "#eef2ff"
FONT = "Helvetica, Arial, sans-serif"

HIDDEN_IN, HIDDEN_OUT = (40.0, 180.0), (500.0, 180.0)
SUBJECT_IN, RELATION_IN = (170.0, 305.0), (380.0, 305.0)
O_S, O_R, O_V = (170.0, 180.0), (380.0, 180.0), (380.0, 60.0)
VECTOR_OUT = (500.0, 60.0)
ZERO_SIDE = 76.0  # how far left of its operator the 0 stands

NODE_MARGIN = 18.0  # free space around an input's name
ARROW = 8.0


def draw_svg(architecture: Architecture) -> str:
    """Return the picture as a self-contained SVG document."""
    picture = _start_picture(architecture)
    for link in _links(architecture):
        _draw_link(picture, link)
    _draw_operators(picture, architecture)
    _draw_names(picture, architecture)
    ET.indent(picture)
    return ET.tostring(picture, encoding="unicode") + "\n"


@dataclass(frozen=True, slots=True)
class _Link:
    """A cubic curve with an arrow at its end, and perhaps a matrix on it."""

    curve: tuple[Point, Point, Point, Point]
    weight: int | None = None
    label_at: float = 0.5
    """Where on the curve the matrix stands, from 0 to 1."""
    is_faint: bool = False


def _links(architecture: Architecture) -> list[_Link]:
    macro, trained = architecture.macro, architecture.micro.trained
    links = [
        _relation_link(architecture),
        _output_link(architecture),
        _Link(_straight(RELATION_IN, O_R), _weight(4, trained)),
        _Link(_straight(O_R, O_V), _weight(6, trained)),
        _Link(_straight(O_V, VECTOR_OUT)),
    ]
    if macro.is_subject_output_read:
        links.append(_Link(_straight(SUBJECT_IN, O_S), _weight(1, trained), label_at=0.27))
        links.append(_Link(_straight(HIDDEN_IN, O_S), _weight(2, trained)))
    if macro.is_hidden_read:
        links.append(_Link(_straight(O_R, HIDDEN_OUT)))
    return links


def _relation_link(architecture: Architecture) -> _Link:
    """Return the link from x_r to O_r."""
    macro = architecture.macro
    weight = _weight(3, architecture.micro.trained)
    match macro.relation_source:
        case Source.SUBJECT:
            return _Link(_straight(SUBJECT_IN, O_R), weight, label_at=0.62)
        case Source.HIDDEN if macro.is_subject_output_read:
            start, end = (HIDDEN_IN[0] + 8, HIDDEN_IN[1] + 16), (O_R[0] - 20, O_R[1] + 11)
            below = ((105.0, 256.0), (265.0, 256.0))  # round O_s
            return _Link((start, *below, end), weight, label_at=0.7)
        case Source.HIDDEN:
            return _Link(_straight(HIDDEN_IN, O_R), weight, label_at=0.3)
        case Source.SUBJECT_OUTPUT:
            return _Link(_straight(O_S, O_R), weight, label_at=0.3)
        case Source.ZERO:
            return _Link(_straight(_zero_beside(O_R), O_R), is_faint=True)
        case _:
            assert_never(macro.relation_source)


def _output_link(architecture: Architecture) -> _Link:
    """Return the link from x_v to O_v."""
    source = architecture.macro.output_source
    weight = _weight(5, architecture.micro.trained)
    end = (O_V[0] - RADIUS - 1, O_V[1])
    match source:
        case Source.SUBJECT:
            return _Link(_straight(SUBJECT_IN, O_V), weight, label_at=0.72)
        case Source.HIDDEN:
            start = (HIDDEN_IN[0], HIDDEN_IN[1] - NODE_MARGIN)
            return _Link((start, (HIDDEN_IN[0], 60), (110, 60), end), weight, label_at=0.7)
        case Source.SUBJECT_OUTPUT:
            start = (O_S[0], O_S[1] - RADIUS)
            return _Link((start, (O_S[0], 80), (225, 60), end), weight, label_at=0.65)
        case Source.ZERO:
            return _Link(_straight(_zero_beside(O_V), O_V), is_faint=True)
        case _:
            assert_never(source)


def _weight(number: int, trained: frozenset[int]) -> int | None:
    return number if number in trained else None


def _zero_beside(operator: Point) -> Point:
    return operator[0] - ZERO_SIDE, operator[1]


def _straight(start: Point, end: Point) -> tuple[Point, Point, Point, Point]:
    """Return the line between two nodes, cut where their names or circles begin."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx**2 + dy**2) ** 0.5
    a = _margin(start) / length
    b = 1 - (_margin(end) + 1) / length
    parts = (a, a + (b - a) / 3, b - (b - a) / 3, b)
    first, second, third, fourth = ((start[0] + dx * u, start[1] + dy * u) for u in parts)
    return first, second, third, fourth


def _margin(node: Point) -> float:
    if node in (O_S, O_R, O_V):
        return RADIUS
    if node == HIDDEN_IN:
        return NODE_MARGIN + 13  # for the subscript
    return NODE_MARGIN


def _start_picture(architecture: Architecture) -> ET.Element:
    left = 0 if architecture.macro.is_hidden_read else UNUSED_WITHOUT_HIDDEN
    place = {"x": str(left), "width": str(WIDTH - left), "height": str(HEIGHT)}
    view_box = f"{left} 0 {WIDTH - left} {HEIGHT}"
    size = {"width": str(WIDTH - left), "height": str(HEIGHT), "viewBox": view_box}
    picture = ET.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", "font-family": FONT},
    )
    title = ET.SubElement(picture, "title")
    name = name_of(architecture)
    title.text = f"{name}: {to_formula(architecture)}" if name else to_formula(architecture)
    ET.SubElement(picture, "desc").text = "\n".join(formulas(architecture))
    ET.SubElement(picture, "rect", {**place, "rx": "10", "fill": GROUND, "stroke": EDGE})
    return picture


def _draw_link(picture: ET.Element, link: _Link) -> None:
    start, one, two, end = link.curve
    ink = SOFT if link.is_faint else INK
    path = f"M{_xy(start)} C{_xy(one)} {_xy(two)} {_xy(_before_arrow(link))}"
    line = ET.SubElement(picture, "path", {"d": path, "fill": "none", "stroke": ink})
    line.set("stroke-width", "1.6")
    if link.is_faint:
        line.set("stroke-dasharray", "4 3")
    ET.SubElement(picture, "path", {"d": _arrow_head(two, end), "fill": ink})
    if link.weight is not None:
        x, y = _point_on(link.curve, link.label_at)
        box = {"x": _n(x - 15), "y": _n(y - 11), "width": "30", "height": "22", "rx": "5"}
        ET.SubElement(picture, "rect", {**box, "fill": GROUND, "stroke": ACCENT})
        _write_symbol(picture, (x, y + 4.5), "W", str(link.weight), ink=ACCENT, size=14)


def _before_arrow(link: _Link) -> Point:
    """Return where the line stops, so that it does not show beside the arrow's tip."""
    (x_0, y_0), (x_1, y_1) = link.curve[2], link.curve[3]
    u = ARROW * 0.7 / ((x_1 - x_0) ** 2 + (y_1 - y_0) ** 2) ** 0.5
    return x_1 - (x_1 - x_0) * u, y_1 - (y_1 - y_0) * u


def _arrow_head(before: Point, tip: Point) -> str:
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = (dx**2 + dy**2) ** 0.5
    dx, dy = ARROW * dx / length, ARROW * dy / length
    left = (tip[0] - dx - dy / 2, tip[1] - dy + dx / 2)
    right = (tip[0] - dx + dy / 2, tip[1] - dy - dx / 2)
    return f"M{_xy(tip)} L{_xy(left)} L{_xy(right)} Z"


def _point_on(curve: tuple[Point, Point, Point, Point], u: float) -> Point:
    shares = ((1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u**2 * (1 - u), u**3)
    x = sum(share * point[0] for share, point in zip(shares, curve, strict=True))
    y = sum(share * point[1] for share, point in zip(shares, curve, strict=True))
    return x, y


def _draw_operators(picture: ET.Element, architecture: Architecture) -> None:
    macro, micro = architecture.macro, architecture.micro
    if macro.is_subject_output_read:
        _draw_operator(picture, O_S, "s", macro.subject, micro.subject_activation)
    _draw_operator(picture, O_R, "r", macro.relation, micro.relation_activation)
    _draw_operator(picture, O_V, "v", macro.output, Activation.IDENTITY)


def _draw_operator(
    picture: ET.Element, at: Point, name: str, combinator: Combinator, activation: Activation
) -> None:
    x, y = at
    _circle(picture, at, RADIUS, fill=FILL, stroke=INK)
    _draw_combinator(picture, at, combinator)
    _write_symbol(picture, (x + 30, y + 30), "O", name, ink=SOFT, size=14)
    if activation is not Activation.IDENTITY:
        _write(picture, (x + 18, y - 24), str(activation), ink=ACCENT, size=13, anchor="start")


def _draw_combinator(picture: ET.Element, at: Point, combinator: Combinator) -> None:
    """Draw the sign as lines: not every font has ⊙ and ⊗."""
    match combinator:
        case Combinator.ADD:
            _cross(picture, at, (9, 0), (0, 9))
        case Combinator.MULTIPLY:
            _circle(picture, at, 10, fill="none", stroke=INK)
            _circle(picture, at, 2.5, fill=INK, stroke=INK)
        case Combinator.HERMITIAN:
            _circle(picture, at, 10, fill="none", stroke=INK)
            _cross(picture, at, (7, 7), (7, -7))
        case Combinator.GATED:
            _write(picture, (at[0], at[1] + 4.5), "gate", size=14)
        case _:
            assert_never(combinator)


def _cross(picture: ET.Element, at: Point, *arms: Point) -> None:
    for dx, dy in arms:
        ends = ((at[0] - dx, at[1] - dy), (at[0] + dx, at[1] + dy))
        d = f"M{_xy(ends[0])} L{_xy(ends[1])}"
        ET.SubElement(picture, "path", {"d": d, "stroke": INK, "stroke-width": "1.8"})


def _circle(picture: ET.Element, at: Point, radius: float, *, fill: str, stroke: str) -> None:
    place = {"cx": _n(at[0]), "cy": _n(at[1]), "r": _n(radius)}
    circle = ET.SubElement(picture, "circle", {**place, "fill": fill, "stroke": stroke})
    circle.set("stroke-width", "1.6")


def _draw_names(picture: ET.Element, architecture: Architecture) -> None:
    macro = architecture.macro
    _write_node(picture, RELATION_IN, "r", "t")
    _write_node(picture, VECTOR_OUT, "v", "t")
    if macro.is_hidden_read:
        _write_node(picture, HIDDEN_IN, "h", "t−1")
        _write_node(picture, HIDDEN_OUT, "h", "t")
    sources = (macro.relation_source, macro.output_source)
    if macro.is_subject_output_read or Source.SUBJECT in sources:
        _write_node(picture, SUBJECT_IN, "s", "t")
    for source, operator in zip(sources, (O_R, O_V), strict=True):
        if source is Source.ZERO:
            x, y = _zero_beside(operator)
            _write(picture, (x, y + 5), "0", ink=SOFT, size=17)


def _write_node(picture: ET.Element, at: Point, name: str, subscript: str) -> None:
    _write_symbol(picture, (at[0], at[1] + 5), name, subscript, ink=INK, size=20)


def _write_symbol(
    picture: ET.Element, at: Point, name: str, subscript: str, *, ink: str, size: int
) -> None:
    """Write a letter with its subscript as two texts that meet: renderers differ on `tspan`."""
    seam = at[0] + size * (0.2 - 0.15 * (len(subscript) - 1))
    small = round(size * 0.68)
    _write(picture, (seam, at[1]), name, ink=ink, size=size, anchor="end")
    below = at[1] + size * 0.22
    _write(picture, (seam + 0.5, below), subscript, ink=ink, size=small, anchor="start")


def _write(
    picture: ET.Element,
    at: Point,
    word: str,
    *,
    size: int,
    ink: str = INK,
    anchor: str = "middle",
) -> None:
    place = {"x": _n(at[0]), "y": _n(at[1]), "font-size": str(size), "text-anchor": anchor}
    ET.SubElement(picture, "text", {**place, "fill": ink}).text = word


def _xy(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
