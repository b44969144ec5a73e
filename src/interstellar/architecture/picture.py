"""What drawings of networks are made of: links, operators and symbols, as plain SVG."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TypeAlias, assert_never, final

from interstellar.architecture.architecture import Activation, Combinator

Point: TypeAlias = complex
"""x + y·j, y downwards."""
Curve: TypeAlias = tuple[Point, Point, Point, Point]

RADIUS = 22
INK, SOFT, ACCENT, GROUND = "#1f2328", "#6b7280", "#9a3412", "#ffffff"
EDGE, FILL = "#d0d7de", "#eef2ff"
NAMESPACE = "http://www.w3.org/2000/svg"
FONT = "Helvetica, Arial, sans-serif"
ARROW = 8


@dataclass(frozen=True, slots=True)
class Node:
    """Where something stands, and how much room around it links leave free."""

    at: Point
    margin: int = 18


@dataclass(frozen=True, slots=True)
class Link:
    """A cubic curve with an arrow at its end, and a matrix on it where that is trained."""

    curve: Curve
    weight: int | None = None
    label_at: float = 0.5
    """Where on the curve the matrix stands, from 0 to 1."""
    is_faint: bool = False


def straight(start: Node, end: Node) -> Curve:
    """Return the line between two nodes, cut where their names or circles begin."""
    direction = (end.at - start.at) / abs(end.at - start.at)
    first = start.at + start.margin * direction
    last = end.at - (end.margin + 1) * direction
    third = (last - first) / 3
    return first, first + third, last - third, last


@final
class Picture:
    """A picture under way, on a light ground of its own, so that it reads on dark pages too."""

    def __init__(self, left: int, width: int, height: int, *, title: str, description: str) -> None:
        size = {"width": str(width), "height": str(height)}
        view = {**size, "viewBox": f"{left} 0 {width} {height}", "role": "img"}
        self._root = ET.Element("svg", {"xmlns": NAMESPACE, **view, "font-family": FONT})
        ET.SubElement(self._root, "title").text = title
        ET.SubElement(self._root, "desc").text = description
        place = {"x": str(left), "y": "0", **size, "rx": "10"}
        ET.SubElement(self._root, "rect", {**place, "fill": GROUND, "stroke": EDGE})

    def to_svg(self) -> str:
        """Return it as a self-contained document."""
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode") + "\n"

    def link(self, link: Link, trained: frozenset[int] = frozenset()) -> None:
        """Draw a link, with its matrix if that is trained."""
        start, one, two, end = link.curve
        ink = SOFT if link.is_faint else INK
        arrow = ARROW * (end - two) / abs(end - two)
        path = f"M{_xy(start)} C{_xy(one)} {_xy(two)} {_xy(end - 0.7 * arrow)}"  # within the arrow
        style = {"fill": "none", "stroke": ink, "stroke-width": "1.6"}
        style |= {"stroke-dasharray": "4 3"} if link.is_faint else {}
        self._path(path, **style)
        left, right = end - arrow + arrow * 0.5j, end - arrow - arrow * 0.5j
        self._path(f"M{_xy(end)} L{_xy(left)} L{_xy(right)} Z", fill=ink)
        if link.weight in trained:
            self.label(_point_on(link.curve, link.label_at), "W", str(link.weight))

    def label(self, at: Point, name: str, subscript: str = "") -> None:
        """Write in a box what a link does to what goes along it."""
        box = {"x": _n(at.real - 15), "y": _n(at.imag - 11), "width": "30", "height": "22"}
        style = {"rx": "5", "fill": GROUND, "stroke": ACCENT}
        ET.SubElement(self._root, "rect", {**box, **style})
        self.symbol(at + 4.5j, name, subscript, ink=ACCENT, size=14)

    def operator(
        self,
        node: Node,
        name: str,
        combinator: Combinator,
        activation: Activation = Activation.IDENTITY,
    ) -> None:
        """Draw O_name: a circle with the sign of its combinator, and its activation."""
        self.circle(node, name)
        self._sign(node.at, combinator)
        if activation is not Activation.IDENTITY:
            self.write(node.at + 18 - 24j, str(activation), ink=ACCENT, size=13, anchor="start")

    def circle(self, node: Node, name: str = "", word: str = "") -> None:
        """Draw an operator without a sign, with a word in place of one."""
        self._circle(node.at, RADIUS, fill=FILL)
        if name:
            self.symbol(node.at + 30 + 30j, "O", name, ink=SOFT, size=14)
        if word:
            self.write(node.at + 4.5j, word, size=13)

    def symbol(
        self, at: Point, name: str, subscript: str = "", *, ink: str = INK, size: int = 20
    ) -> None:
        """Write a letter with its subscript as two texts that meet: renderers differ on `tspan`."""
        if not subscript:
            self.write(at, name, ink=ink, size=size)
            return
        seam = at + size * (0.2 - 0.15 * (len(subscript) - 1))
        below = seam + 0.5 + size * 0.22j
        self.write(seam, name, ink=ink, size=size, anchor="end")
        self.write(below, subscript, ink=ink, size=round(size * 0.68), anchor="start")

    def write(
        self, at: Point, word: str, *, size: int, ink: str = INK, anchor: str = "middle"
    ) -> None:
        """Write a word on a base line."""
        place = {"x": _n(at.real), "y": _n(at.imag), "font-size": str(size), "text-anchor": anchor}
        ET.SubElement(self._root, "text", {**place, "fill": ink}).text = word

    def _sign(self, at: Point, combinator: Combinator) -> None:
        """Draw the sign as lines: not every font has ⊙ and ⊗."""
        match combinator:
            case Combinator.ADD:
                self._cross(at, 9, 9j)
            case Combinator.MULTIPLY:
                self._circle(at, 10, fill="none")
                self._circle(at, 2.5, fill=INK)
            case Combinator.HERMITIAN:
                self._circle(at, 10, fill="none")
                self._cross(at, 7 + 7j, 7 - 7j)
            case Combinator.GATED:
                self.write(at + 4.5j, "gate", size=14)
            case _:
                assert_never(combinator)

    def _cross(self, at: Point, *arms: Point) -> None:
        for arm in arms:
            line = {"stroke": INK, "stroke-width": "1.8"}
            self._path(f"M{_xy(at - arm)} L{_xy(at + arm)}", **line)

    def _circle(self, at: Point, radius: float, *, fill: str) -> None:
        place = {"cx": _n(at.real), "cy": _n(at.imag), "r": _n(radius)}
        style = {"fill": fill, "stroke": INK, "stroke-width": "1.6"}
        ET.SubElement(self._root, "circle", {**place, **style})

    def _path(self, path: str, **style: str) -> None:
        ET.SubElement(self._root, "path", {"d": path, **style})


def _point_on(curve: Curve, u: float) -> Point:
    shares = ((1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u**2 * (1 - u), u**3)
    return sum((share * point for share, point in zip(shares, curve, strict=True)), 0j)


def _xy(point: Point) -> str:
    return f"{_n(point.real)},{_n(point.imag)}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
