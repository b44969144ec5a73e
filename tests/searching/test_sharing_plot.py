"""The plot of a study of shared weights."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from interstellar.architecture.literature import LITERATURE
from interstellar.errors import SettingsError
from interstellar.searching.parameter_sharing import Comparison, SharingPoint, correlate_points
from interstellar.searching.rank_correlation import Estimate
from interstellar.searching.sharing_plot import describe, draw_sharing, require_matplotlib

SCORES: list[tuple[float | None, float | None]] = [
    (0.1, 0.2),
    (0.3, 0.3),
    (0.2, 0.7),
    (None, 0.5),
    (0.7, None),
]


def compare(space: str, scores: list[tuple[float | None, float | None]] = SCORES) -> Comparison:
    points = tuple(
        SharingPoint(architecture=LITERATURE["RSN"], shared=shared, alone=alone)
        for shared, alone in scores
    )
    return Comparison(space=space, points=points, correlation=correlate_points(points, seed=0))


def draw(file: Path, *comparisons: Comparison) -> str:
    draw_sharing(comparisons, file, shared_name="−loss", alone_name="mrr")
    return file.read_text()


def test_both_panels_say_what_they_show(tmp_path: Path) -> None:
    text = draw(tmp_path / "plot.svg", compare("full"), compare("micro"))

    words = "".join(ElementTree.fromstring(text).itertext())
    assert "whole space (3)" in words
    assert "micro variants of one macro network (3)" in words
    assert "ρ 0.50" in words
    assert "with shared weights (−loss)" in words
    assert "stand-alone (mrr)" in words


def test_the_same_points_give_the_same_bytes(tmp_path: Path) -> None:
    first, again = (draw(tmp_path / name, compare("full")) for name in ("a.svg", "b.svg"))

    assert first == again


def test_each_point_that_has_both_scores_is_drawn_once(tmp_path: Path) -> None:
    text = draw(tmp_path / "plot.svg", compare("full"))

    root = ElementTree.fromstring(text)
    [drawn] = [element for element in root.iter() if element.get("id") == "PathCollection_1"]
    assert sum(element.tag.endswith("use") for element in drawn.iter()) == 3


def test_without_an_order_the_correlation_is_undefined(tmp_path: Path) -> None:
    text = draw(tmp_path / "plot.svg", compare("full", [(0.1, 0.2), (0.1, 0.3)]))

    assert "ρ undefined, τ undefined" in text


def test_a_correlation_is_shown_with_its_interval_and_without_a_negative_zero() -> None:
    assert describe(Estimate(value=-0.001, interval=(-0.25, 0.5))) == "0.00 [-0.25, 0.50]"


def test_nothing_is_changed_for_the_rest_of_the_process(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, matplotlib; before = matplotlib.rcParams.copy();"
        "from tests.searching.test_sharing_plot import compare, draw;"
        f"draw(pathlib.Path({str(tmp_path / 'plot.svg')!r}), compare('full'));"
        "print('matplotlib.pyplot' in sys.modules, before == matplotlib.rcParams.copy())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"


def test_without_matplotlib_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[plots\].*--no-plot"):
        require_matplotlib()
