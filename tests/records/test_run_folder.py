"""The folder of a run."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder


def make_run(path: Path) -> RunFolder:
    return RunFolder.create(path, experiment="seed = 0\n", environment={"device": "cpu"})


def test_a_run_is_whole_from_its_first_moment(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "one")

    assert run == RunFolder.open(tmp_path / "runs" / "one")
    assert sorted(child.name for child in run.path.iterdir()) == [
        "checkpoints",
        "environment.json",
        "experiment.toml",
        "journal.jsonl",
        "names",
    ]
    assert run.experiment_file.read_text() == "seed = 0\n"
    assert run.read_environment() == {"device": "cpu"}
    assert list(run.read_events()) == []
    assert [child.name for child in run.path.parent.iterdir()] == ["one"]


@pytest.mark.parametrize("kind", ["empty folder", "run", "file", "dangling link"])
def test_a_run_never_takes_the_place_of_what_exists(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "run":
        make_run(path)
    elif kind == "file":
        path.touch()
    else:
        path.symlink_to(tmp_path / "nowhere")

    with pytest.raises(SettingsError, match="by --resume, or choose a new folder with --out"):
        make_run(path)


def test_a_run_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SettingsError, match="cannot be made"):
        make_run(tmp_path / "file" / "run")


def test_what_is_no_run_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.environment_file.unlink()
    run.journal_file.unlink()

    with pytest.raises(SettingsError, match=r"lacks environment\.json, journal\.jsonl"):
        RunFolder.open(run.path)
    with pytest.raises(SettingsError, match="is a file"):
        RunFolder.open(run.experiment_file)
    with pytest.raises(SettingsError, match="does not exist"):
        RunFolder.open(tmp_path / "none")


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    text = run.environment_file.read_text()
    run.environment_file.write_text(text.replace('"version": 1', '"version": 9'))

    with pytest.raises(DataError, match=r"version 9 .* newer interstellar"):
        RunFolder.open(run.path)


def test_one_writer_writes_while_others_read(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")

    with run.writing() as journal:
        journal.append("trial", score=1.0)
        with pytest.raises(SettingsError, match="one writer"), run.writing():
            pass
        assert [event["event"] for event in RunFolder.open(run.path).read_events()] == ["trial"]

    with run.writing() as journal:
        assert len(journal.events()) == 1


def test_a_writer_removes_what_a_killed_one_left_half_written(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    draft = run.path / ".result.json.0123abcd.draft"
    draft.write_text("{")

    with run.writing():
        pass

    assert not draft.exists()


def test_a_result_comes_back_and_can_be_replaced(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert not run.result_file.exists()
    with pytest.raises(SettingsError, match=r"not finished\. Go on with --resume"):
        run.read_result()

    run.write_result({"metrics": {"valid": {"mrr": 0.25}}})
    run.write_result({"metrics": {"valid": {"mrr": 0.5}}})

    assert run.is_finished
    assert run.read_result() == {"metrics": {"valid": {"mrr": 0.5}}}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text()))
def test_names_come_back_whatever_they_hold(tmp_path: Path, names: list[str]) -> None:
    run = RunFolder(tmp_path)

    run.save_names("entities", names)

    assert run.read_names("entities") == names


def test_names_that_were_cut_or_altered_are_refused(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.save_names("entities", ["a", "tab\tand\nline", "c"])
    path = run.names_folder / "entities.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(DataError, match="holds 2 names, but its first line says 3"):
        run.read_names("entities")
    path.write_bytes(b"".join([*lines[:2], b"[]\n", *lines[3:]]))
    with pytest.raises(DataError, match=r"entities\.jsonl:3 is not a JSON string"):
        run.read_names("entities")
    path.write_bytes(b"".join([lines[0].replace(b": 1,", b": 2,"), *lines[1:]]))
    with pytest.raises(DataError, match="newer interstellar"):
        run.read_names("entities")
    path.unlink()
    with pytest.raises(DataError, match="holds no such names"):
        run.read_names("entities")


@pytest.mark.parametrize("word", ["../entities", "", "/etc/passwd", "a.b", "A", "a\n"])
def test_a_vocabulary_cannot_lie_outside_the_run(tmp_path: Path, word: str) -> None:
    run = RunFolder(tmp_path)

    with pytest.raises(SettingsError, match="cannot name a vocabulary"):
        run.save_names(word, ["a"])
    with pytest.raises(SettingsError, match="cannot name a vocabulary"):
        run.read_names(word)
