"""`report` and `compare`, as a user calls them."""

import json
import os
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

import interstellar as ist
from interstellar.errors import InterstellarError
from interstellar.reporting.document import format_cell
from interstellar.runs.search_plan import StrategyName
from interstellar.training.defaults import PROPAGATION
from tests.imported_modules import list_imported
from tests.reporting.written_runs import (
    KEPT,
    SEARCHES,
    Page,
    Trials,
    metrics,
    write_search,
    write_training,
)
from tests.runs.small_runs import train
from tests.searching.small_searches import small_search

ALL_KEPT = sorted(path for path in KEPT.iterdir() if path.is_dir())
ALL_SEARCHES = sorted(path.parent for path in SEARCHES.glob("*/journal.jsonl"))
HOSTILE = "<script>alert(1)</script>"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_a_report_is_one_whole_page(tmp_path: Path) -> None:
    out = ist.report(ALL_SEARCHES[0], tmp_path / "page.html")

    text = read(out)
    page = Page(text)
    assert out == tmp_path / "page.html"
    assert not re.search(r"(src|href)=\"?https?:|url\(|@import|xmlns", text)
    assert page.count("script") == page.count("link") == page.count("img") == 0
    assert page.count("svg") > 4


@pytest.mark.parametrize("run", [*ALL_KEPT, *ALL_SEARCHES], ids=lambda path: path.name)
def test_every_kept_run_can_be_reported_in_both_forms(run: Path, tmp_path: Path) -> None:
    Page(read(ist.report(run, tmp_path / "page.html")))
    text = read(ist.report(run, tmp_path / "page.md"))

    assert f"\n## {run.name}\n" in text
    assert "<" not in re.sub(r"\\<", "", text)


def test_all_of_them_on_one_page_have_a_part_each(tmp_path: Path) -> None:
    runs = [*ALL_KEPT, *ALL_SEARCHES]

    page = Page(read(ist.report(runs, tmp_path / "page.html")))

    assert page.count("section") == len(runs) + 1
    assert {run.name for run in runs} <= set(page.texts)


