"""The sampled paths, and how they are stored."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.paths.path_table import PathTable

ENTITIES = Vocabulary(["paris", 'the "city"', "a\tb", "France"])
RELATIONS = Vocabulary(["capital of", "near"])


def small_table() -> PathTable:
    return PathTable(np.array([[0, 0, 3, 2, 0], [1, 1, 2, 3, 1]], dtype=np.int32))


def test_columns_are_entities_and_relations_in_turn() -> None:
    table = small_table()

    assert (table.n_paths, table.length) == (2, 2)
    assert table.subjects.tolist() == [[0, 3], [1, 2]]
    assert table.relations.tolist() == [[0, 2], [1, 3]]
    assert table.objects.tolist() == [[3, 0], [2, 1]]


def test_views_share_the_memory_of_the_table() -> None:
    table = small_table()

    assert all(
        np.shares_memory(view, table.array)
        for view in (table.subjects, table.relations, table.objects)
    )


def test_the_hash_covers_shape_and_little_endian_ids() -> None:
    table = small_table()
    content = b"paths 2 x 5 int32\n" + table.array.astype("<i4").tobytes()

    assert table.sha256 == hashlib.sha256(content).hexdigest()


@given(array=arrays(np.int32, (6, 7)))
def test_the_hash_does_not_depend_on_the_layout_in_memory(array: npt.NDArray[np.int32]) -> None:
    assert PathTable(np.asfortranarray(array)).sha256 == PathTable(array).sha256


def test_tables_of_other_shape_have_other_hashes() -> None:
    zeros = [PathTable(np.zeros(shape, dtype=np.int32)) for shape in ((5, 3), (3, 5))]

    assert zeros[0].sha256 != zeros[1].sha256


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 4), dtype=np.int32),
        np.zeros((2, 1), dtype=np.int32),
        np.zeros(5, dtype=np.int32),
        np.zeros((2, 5), dtype=np.int64),
    ],
)
def test_an_array_that_is_no_table_of_paths_is_refused(array: npt.NDArray[np.int32]) -> None:
    with pytest.raises(DataError, match="is no table of paths"):
        PathTable(array)


@pytest.mark.parametrize("name", ["paths.npy", "paths", "PATHS.NPY"])
def test_what_is_saved_is_loaded(tmp_path: Path, name: str) -> None:
    small_table().save(tmp_path / name)

    assert PathTable.load(tmp_path / name).sha256 == small_table().sha256


def test_parquet_has_a_column_of_ids_for_each_entity_and_relation(tmp_path: Path) -> None:
    small_table().save(tmp_path / "paths.parquet")

    columns = pq.read_table(tmp_path / "paths.parquet").to_pydict()
    assert columns == {"e_0": [0, 1], "r_1": [0, 1], "e_1": [3, 2], "r_2": [2, 3], "e_2": [0, 1]}


def test_tsv_has_names_and_marks_inverses(tmp_path: Path) -> None:
    small_table().save(tmp_path / "paths.tsv", entities=ENTITIES, relations=RELATIONS)

    lines = (tmp_path / "paths.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == ["paris", "capital of", "France", "capital of^-1", "paris"]
    assert lines[1].split("\t") == ['the "city"', "near", "a\\tb", "near^-1", 'the "city"']


def test_tsv_without_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no names were given"):
        small_table().save(tmp_path / "paths.tsv")

    assert list(tmp_path.iterdir()) == []


def test_names_of_another_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="hold entity 3, but there are names only up to 0"):
        small_table().save(
            tmp_path / "paths.tsv", entities=Vocabulary(["paris"]), relations=RELATIONS
        )


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    path = tmp_path / "paths.npy"
    path.write_text("old")
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", fail)

    with pytest.raises(OSError, match="no space left"):
        small_table().save(path)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="is not a folder"):
        small_table().save(tmp_path / "missing" / "paths.npy")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        PathTable.load(tmp_path / "paths.npy")


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "paths.npy", np.array([{}]), allow_pickle=True)

    with pytest.raises(DataError, match="no NumPy file of numbers"):
        PathTable.load(tmp_path / "paths.npy")


def test_an_archive_of_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "paths.npz", a=np.zeros(1), b=np.zeros(1))

    with pytest.raises(DataError, match="holds several arrays"):
        PathTable.load(tmp_path / "paths.npz")
