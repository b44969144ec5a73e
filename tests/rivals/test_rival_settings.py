"""Settings of a rival that cannot work are refused with what to do."""

import re
from typing import Any

import pytest

from interstellar.errors import SettingsError
from interstellar.rivals.rival_settings import RivalSettings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"loss": "hinge"}, "loss is 'hinge', but it must be one of softmax"),
        ({"margin": -1.0}, "margin is -1.0"),
        ({"margin": float("nan")}, "margin is nan"),
        ({"margin": True}, "margin is True"),
        ({"layers": 0}, "layers is 0"),
        ({"layers": 2.0}, "layers is 2.0"),
    ],
)
def test_values_that_cannot_work_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        RivalSettings(**given)
