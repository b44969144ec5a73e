"""What a report says of runs of every kind."""

from pathlib import Path

from interstellar.reporting.document import Facts
from interstellar.reporting.reading import read_runs
from interstellar.reporting.run_section import describe_run, metrics_table, settings_sections
from tests.reporting.written_runs import metrics, write_training


def test_data_model_seed_and_device_are_said(tmp_path: Path) -> None:
    [training] = read_runs(write_training(tmp_path / "run", [0.5], seed=7))

    facts = dict(describe_run(training.run))

    assert facts == {
        "kind": "training, under way, or killed",
        "data": "mine (1,234 entities, 5 relations, 400 train, 20 valid, 20 test)",
        "model": "walks",
        "seed": "7",
        "device": "cpu",
    }


def test_metrics_have_a_row_for_each_split() -> None:
    table = metrics_table({"valid": metrics(0.5), "test": metrics(0.25, auc_pr=0.75)})

    assert table.columns == ("split", "mrr", "hits@1", "hits@10", "auc_pr", "n")
    assert table.rows == [
        ["valid", 0.5, 0.25, 1.0, None, 20],
        ["test", 0.25, 0.125, 0.5, 0.75, 20],
    ]


def test_settings_and_environment_are_folded(tmp_path: Path) -> None:
    [training] = read_runs(write_training(tmp_path / "run", [0.5]))

    settings, environment = settings_sections(training.run)

    assert settings.is_folded
    assert environment.is_folded
    assert isinstance(settings.blocks[0], Facts)
    assert ("dim", "8") in settings.blocks[0].pairs
    assert environment.blocks == [Facts(pairs=[("device", "cpu"), ("python", "3.11")])]
