"""Tests of the picture: well-formed, complete, and without what nobody reads."""

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.formula import formulas, from_formula
from interstellar.architecture.literature import NAMED, RSN, TRANSE, name_of
from interstellar.architecture.search_space import SearchSpace

from .strategies import architectures

SVG = "{http://www.w3.org/2000/svg}"


def parse(architecture: Architecture) -> ET.Element:
    return ET.fromstring(draw_svg(architecture))


def words(architecture: Architecture) -> str:
    return " ".join(text.text or "" for text in parse(architecture).iter(f"{SVG}text"))


@given(architecture=architectures)
def test_every_picture_is_well_formed_and_described_in_words(architecture: Architecture) -> None:
    picture = parse(architecture)

    assert picture.tag == f"{SVG}svg"
    assert picture.findtext(f"{SVG}title")
    assert picture.findtext(f"{SVG}desc") == "\n".join(formulas(architecture))


def test_rsn_shows_all_its_matrices_operators_and_vectors() -> None:
    drawn = words(RSN)

    for symbol in ("W 1", "W 2", "W 3", "W 4", "W 5", "W 6", "O s", "O r", "O v"):
        assert symbol in drawn
    for symbol in ("h t−1", "s t", "r t", "h t", "v t"):
        assert symbol in drawn
    assert drawn.count("tanh") == 2


def test_transe_shows_neither_the_hidden_state_nor_the_dead_operator() -> None:
    drawn = words(TRANSE)

    assert "h t" not in drawn
    assert "O s" not in drawn
    assert "0" in drawn


def test_a_matrix_on_zero_is_not_drawn() -> None:
    drawn = words(from_formula("O_r = W3 0 gated r; v = W5 0 + O_r"))

    assert "W 3" not in drawn
    assert "W 5" not in drawn


@pytest.mark.parametrize("name", NAMED)
def test_a_published_network_is_titled_with_its_name(name: str) -> None:
    title = parse(NAMED[name]).findtext(f"{SVG}title")

    assert title is not None
    assert title.startswith(str(name_of(NAMED[name])))


def test_no_two_labels_overlap_in_any_wiring() -> None:
    wirings = {(m.relation_source, m.output_source): m for m in SearchSpace().macros()}
    full = from_formula(
        "O_s = sigmoid(W1 s + W2 h); O_r = sigmoid(W3 O_s + W4 r); v = W5 s + W6 O_r"
    )

    for macro in wirings.values():
        boxes = label_boxes(parse(Architecture(macro, full.micro)))

        assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]


Box = tuple[float, float, float, float]


def label_boxes(picture: ET.Element) -> list[Box]:
    """Boxes of the matrices and circles, and of every text outside of them."""
    rects = list(picture.iter(f"{SVG}rect"))[1:]
    boxes = [rect_box(rect) for rect in rects]
    boxes += [circle_box(c) for c in picture.iter(f"{SVG}circle") if c.get("r") == "22"]
    texts = [text_box(text) for text in picture.iter(f"{SVG}text")]
    return boxes + [text for text in texts if not any(inside(text, box) for box in boxes)]


def rect_box(rect: ET.Element) -> Box:
    x, y, width, height = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def circle_box(circle: ET.Element) -> Box:
    x, y, r = (float(circle.get(key, "")) for key in ("cx", "cy", "r"))
    return x - r, y - r, x + r, y + r


def text_box(text: ET.Element) -> Box:
    """A box a little smaller than the text, so that letter and subscript may touch."""
    x, y, size = (float(text.get(key, "")) for key in ("x", "y", "font-size"))
    width = 0.5 * size * len(text.text or "")
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[text.get("text-anchor", "")]
    return left, y - 0.6 * size, left + width, y


def inside(inner: Box, outer: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
