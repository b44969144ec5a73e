"""Small JSON files: written whole, read with distrust."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.errors import DataError
from interstellar.records.json_files import read_bounded, read_json, to_plain, write_json


def whole(value: bytes) -> bytes:
    return b'{"format": "interstellar result", "version": 1, "mrr": ' + value + b"}"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@given(PLAIN)
def test_what_json_can_hold_comes_back_exactly(value: object) -> None:
    assert json.loads(json.dumps(to_plain(value), allow_nan=False)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_a_number_that_is_not_finite_becomes_null(value: float) -> None:
    assert to_plain({"loss": [value]}) == {"loss": [None]}


def test_numpy_values_and_paths_become_plain_ones() -> None:
    plain = to_plain({"a": np.int64(3), "b": np.arange(2), "c": Path("x") / "y", "d": (1, 2)})

    assert plain == {"a": 3, "b": [0, 1], "c": str(Path("x/y")), "d": [1, 2]}


@pytest.mark.parametrize("value", [{1: "key"}, object(), {"set": {1}}])
def test_what_has_no_place_in_json_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="JSON"):
        to_plain(value)


def test_a_file_gives_back_its_object_without_format_and_version(tmp_path: Path) -> None:
    write_json(tmp_path / "r", {"mrr": 0.5}, kind="result", version=1)

    assert read_json(tmp_path / "r", kind="result", version=1) == {"mrr": 0.5}
    assert read_json(tmp_path / "r", kind="result", version=2) == {"mrr": 0.5}


def test_a_newer_version_and_another_kind_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "r", {}, kind="result", version=2)

    with pytest.raises(DataError, match=r"version 2 .* up to 1. Use a newer interstellar"):
        read_json(tmp_path / "r", kind="result", version=1)
    with pytest.raises(DataError, match=r"'interstellar result' .* must say"):
        read_json(tmp_path / "r", kind="environment", version=2)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"format": "interstellar result"}',
        whole(b"NaN"),
        whole(b"-Infinity"),
        whole(b"1e999"),
        whole(b'"\\uD800"'),
        whole(b'{"\\udfff": 1}'),
    ],
)
def test_what_is_no_such_object_is_refused_with_the_file_named(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(content)

    with pytest.raises(DataError, match=r"result\.json"):
        read_json(path, kind="result", version=1)


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "result.json").touch()

    with pytest.raises(DataError, match=r"result\.json is empty, but .* Take the file from a copy"):
        read_json(tmp_path / "result.json", kind="result", version=1)


def test_whole_characters_written_as_two_halves_are_read(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(whole(b'"\\ud83d\\ude80"'))

    assert read_json(tmp_path / "r", kind="result", version=1) == {"mrr": "🚀"}


def test_text_with_half_a_character_is_written_so_that_it_can_be_read(tmp_path: Path) -> None:
    write_json(tmp_path / "r", {"stra\udce9": Path("stra\udce9")}, kind="result", version=1)

    assert read_json(tmp_path / "r", kind="result", version=1) == {r"stra\udce9": r"stra\udce9"}


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(DataError, match=r"cannot be read \(File name too long\)"):
        read_bounded(Path(300 * "x"), 5)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"12345")

    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(DataError, match="more than 4 bytes"):
        read_bounded(path, 4)


def test_what_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_bounded(tmp_path / "none", 5)
    with pytest.raises(DataError, match="is not a plain file"):
        read_bounded(tmp_path, 5)