def test_every_number_of_a_training_comes_from_its_journal(tmp_path: Path) -> None:
    scores = [0.125, 0.25, 0.5, 0.375]
    run = write_training(tmp_path / "run", scores, test=0.4375, seed=31)

    text = read(ist.report(run, tmp_path / "page.md"))

    body = text.split("### Settings")[0]
    numbers = {float(found) for found in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", body)}
    known = {*metrics(0.5).values(), *metrics(0.4375).values(), 2.5, *scores}
    known |= {4.0, 2.0, 4 / 3, 1.0}
    assert numbers == {float(format_cell(float(number))) for number in known} - {20.0}


def test_every_score_of_a_search_comes_from_its_journal(tmp_path: Path) -> None:
    folder = SEARCHES / "wn18rr_bayes"
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    ended = [event for event in events if event["event"] == "ended"]
    noted = {format_cell(v) for e in ended for v in (e["score"], *e["valid"].values())}

    text = read(ist.report(folder, tmp_path / "page.md"))

    leaders = text.split("### Leaderboard")[1].split("### The best")[0]
    rows = [line.split(" | ") for line in leaders.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == 10
    assert all(row[1] in noted for row in rows)
    for row in rows:
        assert {cell for cell in row if re.fullmatch(r"0\.\d{3}", cell)} <= noted


def test_what_strangers_wrote_is_text_and_no_markup(tmp_path: Path) -> None:
    folder = tmp_path / HOSTILE.replace("/", "∕")
    trials: Trials = [{"score": 0.5}, {"failure": HOSTILE, "formula": "ComplEx"}]
    search = write_search(folder / "found", trials)
    data = {"name": HOSTILE, "entities": HOSTILE}
    training = write_training(folder / HOSTILE.replace("/", "∕"), [0.5], test=0.5, data=data)

    text = read(ist.report([search, training], tmp_path / "page.html"))

    assert Page(text).count("script") == 0
    assert HOSTILE in unescape(text)
    markdown = read(ist.report([search, training], tmp_path / "page.md"))
    assert "<script" not in markdown.replace("\\<script", "")


@pytest.mark.skipif(os.name != "posix", reason="names are Unicode elsewhere")
def test_a_name_that_is_no_unicode_can_be_written(tmp_path: Path) -> None:
    run = write_training(tmp_path / os.fsdecode(b"run\xff\n\x1b[2J"), [0.5], test=0.5)

    text = read(ist.report(run, tmp_path / "page.html"))

    assert "run\\udcff\\n\\x1b[2J" in text
    assert "\x1b" not in text


def test_relations_of_strangers_are_escaped_too(tmp_path: Path) -> None:
    ring = [(f"e{i}", HOSTILE, f"e{(i + d) % 30}") for i in range(30) for d in (1, 2, 3)]
    ist.train(ring, "TransE", dim=8, epochs=1, out=tmp_path / "run", progress=False)

    text = read(ist.report(tmp_path / "run", tmp_path / "page.html", ranks=True, device="cpu"))

    assert Page(text).count("script") == 0
    assert "By relation" in text
    assert HOSTILE in unescape(text)


def test_ranks_are_only_asked_for_where_they_are_wanted(tmp_path: Path) -> None:
    train(tmp_path / "run")

    without = read(ist.report(tmp_path / "run", tmp_path / "without.md"))
    with_ranks = read(ist.report(tmp_path / "run", tmp_path / "with.md", ranks=True, device="cpu"))

    assert "Ranks on the test split" not in without
    assert "Ranks on the test split" in with_ranks


def test_the_winner_of_a_search_is_asked_for_its_ranks(tmp_path: Path) -> None:
    write_search(tmp_path / "found", [{"score": 0.5}])
    train(tmp_path / "found" / "final")

    text = read(ist.report(tmp_path / "found", tmp_path / "page.md", ranks=True, device="cpu"))

    assert "Ranks on the test split" in text


def test_only_searches_of_one_metric_and_data_are_laid_over_each_other(tmp_path: Path) -> None:
    one, two = SEARCHES / "wn18rr_bayes", SEARCHES / "wn18rr_hybrid"
    other = SEARCHES / "countries_s3_hybrid"

    together = read(ist.report([one, two, other], tmp_path / "page.html"))

    first = together.split("<h2>Side by side</h2>")[1].split("<h2>")[0]
    assert first.count('class="chart"') == 2
    assert "wn18rr_hybrid</text>" in first
    assert "countries_s3_hybrid</text>" not in first


def test_a_report_of_runs_under_way_says_so(tmp_path: Path) -> None:
    run = write_training(tmp_path / "run", [0.5])

    assert "Not finished: 1 of 1." in read(ist.report(run, tmp_path / "page.html"))


def test_a_run_that_is_being_written_is_read_without_its_lock(tmp_path: Path) -> None:
    from interstellar.records.run_folder import RunFolder

    write_training(tmp_path / "run", [0.5])
    with RunFolder(tmp_path / "run").writing() as journal:
        ist.report(tmp_path / "run", tmp_path / "page.html")

        journal.append("epoch", epoch=2, loss=1.0, valid=None, is_best=False)


def test_a_file_that_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")

    with pytest.raises(InterstellarError, match="nothing is replaced unasked"):
        ist.report(KEPT / "trained", out)
    ist.report(KEPT / "trained", out, overwrite=True)

    assert read(out).startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("place", ["page.html", "checkpoints/page.html"])
def test_a_report_is_never_written_into_a_run(tmp_path: Path, place: str) -> None:
    run = write_training(tmp_path / "run", [0.5])

    with pytest.raises(InterstellarError, match="a report never writes into a run"):
        ist.report(KEPT / "trained", run / place)

    assert not (run / place).exists()


def test_the_form_follows_the_ending_or_is_said(tmp_path: Path) -> None:
    run = KEPT / "trained"

    assert read(ist.report(run, tmp_path / "a.md")).startswith("# Report on trained")
    assert read(ist.report(run, tmp_path / "b.txt", format="md")).startswith("# Report")
    assert read(ist.report(run, tmp_path / "c.md", format="html")).startswith("<!DOCTYPE")
    with pytest.raises(InterstellarError, match="Choose html, md or tensorboard"):
        ist.report(run, tmp_path / "d.pdf", format="pdf")


def test_models_and_results_are_runs_too(tmp_path: Path) -> None:
    model = ist.open(KEPT / "trained", device="cpu")
    result = ist.SearchResult.open(KEPT / "searched")

    found = ist.compare([model, result])

    assert [group.names for group in found.groups] == [("trained",), ("searched",)]
    ist.report(model, tmp_path / "page.html")


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    pages = [read(ist.report(ALL_KEPT, tmp_path / f"{i}.html")) for i in range(2)]

    assert pages[0] == pages[1]


def test_a_report_without_ranks_needs_no_torch(tmp_path: Path) -> None:
    runs, out = [str(path) for path in ALL_KEPT], str(tmp_path / "page.html")

    assert list_imported(f"import interstellar as i; i.report({runs!r}, {out!r})", "torch") == []


def test_a_search_of_propagations_has_its_choices_among_the_effects(tmp_path: Path) -> None:
    own = {"attention": "none", "relations": "own", "update": "residual", "depth": 2}
    experiment = replace(small_search(StrategyName.RANDOM), settings=PROPAGATION)
    trials: Trials = [
        {"score": 0.1 * i, "formula": "O_r = h ⊙ r; v = O_r", "changes": {"aggregation": a, **own}}
        for i, a in enumerate(("sum", "pna", "sum", "max"))
    ]

    out = ist.report(
        write_search(tmp_path / "run", trials, experiment=experiment), tmp_path / "page.md"
    )

    assert "| aggregation | max | 1 |" in read(out)
