"""Names as IRIs, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.iri_names import iri_to_name, name_to_iri


@given(name=st.text(min_size=1))
def test_the_iri_of_a_name_is_read_as_the_name(name: str) -> None:
    assert iri_to_name(name_to_iri(name)) == name


@pytest.mark.parametrize(
    "iri",
    [
        "http://a.example/b%20c",
        "urn:interstellar:",
        "urn:interstellar:a/b",
        "urn:interstellar:%2f",
        "urn:interstellar:%FF",
    ],
)
def test_an_iri_that_we_did_not_make_is_its_own_name(iri: str) -> None:
    assert iri_to_name(iri) == iri
