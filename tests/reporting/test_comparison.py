"""Runs side by side."""

import json
import statistics
from pathlib import Path

import pytest

from interstellar.reporting.comparison import Comparison, Spread, compare_runs, shorten_names
from interstellar.reporting.reading import read_runs
from tests.reporting.written_runs import KEPT, SEARCHES, metrics, write_search, write_training
from tests.runs.small_runs import small_experiment


def compare(*folders: Path) -> Comparison:
    return compare_runs(read_runs(folders))


def test_runs_that_differ_only_in_the_seed_are_one_with_mean_and_error(tmp_path: Path) -> None:
    tests = [0.5, 0.7, 0.6]
    runs = [
        write_training(tmp_path / f"run-{seed}", [0.5], test=score, seed=seed, seconds=seed + 1.0)
        for seed, score in enumerate(tests)
    ]

    [group] = compare(*runs).groups

    error = statistics.stdev(tests) / 3**0.5
    assert group.seeds == [0, 1, 2]
    assert group.metrics["test"]["mrr"] == Spread(mean=statistics.mean(tests), error=error, n=3)
    assert group.seconds == Spread(mean=2.0, error=1 / 3**0.5, n=3)
    assert compare(*runs).differing == []


@pytest.mark.parametrize(
    "other",
    [
        {"experiment": small_experiment(dim=16)},
        {"experiment": small_experiment(architecture="TransE")},
        {"test": None},
    ],
)
def test_runs_that_differ_otherwise_are_apart(tmp_path: Path, other: dict[str, object]) -> None:
    one = write_training(tmp_path / "one", [0.5], test=0.5)
    two = write_training(tmp_path / "two", [0.5], **({"test": 0.5, "seed": 1} | other))  # type: ignore[arg-type]

    groups = compare(one, two).groups

    assert [group.names for group in groups] == [("one",), ("two",)]
    assert groups[0].metrics["valid"]["mrr"].error is None


def test_the_settings_that_differ_are_named_with_their_values(tmp_path: Path) -> None:
    for dim in (8, 16):
        experiment = small_experiment(dim=dim, dropout=dim / 100)
        write_training(tmp_path / str(dim), [0.5], test=0.5, experiment=experiment)

    found = compare(tmp_path / "8", tmp_path / "16")

    assert found.differing == ["dim", "dropout"]
    table = found.table()
    assert table.columns[-2:] == ("dim", "dropout")
    assert [row[-2:] for row in table.rows] == [("8", "0.08"), ("16", "0.16")]


def test_a_search_does_not_differ_from_a_training_by_being_one(tmp_path: Path) -> None:
    training = write_training(tmp_path / "trained", [0.5], test=0.5)
    search = write_search(tmp_path / "found", [{"score": 0.25}])

    found = compare(training, search)

    assert not [name for name in found.differing if name.startswith("search.")]
    assert [group.architecture for group in found.groups] == ["ComplEx", "TransE"]
    assert found.groups[1].metrics["valid"]["mrr"].mean == metrics(0.25)["mrr"]
    assert "kind" in found.table().columns


def test_the_test_metrics_of_a_search_are_those_of_its_trained_winner(tmp_path: Path) -> None:
    write_search(tmp_path / "found", [{"score": 0.25}])
    write_training(tmp_path / "found" / "final", [0.25], test=0.125)

    [group] = compare(tmp_path / "found").groups

    assert group.metrics["test"]["mrr"].mean == 0.125


def test_a_search_that_found_nothing_is_there(tmp_path: Path) -> None:
    [group] = compare(write_search(tmp_path / "found", [], is_finished=False)).groups

    assert (group.architecture, group.metrics, group.seconds) == ("none found yet", {}, None)


def test_everything_is_plain_for_json() -> None:
    folders = [SEARCHES / "wn18rr_hybrid", SEARCHES / "wn18rr_tune_complex", KEPT / "aligned"]

    found = json.loads(json.dumps(compare(*folders).as_dict()))

    kinds = [group["kind"] for group in found["groups"]]
    assert (found["runs"], kinds) == (3, ["search", "tuning", "training"])
    for folder, group in zip(folders[:2], found["groups"], strict=False):
        result = json.loads((folder / "result.json").read_text())
        assert group["metrics"]["valid"]["mrr"]["mean"] == result["best"]["valid"]["mrr"]
        assert group["runs"] == [str(folder)]
    assert set(found["groups"][0]["settings"]) == set(found["differing"])


def test_it_prints_as_a_table(tmp_path: Path) -> None:
    write_training(tmp_path / "run", [0.5], test=0.25)

    header, line = str(compare(tmp_path / "run")).splitlines()

    assert header.split()[:2] == ["runs", "architecture"]
    assert line.split()[:3] == ["run", "ComplEx", "0.500"]


def test_long_values_do_not_make_the_table_wider_than_needed(tmp_path: Path) -> None:
    table = compare(SEARCHES / "wn18rr_bayes", SEARCHES / "wn18rr_bayes_literature").table()

    assert all(len(str(cell)) <= 80 for row in table.rows for cell in row)


def test_many_names_are_counted() -> None:
    assert shorten_names(["a", "b", "c"]) == "a, b, c"
    assert shorten_names(["a", "b", "c", "d"]) == "a and 3 more"
