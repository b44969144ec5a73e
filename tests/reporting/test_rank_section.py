"""The part of a report on ranks."""

from pathlib import Path

from interstellar.reporting.document import BarChart, Charts, Paragraph, Table
from interstellar.reporting.rank_section import rank_section
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_training import RecordedTraining
from tests.reporting.written_runs import KEPT


def read(folder: Path) -> RecordedTraining:
    [training] = read_runs(folder)
    assert isinstance(training, RecordedTraining)
    return training


def test_ranks_have_a_histogram_and_tables_by_kind_distance_and_relation() -> None:
    training = read(KEPT / "trained")

    section = rank_section(training, "cpu")

    charts, *tables, _ = section.blocks
    assert isinstance(charts, Charts)
    [bars] = charts.charts
    assert isinstance(bars, BarChart)
    assert sum(share for _, share in bars.bars) == 1
    assert [table.title for table in tables if isinstance(table, Table)] == [
        *("By kind of relation", "By distance", "By relation")
    ]
    for table in tables:
        assert isinstance(table, Table)
        triplets = table.columns.index("triplets")
        total = sum(int(str(row[triplets])) for row in table.rows)
        assert 2 * total == training.metrics["test"]["n"]


def test_an_alignment_says_why_it_has_none() -> None:
    section = rank_section(read(KEPT / "aligned"), "cpu")

    [said] = section.blocks
    assert isinstance(said, Paragraph)
    assert "link prediction" in said.text
