"""The part of a report on one training."""

from pathlib import Path

from interstellar.reporting.document import Charts, Facts, Gallery, LineChart, Section, Table
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_training import RecordedTraining
from interstellar.reporting.training_section import chart_trainings, training_section
from tests.reporting.written_runs import KEPT, write_training


def read(*folders: Path) -> list[RecordedTraining]:
    return [run for run in read_runs(folders) if isinstance(run, RecordedTraining)]


def charts_of(section: Section) -> dict[str, LineChart]:
    [charts] = [block for block in section.blocks if isinstance(block, Charts)]
    return {chart.y_title: chart for chart in charts.charts if isinstance(chart, LineChart)}


def test_the_curves_are_loss_and_metric_of_the_journal(tmp_path: Path) -> None:
    [training] = read(write_training(tmp_path / "run", [None, 0.25, 0.5], test=0.375))

    charts = charts_of(training_section(training))

    assert charts["loss"].lines[0].points == [(1, 4.0), (2, 2.0), (3, 4 / 3)]
    assert charts["mrr"].lines[0].points == [(2, 0.25), (3, 0.5)]
    assert charts["mrr"].numbers.rows == [[1, 4.0, None], [2, 2.0, 0.25], [3, 4 / 3, 0.5]]


def test_facts_metrics_and_the_architecture_are_there(tmp_path: Path) -> None:
    [training] = read(write_training(tmp_path / "run", [0.5], test=0.375))

    section = training_section(training, [Section(title="Ranks")])

    facts, table, _ = section.blocks
    assert isinstance(facts, Facts)
    assert dict(facts.pairs)["architecture"] == "ComplEx: O_r = s ⊗ r; v = O_r"
    assert isinstance(table, Table)
    assert [row[:2] for row in table.rows] == [["valid", 0.5], ["test", 0.375]]
    [gallery] = section.sections[0].blocks
    assert isinstance(gallery, Gallery)
    assert gallery.drawings[0].svg.startswith("<svg")
    assert [part.title for part in section.sections] == [
        *("The architecture", "Ranks", "Settings", "Environment")
    ]


def test_a_training_without_epochs_has_no_curves(tmp_path: Path) -> None:
    [training] = read(write_training(tmp_path / "run", []))

    assert [type(block) for block in training_section(training).blocks] == [Facts]


def test_trainings_of_version_0_1_have_their_curves() -> None:
    for training in read(KEPT / "trained", KEPT / "stopped", KEPT / "aligned"):
        charts = charts_of(training_section(training))

        assert len(charts["loss"].lines[0].points) == 2
        assert len(charts[training.metric].lines[0].points) == 1


def test_several_trainings_are_laid_over_each_other(tmp_path: Path) -> None:
    runs = [
        write_training(tmp_path / name, [0.25, score]) for name, score in (("a", 0.5), ("b", 1))
    ]
    runs.append(write_training(tmp_path / "c", [None]))

    [chart] = chart_trainings(read(*runs)).charts

    assert isinstance(chart, LineChart)
    assert [(line.name, line.points) for line in chart.lines] == [
        ("a", [(1, 0.25), (2, 0.5)]),
        ("b", [(1, 0.25), (2, 1.0)]),
    ]
    assert chart.numbers.rows == [(1, 0.25, 0.25), (2, 0.5, 1.0)]
