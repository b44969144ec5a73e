"""The part of a report on one search or tuning."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.data.graph import Task
from interstellar.reporting.document import Charts, Facts, Gallery, Paragraph, Section, Table
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.search_section import (
    N_DRAWN,
    N_LEADERS,
    describe_changes,
    search_section,
)
from interstellar.rivals.catalogue import Rival
from interstellar.training.defaults import GraphSize
from interstellar.training.rival_defaults import rival_settings
from tests.reporting.written_runs import (
    KEPT,
    SEARCHES,
    Trials,
    metrics,
    tuning,
    write_search,
    write_training,
)
from tests.runs.small_runs import small_experiment


def section_of(folder: Path) -> Section:
    [search] = read_runs(folder)
    assert isinstance(search, RecordedSearch)
    return search_section(search)


def parts_of(folder: Path) -> dict[str, Section]:
    return {part.title: part for part in section_of(folder).sections}


def table_of(section: Section) -> Table:
    return next(block for block in section.blocks if isinstance(block, Table))


def facts_of(folder: Path) -> dict[str, object]:
    facts = section_of(folder).blocks[0]
    assert isinstance(facts, Facts)
    return dict(facts.pairs)


def test_the_leaderboard_is_that_of_the_journal() -> None:
    folder = SEARCHES / "wn18rr_bayes"
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    scores = sorted(
        (e["score"] for e in events if e["event"] == "ended" and not e.get("reused")), reverse=True
    )

    table = table_of(parts_of(folder)["Leaderboard"])

    assert len(table.rows) == N_LEADERS
    assert [row[1] for row in table.rows] == scores[:N_LEADERS]
    by_number = {str(e["number"]): e for e in events if e["event"] == "ended"}
    place = table.columns.index("mrr")
    for row in table.rows:
        assert row[place] == by_number[str(row[-1])]["valid"]["mrr"]


def test_the_best_networks_are_drawn_each_once_the_winner_first(tmp_path: Path) -> None:
    formulas = ["TransE", "ComplEx", "DistMult", "RSN", "PTransE-add", "ComplEx"]
    trials: Trials = [{"score": 0.1 * i, "formula": formula} for i, formula in enumerate(formulas)]

    [gallery] = parts_of(write_search(tmp_path / "run", trials))["The best architectures"].blocks

    assert isinstance(gallery, Gallery)
    assert len(gallery.drawings) == N_DRAWN
    assert [drawing.text.partition(":")[0] for drawing in gallery.drawings] == [
        *("ComplEx", "PTransE-add", "RSN", "DistMult")
    ]
    assert all("<svg" in drawing.svg for drawing in gallery.drawings)


def test_baselines_and_the_gain_over_them_are_said(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.25},
        {"score": 0.125, "formula": "DistMult"},
        {"score": 0.5, "formula": "O_r = W3 s ⊙ W4 r; v = O_r"},
    ]
    folder = write_search(tmp_path / "run", trials)

    part = parts_of(folder)["Known models, and the gain over them"]

    assert [row[0] for row in table_of(part).rows] == ["TransE", "DistMult"]
    assert facts_of(folder)["gain"] == "+25.00 points of mrr over TransE, one seed"


def test_that_nothing_better_was_found_is_said(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "run", [{"score": 0.25}])

    assert facts_of(folder)["gain"] == "nothing better than TransE was found"


def test_what_became_of_trials_and_why_some_failed(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.5},
        {"score": 0.4, "formula": "DistMult", "stopped": "rung"},
        {"failure": "<b>no memory</b>", "formula": "ComplEx"},
        {"score": 0.5, "reused": "proposal 0"},
    ]

    part = parts_of(write_search(tmp_path / "run", trials))["What became of the trials"]

    fates, failures = (block for block in part.blocks if isinstance(block, Table))
    assert [row[:2] for row in fates.rows] == [
        ["trained to the end", 1],
        ["stopped at a rung", 1],
        ["known already", 1],
        ["failed", 1],
    ]
    assert failures.rows == [["2", "O_r = s ⊗ r; v = O_r", "<b>no memory</b>"]]


def test_the_trained_winner_has_its_metrics(tmp_path: Path) -> None:
    write_search(tmp_path / "run", [{"score": 0.5}])
    write_training(tmp_path / "run" / "final", [0.5], test=0.375)

    rows = table_of(parts_of(tmp_path / "run")["The winner, trained"]).rows

    assert rows == [["valid", *metrics(0.5).values()], ["test", *metrics(0.375).values()]]


def test_a_winner_from_outside_the_space_is_named(tmp_path: Path) -> None:
    size = GraphSize(n_entities=200, n_triplets=500, n_pairs=20)
    settings = rival_settings(Rival.DUAL_AMN, Task.ENTITY_ALIGNMENT, size)
    rival = replace(small_experiment(), architecture=Rival.DUAL_AMN.value, settings=settings)
    write_search(tmp_path / "run", [{"score": 0.5}])
    write_training(tmp_path / "run" / "final", [0.6], test=0.375, experiment=rival)

    said, _ = parts_of(tmp_path / "run")["The winner, trained"].blocks

    assert isinstance(said, Paragraph)
    assert "Dual-AMN, outside the search space" in said.text


def test_a_tuning_is_about_settings(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.1 * i, "formula": "ComplEx", "changes": {"dropout": 0.1 * i}} for i in range(3)
    ]
    folder = write_search(tmp_path / "run", trials, experiment=tuning())

    table = table_of(parts_of(folder)["Leaderboard"])

    assert "architecture" not in table.columns
    place = table.columns.index("settings")
    assert [row[place] for row in table.rows] == ["dropout 0.2", "dropout 0.1", "dropout 0"]
    [gallery] = parts_of(folder)["The architecture"].blocks
    assert isinstance(gallery, Gallery)
    assert len(gallery.drawings) == 1


def test_the_controller_of_a_hybrid_search_is_shown_and_of_others_not() -> None:
    assert "The controller" in parts_of(SEARCHES / "countries_s3_hybrid")
    assert "The controller" not in parts_of(SEARCHES / "wn18rr_bayes")


def test_what_is_under_way_is_counted(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "run", [{"score": 0.5}, {}], is_finished=False)

    assert facts_of(folder)["under way"] == 1
    assert facts_of(folder)["kind"] == "search, under way, or killed"


def test_a_search_without_trials_has_facts_and_settings(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "run", [], is_finished=False)

    assert list(parts_of(folder)) == ["Settings", "Environment"]


@pytest.mark.parametrize("name", ["searched", "tuned", "cut"])
def test_searches_of_version_0_1_have_curves_leaders_and_drawings(name: str) -> None:
    section = section_of(KEPT / name)

    assert any(isinstance(block, Charts) for block in section.blocks)
    assert section.sections[0].title == "Leaderboard"


def test_a_journal_that_was_read_in_part_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.reporting.recorded_search.MOST_MOMENTS", 2)

    section = section_of(write_search(tmp_path / "run", [{"score": 0.25}, {"score": 0.5}]))

    [said] = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert "only its beginning was read" in said


def test_settings_are_one_line_without_what_the_formula_says() -> None:
    changes: dict[str, float | int | str] = {"dim": 64, "learning_rate": 0.0030001}
    changes |= {"aggregation": "sum", "optimizer": "adam"}

    assert describe_changes(changes) == "dim 64, learning_rate 0.003, optimizer adam"
