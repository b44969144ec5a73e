"""What runs of all kinds say of themselves."""

from pathlib import Path

import pytest

from interstellar.errors import InterstellarError
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_run import (
    Kind,
    State,
    flatten_settings,
    is_measured,
    list_folders,
    name_runs,
)
from tests.reporting.written_runs import KEPT, SEARCHES, write_search, write_training
from tests.runs.small_runs import small_experiment
from tests.searching.small_searches import small_search


@pytest.mark.parametrize(
    ("path", "kind", "state"),
    [
        (KEPT / "trained", Kind.TRAINING, State.FINISHED),
        (KEPT / "stopped", Kind.TRAINING, State.STOPPED),
        (KEPT / "aligned", Kind.TRAINING, State.FINISHED),
        (KEPT / "searched", Kind.SEARCH, State.FINISHED),
        (KEPT / "cut", Kind.SEARCH, State.OPEN),
        (KEPT / "tuned", Kind.TUNING, State.FINISHED),
        (SEARCHES / "wn18rr_bayes_finalists", Kind.SEARCH, State.FINISHED),
    ],
)
def test_runs_of_every_kind_and_version_say_what_they_are(
    path: Path, kind: Kind, state: State
) -> None:
    [recorded] = read_runs(path)

    assert (recorded.run.kind, recorded.run.state, recorded.run.name) == (kind, state, path.name)
    assert recorded.run.data_name
    assert recorded.run.environment["device"]


def test_a_run_is_known_by_path_or_by_what_lies_in_it_and_each_once(tmp_path: Path) -> None:
    run = RunFolder(write_training(tmp_path / "run", [0.5]))

    assert list_folders(run) == list_folders(str(tmp_path / "run")) == [tmp_path / "run"]
    assert list_folders([run, tmp_path / "run", tmp_path / "x" / ".." / "run"]) == [
        tmp_path / "run"
    ]


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(InterstellarError, match="no run was given"):
        list_folders([])


def test_names_are_as_long_as_tells_them_apart(tmp_path: Path) -> None:
    alike = [tmp_path / "a" / "run", tmp_path / "b" / "run"]

    assert name_runs([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]
    assert name_runs(alike) == ["a/run", "b/run"]


def test_a_run_that_has_not_begun_to_read_its_data_has_the_name_that_was_asked_for(
    tmp_path: Path,
) -> None:
    write_search(tmp_path / "run", [], is_finished=False)
    (tmp_path / "run" / "journal.jsonl").write_text("")

    [recorded] = read_runs(tmp_path / "run")

    assert recorded.run.data_name == small_search().data
    assert recorded.run.state is State.OPEN


def test_settings_are_flat_and_leave_out_what_has_columns_of_its_own() -> None:
    training, search = flatten_settings(small_experiment()), flatten_settings(small_search())

    assert (training["dim"], training["dropout"], training["paths.length"]) == ("8", "0.2", "3")
    assert search["search.strategy"] == "random"
    assert "search.strategy" not in training
    assert not {"seed", "architecture", "source"} & set(search)


def test_what_can_be_measured_is_a_number_of_a_size_that_occurs() -> None:
    values = (0.5, 40000, -1.0, 1e300, 10**20, True, None, "1", float("nan"))

    assert [is_measured(value) for value in values] == [True] * 3 + [False] * 6
