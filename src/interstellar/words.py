"""Words that a user gives for what the layers below have types for."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from interstellar.errors import SettingsError

Word = TypeVar("Word", bound=StrEnum)


def choose(what: str, text: str, kind: type[Word], among: Iterable[Word] | None = None) -> Word:
    """Return the member that a word stands for, or say which there are."""
    members = list(kind if among is None else among)
    if text not in members:
        raise SettingsError(
            f"{what} {text!r} is unknown. Choose {', '.join(members[:-1])} or {members[-1]}."
        )
    return kind(text)
