"""Runs are read from their folders; what is no run is refused by its name."""

import shutil
from pathlib import Path

import pytest

from interstellar.errors import InterstellarError
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.recorded_training import RecordedTraining
from tests.imported_modules import list_imported
from tests.reporting.written_runs import KEPT, SEARCHES, write_search, write_training


def test_trainings_and_searches_are_read_in_the_order_they_are_given() -> None:
    kinds = [type(run) for run in read_runs([KEPT / "searched", KEPT / "trained", KEPT / "tuned"])]

    assert kinds == [RecordedSearch, RecordedTraining, RecordedSearch]


def test_nothing_is_read_where_one_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(InterstellarError, match=r"empty is no run: it lacks experiment.toml"):
        read_runs([KEPT / "trained", tmp_path / "empty"])
    with pytest.raises(InterstellarError, match="nowhere does not exist"):
        read_runs(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("journal", "words"),
    [
        ("a poem\nof two lines\n", r"journal.jsonl:1 is not JSON"),
        ('{"event": "journal", "time": "", "format": "theirs", "version": 1}\n', "format 'theirs'"),
        ('{"event": "x", "time": ""}\n[1, 2]\n{}\n', "journal.jsonl:1 says format"),
    ],
)
def test_a_journal_of_something_else_is_refused_with_its_line(
    tmp_path: Path, journal: str, words: str
) -> None:
    write_training(tmp_path / "run", [0.5])
    (tmp_path / "run" / "journal.jsonl").write_text(journal)

    with pytest.raises(InterstellarError, match=words):
        read_runs(tmp_path / "run")


@pytest.mark.parametrize("n_lost", [1, 20, 100])
def test_a_journal_whose_last_line_is_half_written_is_read_without_it(
    tmp_path: Path, n_lost: int
) -> None:
    write_search(tmp_path / "run", [{"score": 0.25}, {"score": 0.5}], is_finished=False)
    journal = tmp_path / "run" / "journal.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-n_lost])

    [search] = read_runs(tmp_path / "run")

    assert isinstance(search, RecordedSearch)
    assert len(search.trials.ended) == (2 if n_lost == 1 else 1)  # a newline more or less is one
    assert journal.read_bytes() == content[:-n_lost]


def test_reading_changes_nothing_and_takes_no_lock(tmp_path: Path) -> None:
    run = Path(shutil.copytree(SEARCHES / "wn18rr_bayes", tmp_path / "run"))
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.iterdir()}

    read_runs(run)

    assert before == {
        path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.iterdir()
    }


def test_reading_needs_no_torch() -> None:
    code = f"from interstellar.reporting.writing import compare; compare({str(KEPT / 'tuned')!r})"

    assert list_imported(code, "torch") == []
