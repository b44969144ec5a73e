"""The plot of a study of shared weights."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from interstellar.architecture.literature import LITERATURE
from interstellar.errors import SettingsError
from interstellar.reproduce.parameter_sharing import Comparison, SharingPoint, correlate_points
from interstellar.reproduce.rank_correlation import Estimate
from interstellar.reproduce.sharing_plot import describe, draw_sharing, require_matplotlib

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


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return draw(tmp_path_factory.mktemp("plots") / "plot.svg", compare("full"), compare("micro"))


def test_both_panels_say_what_they_show(text: str) -> None:
    words = "".join(ElementTree.fromstring(text).itertext())
    assert "whole space (3)" in words
    assert "micro variants of one macro network (3)" in words
    assert "ρ 0.50" in words
    assert "with shared weights (−loss)" in words
    assert "stand-alone (mrr)" in words


def test_the_same_points_give_the_same_bytes(tmp_path: Path, text: str) -> None:
    assert draw(tmp_path / "again.svg", compare("full"), compare("micro")) == text


def test_each_point_that_has_both_scores_is_drawn_once(text: str) -> None:
    root = ElementTree.fromstring(text)
    drawn = [e for e in root.iter() if e.get("id") in ("PathCollection_1", "PathCollection_2")]
    n_drawn = [sum(element.tag.endswith("use") for element in panel.iter()) for panel in drawn]
    assert n_drawn == [3, 3]


def test_without_an_order_the_correlation_is_undefined(tmp_path: Path) -> None:
    text = draw(tmp_path / "plot.svg", compare("full", [(0.1, 0.2), (0.1, 0.3)]))

    assert "ρ undefined, τ undefined" in text


def test_a_correlation_is_shown_with_its_interval_and_without_a_negative_zero() -> None:
    assert describe(Estimate(value=-0.001, interval=(-0.25, 0.5))) == "0.00 [-0.25, 0.50]"


def test_nothing_is_changed_for_the_rest_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To import pyplot would choose a backend; here it fails."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    before = mpl.rcParams.copy()

    draw(tmp_path / "plot.svg", compare("full"))

    assert mpl.rcParams.copy() == before


def test_without_matplotlib_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[plots\].*leave the plot out"):
        require_matplotlib()
