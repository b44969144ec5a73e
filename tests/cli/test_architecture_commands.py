"""`interstellar space` and `interstellar show`."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from interstellar.cli.app import main
from tests.cli.named_pipe import listening, needs_pipes
from tests.cli.run_command import run_command

Capture = pytest.CaptureFixture[str]
DBP_WD = "[0,4,10,1,1,0,0,1,1,0,1]"


def test_space_counts_points_and_networks(capfd: Capture) -> None:
    outcome = run_command(capfd, "space", "--json").json

    assert [outcome[key] for key in ("macro", "micro", "total")] == [1024, 576, 589_824]
    assert outcome["distinct_macro"] < 1024
    assert 1024 < outcome["distinct"] < 589_824


def test_space_counts_a_subspace(capfd: Capture) -> None:
    outcome = run_command(capfd, "space", "--subspace", "p1", "--json").json

    assert outcome["macro"] == 256
    assert outcome["distinct"] < outcome["total"]


def test_show_writes_the_formulas_of_the_papers_best_for_dbp_wd(capfd: Capture) -> None:
    outcome = run_command(capfd, "show", DBP_WD, "--json").json

    assert outcome["code"] == json.loads(DBP_WD)
    assert outcome["name"] == "Interstellar-DBP-WD"
    assert outcome["formula"] == ("O_s = tanh(s + h); O_r = tanh(W3 h + W4 r); v = O_s ⊗ W6 O_r")


def test_every_notation_shows_the_same_network(capfd: Capture, tmp_path: Path) -> None:
    shown = run_command(capfd, "show", DBP_WD, "--json").json
    path = tmp_path / "best.json"
    path.write_text(json.dumps(shown["json"]))

    others = [
        run_command(capfd, "show", text, "--json").json
        for text in (shown["name"], shown["formula"], path, DBP_WD.strip("[]"))
    ]

    assert all(other["code"] == shown["code"] for other in others)


def test_two_codes_of_one_network_have_one_canonical_form(capfd: Capture) -> None:
    codes = ("[0,0,12,0,0,0,0,0,0,0,0]", "[0,12,0,0,0,0,0,0,0,0,0]")

    first, second = (run_command(capfd, "show", code, "--json").json for code in codes)

    assert first["code"] != second["code"]
    assert first["canonical"] == second["canonical"]
    assert first["name"] == second["name"] == "TransE"


def test_show_draws_a_picture(capfd: Capture, tmp_path: Path) -> None:
    svg = tmp_path / "a.svg"

    run_command(capfd, "show", DBP_WD, "--svg", svg)

    assert ET.parse(svg).getroot().tag.endswith("svg")


def test_show_draws_for_a_paper_too_and_a_propagation_as_one(
    capfd: Capture, tmp_path: Path
) -> None:
    run_command(capfd, "show", "RSN", "--draw", tmp_path / "rsn.pdf")
    shown = run_command(capfd, "show", "RED-GNN", "--draw", tmp_path / "a.svg", "--json").json

    assert (tmp_path / "rsn.pdf").read_bytes().startswith(b"%PDF")
    assert "α" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "h_t[v] = h_{t−1}[v] gated x" in shown["formulas"]


def test_a_picture_of_another_form_is_refused(capfd: Capture, tmp_path: Path) -> None:
    outcome = run_command(capfd, "show", "RSN", "--draw", tmp_path / "rsn.jpg")

    assert outcome.code == 2
    assert ".svg, .png or .pdf" in outcome.err


@needs_pipes
def test_a_picture_is_drawn_into_pipes_and_links_keep_naming_their_file(
    capfd: Capture, tmp_path: Path
) -> None:
    pipe, link, target = (tmp_path / name for name in ("pipe.svg", "link.svg", "far.svg"))
    link.symlink_to(target)

    with listening(pipe) as heard:
        into_pipe = run_command(capfd, "show", DBP_WD, "--svg", pipe)
    through_link = run_command(capfd, "show", DBP_WD, "--svg", link)

    assert (into_pipe.code, through_link.code) == (0, 0)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert heard == [target.read_bytes()]


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_formulas_are_shown_on_terminals_of_any_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str, flags: list[str]
) -> None:
    terminal = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(terminal, encoding, write_through=True))

    with pytest.raises(SystemExit, match="0"):
        main(["show", "ComplEx", *flags])

    shown = terminal.getvalue()
    if flags:
        assert json.loads(shown)["formula"] == "O_r = s ⊗ r; v = O_r"
    else:
        assert shown.split()[:3] == [b"O_r", b"=", b"s_t"]


def test_the_formula_leaves_out_what_nobody_reads(capfd: Capture) -> None:
    outcome = run_command(capfd, "show", "[3,4,15,1,1,1,1,0,0,0,0]", "--json").json

    assert "O_s" not in outcome["formula"] + "".join(outcome["formulas"])


def test_a_program_whose_output_is_latin_1_shows_formulas_too() -> None:
    command = [sys.executable, "-m", "interstellar", "show", "ComplEx"]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}

    shown = subprocess.run(command, env=environment, capture_output=True, check=False)

    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.split()[:3] == [b"O_r", b"=", b"s_t"]


def test_files_whose_names_are_not_utf8_are_read_and_drawn_and_shown_by_their_escapes(
    capfd: Capture, tmp_path: Path
) -> None:
    read, drawn = (
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff" + end)) for end in (b".json", b".svg")
    )
    read.write_text(json.dumps(run_command(capfd, "show", "RSN", "--json").json["json"]))

    outcome = run_command(capfd, "show", read, "--svg", drawn)

    assert outcome.code == 0
    assert r"/\udcff.svg" in outcome.err
    assert ET.parse(drawn).getroot().tag.endswith("svg")


def test_a_name_that_is_no_text_is_reported_without_a_traceback(capfd: Capture) -> None:
    outcome = run_command(capfd, "show", os.fsdecode(b"\xff\xfe.json"))

    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '{"format": "other"}', "\udcff".encode("utf-8", "surrogateescape")]
)
def test_a_file_that_holds_no_architecture_is_refused(
    capfd: Capture, tmp_path: Path, body: str | bytes
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(body if isinstance(body, bytes) else body.encode())

    outcome = run_command(capfd, "show", path)

    assert outcome.code == 2
    assert "broken.json" in outcome.err
