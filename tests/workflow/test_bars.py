"""Long work as bars and lines: reading, sampling paths, scoring."""

import re
import sys
from pathlib import Path

import pytest

import interstellar as ist
from interstellar.watching import Loudness, say_how_far, speaking
from interstellar.workflow.audience import Audience
from interstellar.workflow.bars import describe_rate, work_shown
from tests.workflow.terminal import Terminal


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let somebody watch; within a test, since before it pytest takes standard error back."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return terminal


def test_work_has_a_bar_with_its_rate_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with work_shown(Audience.TERMINAL):
        for n_done in (100, 200, 300):
            say_how_far("sampling paths", n_done, 1000, "paths")
        say_how_far("sampling paths", 1000, 1000, "paths")
        say_how_far("[bold]scoring\x1b[31m", 1, 2, "rows")

    shown = terminal.getvalue()
    assert "sampling paths" in shown
    assert r"[bold]scoring\x1b[31m" in shown
    assert "sampling paths" not in shown.rpartition("scoring")[2]


def test_work_that_is_done_at_once_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with work_shown(Audience.TERMINAL):
        say_how_far("scoring", 20, 20, "rows")

    assert "scoring" not in terminal.getvalue()


@pytest.mark.parametrize("ending", ["tsv", "tsv.gz", "tsv.xz"])
def test_a_long_file_is_read_with_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setattr("interstellar.data.formats.files.LOOK_SECONDS", 0.001)
    path = tmp_path / f"mine.{ending}"
    write_packed(path, "".join(f"s{i}\tr\to{i % 97}\n" for i in range(200_000)).encode())

    with work_shown(Audience.TERMINAL):
        ist.load(path)

    assert f"reading mine.{ending}" in terminal.getvalue()


def test_who_wants_to_be_told_everything_has_a_line_for_each_work(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("a\tr\tb\n" * 3)

    with speaking(Loudness.VERBOSE), work_shown(Audience.LINES):
        ist.load(path)

    assert re.search(
        r"^reading mine\.tsv: 18 bytes in 0\.\d s$", capfd.readouterr().err, re.MULTILINE
    )


@pytest.mark.parametrize("audience", [Audience.LINES, Audience.NOBODY, Audience.NOTEBOOK])
def test_others_are_shown_nothing(capfd: pytest.CaptureFixture[str], audience: Audience) -> None:
    with work_shown(audience):
        say_how_far("scoring", 10, 20, "rows")
        say_how_far("scoring", 20, 20, "rows")

    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("speed", "unit", "said"),
    [
        (12.34e6, "bytes", "12.3 MB/s"),
        (1234.5, "paths", "1,234 paths/s"),
        (2.345, "epochs", "2.3 epochs/s"),
        (0.4, "epochs", "2.5 s each"),
    ],
)
def test_rates_are_as_a_person_says_them(speed: float, unit: str, said: str) -> None:
    assert describe_rate(speed, unit) == said


def write_packed(path: Path, content: bytes) -> None:
    import gzip
    import lzma

    packed = {".gz": gzip.compress(content), ".xz": lzma.compress(content)}
    path.write_bytes(packed.get(path.suffix, content))
