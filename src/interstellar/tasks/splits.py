"""The splits that networks are measured on."""

from enum import StrEnum


class Split(StrEnum):
    """A part of the data that training never sees."""

    VALID = "valid"
    TEST = "test"
