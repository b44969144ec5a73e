"""The plot of a study of shared weights: one panel a space, one point an architecture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interstellar.errors import SettingsError
from interstellar.records.safe_files import replacing_file
from interstellar.reproduce.parameter_sharing import Comparison
from interstellar.reproduce.rank_correlation import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (9.0, 4.2)
TITLES = {"full": "whole space", "micro": "micro variants of one macro network"}


def require_matplotlib() -> None:
    """Raise with advice where Matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        raise SettingsError(
            "The plot needs Matplotlib, which is not installed. Install it with "
            '`pip install "interstellar-kg[plots]"`, or leave the plot out.'
        ) from None


def draw_sharing(
    comparisons: Sequence[Comparison], file: Path, *, shared_name: str, alone_name: str
) -> None:
    """Draw comparisons side by side into an SVG file; the names are of scores, such as `mrr`."""
    # Without pyplot, which would choose a backend for the whole process.
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    # The salt, so that the same points give the same bytes; the font type, so that text stays text.
    with mpl.rc_context({"svg.hashsalt": "interstellar", "svg.fonttype": "none"}):
        figure = Figure(figsize=INCHES, layout="constrained")
        panels = figure.subplots(1, len(comparisons), squeeze=False)[0]
        for panel, comparison in zip(panels, comparisons, strict=True):
            draw_panel(panel, comparison)
            panel.set_xlabel(f"with shared weights ({shared_name})")
            panel.set_ylabel(f"stand-alone ({alone_name})")
        with replacing_file(file) as opened:
            figure.savefig(opened, format="svg", metadata={"Date": None})


def draw_panel(panel: "Axes", comparison: Comparison) -> None:
    """Draw the points that have both scores, and say how they correlate."""
    sound = [point for point in comparison.points if not point.has_failed]
    shared, alone = [p.shared or 0.0 for p in sound], [p.alone or 0.0 for p in sound]
    panel.scatter(shared, alone, s=14, alpha=0.7, linewidths=0)
    correlation = comparison.correlation
    panel.set_title(
        f"{TITLES[comparison.space]} ({len(sound)})\n"
        f"ρ {describe(correlation.spearman)}, τ {describe(correlation.kendall)}",
        fontsize=10,
    )
    panel.grid(visible=True, linewidth=0.4, alpha=0.5)


def describe(estimate: Estimate) -> str:
    """Return a correlation and its interval in few characters."""
    if estimate.value is None or estimate.interval is None:
        return "undefined"
    low, high = estimate.interval
    return f"{estimate.value:z.2f} [{low:z.2f}, {high:z.2f}]"
