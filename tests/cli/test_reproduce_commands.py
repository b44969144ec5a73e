"""`interstellar reproduce one-shot` as a user meets it."""

import sys
from pathlib import Path
from typing import Any

import pytest

from interstellar.searching.judge import Judge
from tests.cli.run_command import assert_refused, make_run, run_command

pytestmark = pytest.mark.usefixtures("few_resamples")

TINY = ("--dim", 8, "--epochs", 1, "--architectures", 4, "--device", "cpu")
GEOGRAPHY = ("reproduce", "one-shot", *TINY)
ALIGNMENT = (
    *("reproduce", "one-shot", "synthetic-alignment:entities=30", "--dim", 8, "--epochs", 1),
    *("--architectures", 2, "--device", "cpu"),
)
ROW_KEYS = {
    *("space", "architectures", "spearman", "spearman_interval"),
    *("kendall", "kendall_interval", "failed"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that nobody disturbed."""
    return make_run(tmp_path_factory.mktemp("finished") / "study", *GEOGRAPHY)


def test_json_has_a_row_a_space_and_says_where_plot_and_points_are(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    result = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume", "--json").json

    assert set(result) == {"rows", "plot", "points"}
    assert [row["space"] for row in result["rows"]] == ["full", "micro"]
    for row in result["rows"]:
        assert set(row) == ROW_KEYS
        assert (row["architectures"], row["failed"]) == (4, 0)
        low, high = row["spearman_interval"]
        assert -1 <= low <= high <= 1
    assert Path(result["plot"]).read_text().startswith("<?xml")
    assert len(Path(result["points"]).read_text().splitlines()) == 9


def test_a_person_sees_a_table(capfd: pytest.CaptureFixture[str], finished: Path) -> None:
    result = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume")

    head, full, micro = result.out.splitlines()
    assert head.split()[:2] == ["space", "architectures"]
    assert full.split()[:2] == ["full", "4"]
    assert micro.split()[:2] == ["micro", "4"]
    assert "sharing.svg" in result.err


def test_the_same_seed_gives_the_same_rows_and_the_same_plot(
    capfd: pytest.CaptureFixture[str], finished: Path, tmp_path: Path
) -> None:
    before = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume", "--json").json

    again = run_command(capfd, *GEOGRAPHY, "--out", tmp_path / "again", "--json").json

    assert again["rows"] == before["rows"]
    for name in ("points.tsv", "sharing.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (finished / name).read_bytes()


def test_interrupted_it_goes_on_with_resume(
    capfd: pytest.CaptureFixture[str],
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, n_done, do = tmp_path / "study", 0, Judge.do

    def do_until_the_sixth(judge: Judge, work: Any, *others: Any) -> Any:
        nonlocal n_done
        n_done += 1
        if n_done == 6:
            raise KeyboardInterrupt
        return do(judge, work, *others)

    monkeypatch.setattr(Judge, "do", do_until_the_sixth)
    stopped = run_command(capfd, *GEOGRAPHY, "--out", out)
    again = run_command(capfd, *GEOGRAPHY, "--out", out, "--resume")

    assert stopped.code == 130
    assert stopped.err.splitlines()[-1].endswith("the same command with --resume goes on.")
    assert again.code == 0
    assert n_done == 9  # four of each space, and the interrupted one again
    assert (out / "points.tsv").read_bytes() == (finished / "points.tsv").read_bytes()


def test_two_graphs_are_compared_by_their_loss(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = run_command(capfd, *ALIGNMENT, "--out", tmp_path / "study", "--json").json

    rows = [row.split("\t") for row in Path(result["points"]).read_text().splitlines()[1:]]
    assert len(rows) == 4
    assert all(float(shared) < 0 <= float(alone) for _, _, shared, alone in rows)
    assert "−loss" in Path(result["plot"]).read_text()


def test_a_macro_network_can_be_given_and_the_plot_left_out_without_matplotlib(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code = "[0,13,12,0,0,0,0,0,0,0,0]"

    done = run_command(
        *(capfd, *GEOGRAPHY, "--macro", code, "--no-plot", "--json"), *("--out", tmp_path / "study")
    )

    assert done.json["plot"] is None
    assert [row["architectures"] for row in done.json["rows"]] == [4, 3]
    assert f"The macro network of {code} has 3 different micro variants" in done.err


def test_without_matplotlib_it_refuses_before_anything_is_done(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    result = run_command(capfd, *GEOGRAPHY, "--out", tmp_path / "study")

    assert result.code == 2
    assert result.err.startswith("error: The plot needs Matplotlib")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.tsv"], "nowhere.tsv: is neither a file nor a set"),
        (["--architectures", "1"], "an order needs at least 2"),
        (["--architectures", "-3"], "an order needs at least 2"),
        (["--supernet-epochs", "0"], "--supernet-epochs"),
        (["--macro", "TransX"], "'TransX' is not an architecture"),
        (["--device", "tpu"], "'tpu' is unknown"),
        (["--seed", "-1"], "seed is -1"),
        (["--epochs", "0"], "max_epochs"),
        (["--settings", "nowhere.toml"], "nowhere.toml does not exist"),
    ],
)
def test_a_fault_of_the_user_is_one_line_exit_2_and_leaves_nothing(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    result = run_command(capfd, "reproduce", "one-shot", *arguments, "--out", tmp_path / "study")

    assert_refused(result, words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_refused_without_resume(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    result = run_command(capfd, *GEOGRAPHY, "--out", finished)

    assert_refused(result, "exists, and a run never overwrites another")


def test_other_settings_cannot_be_resumed(
    capfd: pytest.CaptureFixture[str], finished: Path
) -> None:
    result = run_command(capfd, *GEOGRAPHY, "--out", finished, "--resume", "--seed", 1)

    assert_refused(result, "was begun otherwise: it has `seed = 0`, and now `seed = 1`")
