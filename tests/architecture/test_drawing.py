"""Tests of the picture: well-formed, complete, and without what nobody reads."""

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture, Source
from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.formula import formulas, from_formula
from interstellar.architecture.literature import NAMED, PROPAGATIONS, RSN, TRANSE, name_of
from interstellar.architecture.propagation import (
    Propagation,
    RelationVectors,
    from_text,
    propagation_formulas,
)
from interstellar.architecture.search_space import SearchSpace

from .strategies import architectures

SVG = "{http://www.w3.org/2000/svg}"


def parse(network: Architecture | Propagation) -> ET.Element:
    return ET.fromstring(draw_svg(network))


def words(network: Architecture | Propagation) -> str:
    return " ".join(text.text or "" for text in parse(network).iter(f"{SVG}text"))


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


def test_transe_shows_neither_the_hidden_state_nor_dead_operators() -> None:
    drawn = words(TRANSE)

    assert drawn.split() == ["O", "r", "r", "t", "v", "t", "s", "t"]


def test_a_matrix_on_the_way_out_is_drawn_though_its_operator_passes_on() -> None:
    drawn = words(from_formula("O_r = tanh(s + r); v = W6 O_r"))

    assert "W 6" in drawn
    assert "O v" not in drawn


def test_a_zero_is_drawn_and_a_matrix_on_it_is_not() -> None:
    drawn = words(from_formula("O_r = W3 0 gated r; v = W5 0 gated O_r"))

    assert drawn.split().count("0") == 2

    assert "W 3" not in drawn
    assert "W 5" not in drawn


FULL = "O_s = tanh(W1 s + W2 h); O_r = tanh(W3 O_s gated W4 r); v = W5 O_s ⊗ W6 O_r"


def test_a_propagation_shows_its_message_and_what_becomes_of_it() -> None:
    line = "aggregation = pna; attention = query; relations = query; update = gate; depth = 3"
    drawn = words(from_text(f"{FULL}; {line}"))

    for symbol in ("W 1", "W 2", "W 3", "W 4", "W 5", "W 6", "W r", "O s", "O r", "O v"):
        assert symbol in drawn
    for word in ("PNA", "α", "relu", "t = 1, …, 3", "h t−1 at v", "at v′"):
        assert word in drawn
    assert drawn.count("gate") == 2


def test_a_plain_propagation_shows_nothing_it_does_not_have() -> None:
    drawn = words(from_text("O_r = s ⊙ r; v = O_r; aggregation = sum; depth = 1"))

    assert "Σ" in drawn
    for word in ("α", "W r ", "gate", "O v", "O s", "at v′", "…"):
        assert word not in drawn


@pytest.mark.parametrize("relations", RelationVectors)
@pytest.mark.parametrize("source", [s.symbol for s in Source])
def test_no_two_labels_of_a_propagation_overlap(source: str, relations: str) -> None:
    cell = (
        f"O_s = sigmoid(W1 s + W2 h); O_r = sigmoid(W3 {source} gated W4 r); "
        f"v = W5 {source} gated W6 O_r"
    )
    others = f"attention = query; update = gate; aggregation = mean; relations = {relations}"

    boxes = label_boxes(parse(from_text(f"{cell}; {others}")))

    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]


@pytest.mark.parametrize("name", PROPAGATIONS)
def test_a_published_propagation_is_titled_and_described(name: str) -> None:
    network = from_text(PROPAGATIONS[name])
    picture = parse(network)

    assert (picture.findtext(f"{SVG}title") or "").startswith(f"{name}: ")
    assert picture.findtext(f"{SVG}desc") == "\n".join(propagation_formulas(network))


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
