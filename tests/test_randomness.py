"""One seed, one stream per purpose."""

import pytest

from interstellar.errors import SettingsError
from interstellar.randomness import derive_key, spawn


def test_each_purpose_and_seed_has_its_own_stream() -> None:
    draws = {
        (seed, purpose): tuple(spawn(seed, purpose).integers(0, 2**32, 4))
        for seed in (0, 1)
        for purpose in ("paths", "search")
    }

    assert len(set(draws.values())) == 4
    assert draws[0, "paths"] == tuple(spawn(0, "paths").integers(0, 2**32, 4))


def test_keys_do_not_change_between_versions() -> None:
    assert derive_key(0, "paths") == 7628187875369728264


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingsError, match="negative"):
        spawn(-1, "paths")
