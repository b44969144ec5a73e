"""Text that is printed cannot command a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.printable import printable, printable_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\tb\r\nc\x9b2J", r"a\tb\r\nc\x9b2J"),
        ("photo\u202egpj.exe", r"photo\u202egpj.exe"),
        ("not UTF-8: \udcff", r"not UTF-8: \udcff"),
        ("Łódź می\u200cخواهم 👩\u200d🚀", "Łódź می\u200cخواهم 👩\u200d🚀"),
    ],
)
def test_control_characters_are_shown_and_letters_are_kept(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_and_tabs_are_kept_where_text_has_lines() -> None:
    assert printable_lines("a\tb\n\x1bc\r\n") == "a\tb\n\\x1bc\\r\n"


@given(st.text(st.characters(codec=None)))
def test_whatever_is_shown_is_one_line_that_every_file_can_hold(text: str) -> None:
    shown = printable(text)

    assert len(shown.splitlines()) <= 1
    assert shown.encode() is not None
    assert "\x1b" not in shown
    assert printable(shown) == shown
