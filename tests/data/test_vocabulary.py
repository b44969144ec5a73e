"""Names and their ids."""

import subprocess
import sys

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.vocabulary import UNKNOWN, Vocabulary, as_array


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_names_become_the_strings_that_arrow_makes_of_them(names: list[str]) -> None:
    array = as_array(names)

    array.validate(full=True)
    assert array.equals(pa.array(names, pa.string()))


def test_every_name_has_an_id_and_others_have_none() -> None:
    vocabulary = Vocabulary(["a", "b\tc", "é"])

    assert [vocabulary.id(name) for name in ("a", "b\tc", "é", "e")] == [0, 1, 2, UNKNOWN]
    assert vocabulary.ids(pa.array(["é", None, "x"])).tolist() == [2, UNKNOWN, UNKNOWN]


def test_names_do_not_bring_pandas_along() -> None:
    program = (
        "import sys; from interstellar.data.vocabulary import Vocabulary; Vocabulary(['a']);"
        "print('pandas' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
