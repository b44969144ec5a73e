"""A drawing as a file: SVG as it is, PNG and PDF by Matplotlib, which brings its fonts along.

Matplotlib reads no SVG, but a drawing (`picture.py`) has only four kinds of elements.
"""

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.picture import NAMESPACE
from interstellar.architecture.propagation import Propagation
from interstellar.errors import SettingsError
from interstellar.records.safe_files import replacing_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS_PER_INCH = 72
PNG_DOTS_PER_INCH = 216
"""Three dots a unit: sharp in print at the size of a column."""
FONT_SCALE = 0.9
"""Matplotlib's DejaVu Sans is wider than the fonts of a browser."""
COMMAND = re.compile(r"([MLCZ])([^MLCZ]*)")


class PictureFormat(StrEnum):
    """How a drawing is written."""

    SVG = "svg"
    PNG = "png"
    PDF = "pdf"


def draw(network: Architecture | Propagation, out: str | os.PathLike[str]) -> Path:
    """Draw a network into a file and return its path.

    Args:
        network: A point of the search space, or a propagation.
        out: The file. Its ending chooses `.svg`, `.png` or `.pdf`; without one it is an SVG.
            PNG and PDF need Matplotlib: `pip install "interstellar-kg[plots]"`.
    """
    path = Path(out)
    wanted = _choose_format(path)
    svg = draw_svg(network)
    content = svg.encode() if wanted is PictureFormat.SVG else _convert(svg, wanted)
    with replacing_file(path) as file:
        file.write(content)
    return path


def _choose_format(path: Path) -> PictureFormat:
    ending = path.suffix.lower().removeprefix(".")
    if ending and ending not in list(PictureFormat):
        raise SettingsError(
            f"{path} ends in {path.suffix}, but drawings are written as SVG, PNG or PDF. Choose a "
            "name that ends in .svg, .png or .pdf."
        )
    return PictureFormat(ending or "svg")


def _convert(svg: str, wanted: PictureFormat) -> bytes:
    """Return a drawing in another format, the same bytes each time."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 (may not be there)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ModuleNotFoundError:
        raise SettingsError(
            f"A drawing as {wanted.upper()} needs Matplotlib, which is not installed. Install it "
            'with `pip install "interstellar-kg[plots]"`, or choose a name that ends in .svg.'
        ) from None
    root, file = ET.fromstring(svg), BytesIO()  # noqa: S314 (our own text)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    # TrueType, so that text of the PDF stays text and journals take it.
    with mpl.rc_context({"pdf.fonttype": 42, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(width / UNITS_PER_INCH, height / UNITS_PER_INCH))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(left, left + width), ylim=(top + height, top))
        axes.set_axis_off()
        ground = root.find(f"{{{NAMESPACE}}}rect")  # is that of the paper
        for element in (element for element in root if element is not ground):
            _add(figure, element.tag.removeprefix(f"{{{NAMESPACE}}}"), element)
        metadata = {"CreationDate": None} if wanted is PictureFormat.PDF else {"Software": None}
        figure.savefig(file, format=wanted, dpi=PNG_DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def _add(figure: "Figure", kind: str, element: ET.Element) -> None:
    """Add one element of a drawing, on top of those before."""
    from matplotlib import patches  # noqa: PLC0415
    from matplotlib.path import Path as Outline  # noqa: PLC0415

    [axes], given = figure.axes, element.attrib
    n = {name: float(given[name]) for name in ("x", "y", "cx", "cy", "r", "rx") if name in given}
    match kind:
        case "text":
            align = {"start": "left", "middle": "center", "end": "right"}[given["text-anchor"]]
            size = FONT_SCALE * float(given["font-size"])
            style: dict[str, Any] = {"ha": align, "va": "baseline", "color": given["fill"]}
            axes.text(n["x"], n["y"], element.text or "", size=size, **style)
        case "circle":
            axes.add_patch(patches.Circle((n["cx"], n["cy"]), n["r"], **_style(given)))
        case "rect":
            size_of_box = float(given["width"]), float(given["height"])
            rounded = patches.BoxStyle.Round(pad=0, rounding_size=n["rx"])
            box = patches.FancyBboxPatch(
                (n["x"], n["y"]), *size_of_box, boxstyle=rounded, **_style(given)
            )
            axes.add_patch(box)
        case "path":
            vertices, codes = _outline(given["d"])
            axes.add_patch(patches.PathPatch(Outline(vertices, codes), **_style(given)))


def _outline(path: str) -> tuple[list[tuple[float, float]], list[int]]:
    """Return the points of a path and what leads to each, as Matplotlib numbers it."""
    from matplotlib.path import Path as Outline  # noqa: PLC0415

    numbers = {"M": Outline.MOVETO, "L": Outline.LINETO, "C": Outline.CURVE4}
    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    for command, points in COMMAND.findall(path):
        for point in points.split():
            x, y = point.split(",")
            vertices.append((float(x), float(y)))
            codes.append(int(numbers[command]))
        if command == "Z":
            vertices.append(vertices[0])
            codes.append(int(Outline.CLOSEPOLY))
    return vertices, codes


def _style(given: Mapping[str, str]) -> dict[str, Any]:
    fill, stroke = given.get("fill", "none"), given.get("stroke", "none")
    style: dict[str, Any] = {"facecolor": fill, "edgecolor": stroke}
    style["linewidth"] = float(given.get("stroke-width", 1)) if stroke != "none" else 0
    if "stroke-dasharray" in given:
        dashes = tuple(map(float, given["stroke-dasharray"].split()))
        style["linestyle"] = (0, tuple(dash / style["linewidth"] for dash in dashes))
    return style
