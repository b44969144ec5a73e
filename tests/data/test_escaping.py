"""Names in text that has no room for every letter."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.escaping import escape_lines, escape_words, read_word

NAMES = st.lists(st.text(min_size=1), min_size=1, max_size=5)


@given(names=NAMES, marks=st.lists(st.sampled_from(["graph1", "subject", "inverse"])))
def test_a_word_has_no_white_space_and_is_read_back_with_its_marks(
    names: list[str], marks: list[str]
) -> None:
    words = escape_words(pa.array(names)).to_pylist()

    for name, word in zip(names, words, strict=True):
        assert word.split() == [word]
        assert read_word("%".join([word, *marks])) == (name, tuple(marks))


@given(names=NAMES)
def test_a_line_keeps_its_cells_and_its_end(names: list[str]) -> None:
    cells = escape_lines(pa.array(names)).to_pylist()

    assert not any(letter in cell for cell in cells for letter in "\t\n\r")
    assert len(set(cells)) == len(set(names))


def test_ordinary_names_stay_as_they_are() -> None:
    names = pa.array(["france", "/m/02_286", "http://a.example/É", "a-b_c"])

    assert escape_words(names).equals(names)
    assert escape_lines(names).equals(names)
