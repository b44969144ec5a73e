"""Flat TOML tables."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.records.toml_tables import toml_text

plain = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.lists(st.integers(-9, 9))
)
keys = st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True)
flat = st.dictionaries(keys, plain)


@given(st.dictionaries(keys, plain | flat))
def test_every_table_is_read_by_tomllib_as_it_was(table: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(table)) == table


def test_a_value_that_has_no_place_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no place in our TOML"):
        toml_text({"a": None})
