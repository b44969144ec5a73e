"""`interstellar data …` and `interstellar paths`."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from interstellar.data import synthetic_settings
from tests.benchmark_sets import requires_set
from tests.cli.named_pipe import listening, needs_pipes
from tests.cli.run_command import run_command
from tests.tiny_graphs import ring, write_rows, write_rsn_folder, write_split_folder

Capture = pytest.CaptureFixture[str]


def test_list_names_every_set_and_says_which_are_here(capfd: Capture) -> None:
    sets = {row["name"]: row for row in run_command(capfd, "data", "list", "--json").json["sets"]}

    assert {"WN18RR", "FB15k-237", "YAGO3-10", "countries-S3", "DBP-WD", "EN-DE-dense"} <= set(sets)
    assert sets["geography-S3"] == {
        "name": "geography-S3",
        "task": "link-prediction",
        "available": True,
    }


def test_info_counts_one_graph(capfd: Capture, tmp_path: Path) -> None:
    folder = write_split_folder(tmp_path / "europe")

    outcome = run_command(capfd, "data", "info", folder, "--hops", "--json").json

    assert {key: outcome[key] for key in ("name", "task", "entities", "relations")} == {
        "name": "europe",
        "task": "link-prediction",
        "entities": 5,
        "relations": 2,
    }
    assert [outcome[split] for split in ("train", "valid", "test")] == [6, 1, 1]
    assert outcome["hops"]["valid"] == {"<=1": 0.0, "2": 100.0, "3": 0.0, ">=4": 0.0}
    assert outcome["hops"]["test"]["<=1"] == 100.0


def test_info_counts_two_graphs_of_ones_own(capfd: Capture, tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a.tsv", ring(10, prefix="a"))
    second = write_rows(tmp_path / "b.tsv", ring(12, prefix="b"))
    pairs = write_rows(tmp_path / "p.tsv", [(f"a{i}", f"b{i}") for i in range(10)])

    outcome = run_command(
        capfd, "data", "info", first, "--with", second, "--pairs", pairs, "--json"
    ).json

    assert outcome["task"] == "entity-alignment"
    assert outcome["graphs"] == [
        {"entities": 10, "relations": 1, "triplets": 10},
        {"entities": 12, "relations": 1, "triplets": 12},
    ]
    assert [outcome[key] for key in ("seeds", "valid", "test")] == [8, 1, 1]


def test_info_for_a_person_shows_counts_and_notes(capfd: Capture, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "g.tsv", [*ring(2000), *ring(2000)])

    outcome = run_command(capfd, "data", "info", path)

    assert "entities   2,000" in outcome.out
    assert "note: g.tsv: 2,000 duplicate triplets were dropped" in outcome.out


def test_a_file_name_that_is_not_utf8_is_shown_by_its_escapes(
    capfd: Capture, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xffme.tsv"))
    path.write_text("".join(f"e{i}\tr\te{(i + 1) % 20}\n" for i in range(20)))

    found = run_command(capfd, "data", "info", path, "--json").json
    said = run_command(capfd, "data", "info", path)

    assert found["name"] == r"na\udcffme.tsv"
    assert said.code == 0
    assert r"na\udcffme.tsv" in said.out


def test_a_graph_larger_than_the_memory_is_refused_in_one_line(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic_settings, "count_machine_bytes", lambda: 1_000_000)

    outcome = run_command(capfd, "data", "info", "synthetic:entities=20000")

    assert outcome.code == 2
    assert "of memory, and this machine has 0.0 GB. Ask for fewer entities" in outcome.err
    assert outcome.err.count("\n") == 1


def test_check_lists_every_fault_and_exits_2(capfd: Capture, tmp_path: Path) -> None:
    folder = write_rsn_folder(tmp_path)
    with (folder / "triples_1").open("a") as stream:
        stream.write("999\t1\t0\nonly one\n")
    with (folder / "sup_ent_ids").open("a") as stream:
        stream.write("0\t777\n")

    outcome = run_command(capfd, "data", "check", folder, "--json")

    found = json.loads(outcome.out)
    assert outcome.code == 2
    assert found["ok"] is False
    places = [(Path(fault["file"]).name, fault["line"]) for fault in found["faults"]]
    assert places == [("triples_1", 22), ("triples_1", 21), ("sup_ent_ids", 7)]
    assert outcome.err.startswith("error: ")


def test_check_is_content_with_a_good_set(capfd: Capture) -> None:
    outcome = run_command(capfd, "data", "check", "geography-S1", "--json").json

    assert outcome == {"ok": True, "faults": [], "notes": []}


def test_convert_writes_what_info_reads(capfd: Capture, tmp_path: Path) -> None:
    out = tmp_path / "text"

    written = run_command(capfd, "data", "convert", "geography-S3", out, "--json").json
    again = run_command(capfd, "data", "convert", "geography-S3", out)

    assert written == {"path": str(out), "form": "text", "format": "text"}
    assert sorted(path.name for path in out.iterdir()) == [
        "regions.txt",
        "test.txt",
        "train.txt",
        "valid.txt",
    ]
    assert again.code == 2


def test_convert_goes_by_the_ending_and_says_what_is_lost(capfd: Capture, tmp_path: Path) -> None:
    out = tmp_path / "g.nt"

    outcome = run_command(
        capfd, "data", "convert", "geography-S1", out, "--base", "http://a.example/", "--json"
    )

    assert outcome.json == {"path": str(out), "form": "nt", "format": "nt"}
    assert "note: RDF has no place for splits" in outcome.err
    assert "<http://a.example/france>" in out.read_text()


def test_convert_refuses_a_form_that_does_not_fit(capfd: Capture, tmp_path: Path) -> None:
    out = tmp_path / "out"

    outcome = run_command(capfd, "data", "convert", "geography-S1", out, "--form", "rsn")

    assert outcome.code == 2
    assert "is one graph, which rsn is not for" in outcome.err


def test_fetching_a_set_without_an_address_says_where_it_comes_from(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERSTELLAR_DATA", str(tmp_path))

    outcome = run_command(capfd, "data", "fetch", "DBP-WD-dense")

    assert outcome.code == 1
    assert "RSN" in outcome.err


@requires_set("link-prediction/WN18RR")
def test_wn18rr_has_the_papers_counts_and_hops(capfd: Capture) -> None:
    outcome = run_command(capfd, "data", "info", "WN18RR", "--hops", "--json").json

    assert [outcome[key] for key in ("entities", "relations")] == [40_943, 11]
    assert [outcome[key] for key in ("train", "valid", "test")] == [86_835, 3_034, 3_134]
    for split, paper in (("valid", (35.5, 8.8, 22.2, 33.5)), ("test", (35.0, 9.3, 21.4, 34.3))):
        assert list(outcome["hops"][split].values()) == pytest.approx(paper, abs=0.2)


@requires_set("link-prediction/FB15k-237")
def test_fb15k_237_differs_from_the_paper_by_its_self_loops_alone(capfd: Capture) -> None:
    hops = run_command(capfd, "data", "info", "FB15k-237", "--hops", "--json").json["hops"]["valid"]

    assert [hops["2"], hops["3"]] == pytest.approx([73.2, 26.1], abs=0.1)
    assert hops["<=1"] + hops[">=4"] == pytest.approx(0.7, abs=0.1)


@requires_set("entity-alignment/DBP-WD-normal")
def test_dbp_wd_has_the_papers_counts(capfd: Capture) -> None:
    outcome = run_command(capfd, "data", "info", "DBP-WD", "--json").json

    assert outcome["graphs"] == [
        {"entities": 15_000, "relations": 253, "triplets": 38_421},
        {"entities": 15_000, "relations": 144, "triplets": 40_159},
    ]
    assert [outcome[key] for key in ("seeds", "valid", "test")] == [4_500, 1_050, 9_450]


def test_check_folds_faults_alike_but_lists_all_of_them_as_json(
    capfd: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("a\tr\tb\n" + "a\tr\n" * 500)

    outcome = run_command(capfd, "data", "check", path)

    assert outcome.code == 2
    assert f"{path}: and 497 more like it" in outcome.out
    assert len(outcome.out.splitlines()) < 10
    listed = json.loads(run_command(capfd, "data", "check", path, "--json").out)
    assert len(listed["faults"]) == 500


def test_columns_can_be_named(capfd: Capture, tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("from,type,to,weight\n" + "".join(f"e{i},r,e{i + 1},1\n" for i in range(9)))

    counts = run_command(capfd, "data", "info", path, "--columns", "from,type,to", "--json").json

    assert (counts["entities"], counts["relations"]) == (10, 1)


def test_the_old_name_of_format_works_and_says_so(capfd: Capture, tmp_path: Path) -> None:
    arguments = ("data", "convert", "geography-S1")

    old = run_command(capfd, *arguments, tmp_path / "old", "--form", "openke")
    new = run_command(capfd, *arguments, tmp_path / "new", "--format", "openke")

    assert "--form is now --format" in old.err
    assert "--form" not in new.err
    assert (tmp_path / "old" / "train2id.txt").read_bytes() == (
        tmp_path / "new" / "train2id.txt"
    ).read_bytes()


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


@needs_pipes
def test_paths_are_written_into_pipes_and_links_keep_naming_their_file(
    capfd: Capture, tmp_path: Path
) -> None:
    pipe, link, target = (tmp_path / name for name in ("pipe.tsv", "link.tsv", "far.tsv"))
    link.symlink_to(target)

    with listening(pipe) as heard:
        into_pipe = run_command(capfd, "paths", "geography-S1", "--out", pipe)
    through_link = run_command(capfd, "paths", "geography-S1", "--out", link)

    assert (into_pipe.code, through_link.code) == (0, 0)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert heard == [target.read_bytes()]


@pytest.mark.parametrize("name", ["p.csv", "p.txt", "p.npy.gz"])
def test_a_suffix_that_says_something_else_is_refused(
    capfd: Capture, tmp_path: Path, name: str
) -> None:
    outcome = run_command(capfd, "paths", "geography-S1", "--out", tmp_path / name)

    assert outcome.code == 2
    assert ".tsv (names), .parquet" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_seed_decides_the_paths_and_not_what_is_held_out(
    capfd: Capture, tmp_path: Path
) -> None:
    """Training splits a file by a seed of its own, and its paths must be those shown here."""
    file = tmp_path / "graph.tsv"
    file.write_text("".join(f"e{i % 7}\tr\te{i % 11}\n" for i in range(77)))

    sampled = []
    for seed in (1, 2):
        out = tmp_path / f"{seed}.npy"
        outcome = run_command(capfd, "paths", file, "--out", out, "--seed", seed)
        assert outcome.code == 0, outcome.err
        sampled.append(np.load(out))

    first, second = sampled
    assert np.array_equal(first[:, :3], second[:, :3]), "every path begins with a triplet of train"
    assert not np.array_equal(first, second)


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


def test_the_seed_of_the_paths_does_not_change_the_split(capfd: Capture, tmp_path: Path) -> None:
    data = tmp_path / "g.tsv"
    data.write_text("".join(f"e{i}\tr{i * j % 3}\te{j}\n" for i in range(9) for j in range(9)))

    outcome = run_command(capfd, "paths", data, "--out", tmp_path / "p.npy", "--seed", 5)

    assert outcome.code == 0
    assert "81 triplets were split 90/5/5 with seed 0" in outcome.err
