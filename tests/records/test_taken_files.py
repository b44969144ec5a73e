"""What is written never takes the place of what was read, or of a file of a run."""

from pathlib import Path

import pytest

from interstellar.errors import SettingsError
from interstellar.records.safe_files import refuse_taken


def test_a_file_that_was_read_is_not_replaced_under_any_name(tmp_path: Path) -> None:
    read = tmp_path / "graph.tsv"
    read.write_text("a\tb\tc\n")
    link = tmp_path / "link.tsv"
    link.symlink_to(read)

    for path in (read, tmp_path / "x" / ".." / "graph.tsv", link):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(SettingsError, match="is what was read"):
            refuse_taken(path, (None, "no such set", read))


def test_a_file_of_a_run_is_not_replaced_and_a_new_one_may_lie_there(tmp_path: Path) -> None:
    for name in ("experiment.toml", "journal.jsonl", "result.json"):
        (tmp_path / name).write_text("")

    with pytest.raises(SettingsError, match="is a file of the run"):
        refuse_taken(tmp_path / "result.json", ())
    refuse_taken(tmp_path / "alignment.tsv", ())


def test_other_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "answers.tsv").write_text("")

    refuse_taken(tmp_path / "answers.tsv", (tmp_path / "graph.tsv",))
