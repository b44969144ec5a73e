"""Drawings as SVG, PNG and PDF: chosen by the ending, alike, and the same each time."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.literature import PROPAGATIONS, RSN, TRANSE
from interstellar.architecture.picture import FILL, INK
from interstellar.architecture.picture_file import PNG_DOTS_PER_INCH, UNITS_PER_INCH, draw
from interstellar.architecture.propagation import from_text
from interstellar.errors import SettingsError

DOTS = PNG_DOTS_PER_INCH // UNITS_PER_INCH


@pytest.mark.parametrize("name", ["rsn.svg", "rsn", "rsn.SVG"])
def test_without_another_ending_a_drawing_is_the_svg(tmp_path: Path, name: str) -> None:
    path = draw(RSN, tmp_path / name)

    assert path.read_text(encoding="utf-8") == draw_svg(RSN)


def test_a_png_shows_at_each_operator_what_the_svg_has_there(tmp_path: Path) -> None:
    pixels = imread(draw(RSN, tmp_path / "rsn.png"))
    operators = [
        (float(circle.get("cx", "")), float(circle.get("cy", "")))
        for circle in ET.fromstring(draw_svg(RSN)).iter("{http://www.w3.org/2000/svg}circle")
        if circle.get("r") == "22"
    ]

    assert pixels.shape[:2] == (340 * DOTS, 540 * DOTS)
    assert len(operators) == 3
    for x, y in operators:
        sign = pixels[round(y * DOTS), round(x * DOTS), :3]
        beside = pixels[round((y + 15) * DOTS), round((x + 4) * DOTS), :3]
        assert sign == pytest.approx(to_rgb(INK), abs=0.15)
        assert beside == pytest.approx(to_rgb(FILL), abs=0.02)


def test_a_png_has_ink_wherever_the_svg_has_a_word(tmp_path: Path) -> None:
    network = from_text(PROPAGATIONS["RED-GNN"])
    pixels = imread(draw(network, tmp_path / "red.png"))[..., :3]

    for text in ET.fromstring(draw_svg(network)).iter("{http://www.w3.org/2000/svg}text"):
        x, y, size = (float(text.get(key, "")) for key in ("x", "y", "font-size"))
        top, bottom = round((y - size) * DOTS), round((y + 3) * DOTS)
        around = pixels[top:bottom, round((x - size) * DOTS) : round((x + size) * DOTS)]
        assert around.min() < 0.6, text.text


def test_a_pdf_keeps_its_fonts_and_two_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = (draw(TRANSE, tmp_path / name).read_bytes() for name in ("a.pdf", "b.pdf"))

    assert first.startswith(b"%PDF")
    assert b"/FontFile2" in first
    assert first == second


def test_another_ending_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"rsn\.jpg ends in \.jpg.*\.svg, \.png or \.pdf"):
        draw(RSN, tmp_path / "rsn.jpg")

    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(SettingsError, match=r'pip install "interstellar-kg\[plots\]"'):
        draw(RSN, tmp_path / "rsn.pdf")

    assert list(tmp_path.iterdir()) == []
