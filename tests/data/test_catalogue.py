import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from interstellar.data.catalogue import (
    BUILT_IN_SETS,
    NAMED_SETS,
    SOURCE_URL,
    NamedSet,
    SetFile,
    build_builtin,
    data_root,
    find_set,
    is_available,
    is_builtin,
    list_names,
    list_sets,
    missing_files,
    require_set,
    suggest_names,
)
from interstellar.data.graph import Task
from interstellar.errors import DataError

LINK_PREDICTION = (
    "WN18RR",
    "FB15k-237",
    "YAGO3-10",
    "countries-S1",
    "countries-S2",
    "countries-S3",
)
ALIGNMENT = ("DBP-WD", "DBP-YG", "EN-FR", "EN-DE")
BUILT_IN = ("geography-S1", "geography-S2", "geography-S3", "synthetic", "synthetic-alignment")


def test_every_set_of_the_design_has_its_name() -> None:
    dense = tuple(f"{name}-dense" for name in ALIGNMENT)

    assert list_names() == [*LINK_PREDICTION, *ALIGNMENT, *dense, *BUILT_IN]


def test_names_and_folders_differ_whatever_their_case() -> None:
    names = [name.lower() for name in list_names()]
    folders = [known.folder.lower() for known in NAMED_SETS]

    assert len(set(names)) == len(names)
    assert len(set(folders)) == len(folders)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("WN18RR", "link-prediction/WN18RR"),
        ("countries-S1", "countries/S1"),
        ("DBP-WD", "entity-alignment/DBP-WD-normal"),
        ("DBP-WD-dense", "entity-alignment/DBP-WD-dense"),
    ],
)
def test_folders_are_laid_out_as_in_the_design(name: str, folder: str) -> None:
    assert require_set(name).folder == folder


@pytest.mark.parametrize("known", NAMED_SETS, ids=lambda known: known.name)
def test_each_entry_of_the_catalogue_is_complete(known: NamedSet) -> None:
    assert known.source
    assert len({file.name for file in known.files}) == len(known.files)
    assert known.is_fetchable != known.name.endswith("-dense")


def all_files() -> list[tuple[NamedSet, SetFile]]:
    return [(known, file) for known in NAMED_SETS if known.is_fetchable for file in known.files]


@pytest.mark.parametrize(("known", "file"), all_files(), ids=lambda value: value.name)
def test_each_file_has_an_address_that_never_changes_and_a_checksum(
    known: NamedSet, file: SetFile
) -> None:
    address = urlsplit(f"{SOURCE_URL}/{file.path}")

    assert address.scheme == "https"
    assert address.netloc == "raw.githubusercontent.com"
    assert re.fullmatch(r"/[\w-]+/[\w-]+/[0-9a-f]{40}/data/[\w.-]+/[\w.]+", address.path)
    assert ".." not in address.path
    assert file.digest is not None
    assert re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{32}", file.digest)
    assert file.n_bytes > 0


def test_each_set_needs_the_files_of_its_task() -> None:
    for known in NAMED_SETS:
        names = {file.name for file in known.files}
        if known.task is Task.LINK_PREDICTION:
            assert names >= {"train.txt", "valid.txt", "test.txt"}
        else:
            assert names >= {"triples_1", "triples_2", "sup_ent_ids", "ref_ent_ids"}


def test_only_evaluation_pairs_are_made_from_two_files() -> None:
    derived = {file.name: file.without for _, file in all_files() if file.without}

    assert derived == {"ref_ent_ids": "sup_ent_ids"}


@pytest.mark.benchmark_sets
@pytest.mark.parametrize(("known", "file"), all_files(), ids=lambda value: value.name)
def test_the_files_on_this_machine_have_the_checksums_of_the_catalogue(
    known: NamedSet, file: SetFile
) -> None:
    if not os.environ.get("INTERSTELLAR_DATA"):
        pytest.skip("$INTERSTELLAR_DATA does not say where the benchmark sets lie")
    path = known.folder_below(data_root()) / file.name
    if not path.exists():
        pytest.skip(f"{path} is not there")

    content = path.read_bytes()

    assert hashlib.new(file.algorithm, content).hexdigest() == file.digest
    assert len(content) == file.n_bytes


@pytest.mark.parametrize("name", ["wn18rr", "WN18RR", " Wn18rr "])
def test_a_name_is_found_in_any_case(name: str) -> None:
    found = find_set(name)

    assert found is not None
    assert found.name == "WN18RR"


def test_a_name_that_is_not_there_is_not_found() -> None:
    assert find_set("WN18") is None
    assert find_set("geography-S1") is None


def test_a_misspelled_name_is_reported_with_those_that_are_close() -> None:
    with pytest.raises(DataError, match=r"'FB15k237' .* Did you mean FB15k-237\?"):
        require_set("FB15k237")


def test_a_name_like_no_other_is_reported_with_all_names() -> None:
    with pytest.raises(DataError, match=r"Names: WN18RR, .*synthetic-alignment"):
        require_set("qqqqqqqq")


def test_a_built_in_set_has_nothing_to_fetch() -> None:
    with pytest.raises(DataError, match="synthetic:seed=3 is built in"):
        require_set("synthetic:seed=3")


def test_names_that_are_close_are_listed_without_settings() -> None:
    assert suggest_names("sintetic:entities=10").startswith("Did you mean synthetic")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_set_can_be_built(name: str) -> None:
    assert is_builtin(name.upper())

    graph = build_builtin(name.upper())

    assert graph.name.startswith(name)


def test_published_sets_are_not_built_in() -> None:
    assert not is_builtin("WN18RR")
    assert not is_builtin("geography-S4")


def test_an_empty_root_has_only_the_built_in_sets(tmp_path: Path) -> None:
    listed = list_sets(tmp_path)

    assert [row["name"] for row in listed] == list_names()
    assert tuple(row["name"] for row in listed if row["available"]) == BUILT_IN
    assert {row["task"] for row in listed} == {"link-prediction", "entity-alignment"}
    assert len(BUILT_IN_SETS) == len(BUILT_IN)


def test_a_set_with_all_its_files_is_available(tmp_path: Path) -> None:
    known = require_set("countries-S2")
    place_files(known, tmp_path, ("train.txt", "valid.txt", "test.txt", "regions.txt"))

    assert is_available(known, tmp_path)
    assert missing_files(known, tmp_path) == ()


def test_a_set_that_is_partly_there_is_not_available_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    known = require_set("YAGO3-10")
    place_files(known, tmp_path, ("valid.txt", "test.txt"))

    assert not is_available(known, tmp_path)
    assert missing_files(known, tmp_path) == ("train.txt",)


def test_the_root_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERSTELLAR_DATA", "~/graphs")

    assert data_root() == Path.home() / "graphs"


def test_without_the_environment_the_root_is_the_users_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("INTERSTELLAR_DATA", raising=False)

    assert data_root().name == "interstellar"


def test_neither_pooch_nor_requests_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, interstellar.data.catalogue, interstellar.data.fetching\n"
        "assert not {'pooch', 'requests'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def place_files(known: NamedSet, root: Path, names: tuple[str, ...]) -> None:
    folder = known.folder_below(root)
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text("a\tr\tb\n")
