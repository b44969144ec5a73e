"""`interstellar paths`."""

from pathlib import Path

import numpy as np
import pytest

from tests.benchmark_sets import requires_set
from tests.cli.run_command import run_command

Capture = pytest.CaptureFixture[str]


def test_paths_are_the_same_for_the_same_seed_in_every_form(capfd: Capture, tmp_path: Path) -> None:
    outcomes = [
        run_command(
            capfd, "paths", "geography-S1", "--out", tmp_path / name, "--seed", seed, "--json"
        ).json
        for name, seed in (("a.npy", 1), ("b.parquet", 1), ("c.tsv", 1), ("d.npy", 2))
    ]

    hashes = [outcome["sha256"] for outcome in outcomes]
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]
    assert outcomes[0]["paths"] == 4 * 1108
    assert outcomes[0]["steps"] == 3
    assert np.load(tmp_path / "a.npy").shape == (4 * 1108, 7)


def test_names_of_both_graphs_stand_in_the_paths_of_a_pair(capfd: Capture, tmp_path: Path) -> None:
    out = tmp_path / "paths.tsv"

    outcome = run_command(
        capfd, "paths", "synthetic-alignment:entities=60", "--out", out, "--length", 2, "--json"
    ).json

    lines = out.read_text().splitlines()
    assert len(lines) == outcome["paths"]
    assert all(len(line.split("\t")) == 5 for line in lines)
    assert any("^-1" in line for line in lines)


def test_the_papers_rule_gives_other_paths(capfd: Capture, tmp_path: Path) -> None:
    def sample(rule: str) -> str:
        arguments = ("paths", "geography-S1", "--out", tmp_path / "p.npy", "--rule", rule, "--json")
        sha256: str = run_command(capfd, *arguments).json["sha256"]
        return sha256

    assert sample("program") != sample("paper")


@requires_set("entity-alignment/DBP-WD-normal")
def test_dbp_wd_has_the_papers_number_of_paths(capfd: Capture, tmp_path: Path) -> None:
    first, again = (
        run_command(capfd, "paths", "DBP-WD", "--out", tmp_path / "paths.npy", "--json").json
        for _ in range(2)
    )

    assert (first["paths"], first["steps"]) == (531_708, 7)
    assert first["sha256"] == again["sha256"]


@requires_set("link-prediction/WN18RR")
def test_wn18rr_has_the_papers_number_of_paths(capfd: Capture, tmp_path: Path) -> None:
    outcome = run_command(capfd, "paths", "WN18RR", "--out", tmp_path / "p.npy", "--json").json

    assert (outcome["paths"], outcome["steps"]) == (347_340, 3)
