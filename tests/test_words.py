"""Words that stand for members of enumerations."""

import pytest

from interstellar.errors import SettingsError
from interstellar.training.settings import Metric, Precision
from interstellar.words import choose


def test_a_word_is_the_member_of_that_name() -> None:
    assert choose("precision", "float32", Precision) is Precision.FLOAT32
    assert choose("select", "hits@1", Metric) is Metric.HITS_AT_1


def test_what_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(SettingsError, match=r"'half' is unknown\. Choose auto, float32 or"):
        choose("precision", "half", Precision)


def test_members_that_do_not_belong_here_are_refused_too() -> None:
    with pytest.raises(SettingsError, match="Choose auto or mixed"):
        choose("precision", "float32", Precision, [Precision.AUTO, Precision.MIXED])
