"""What the biased walk can be told."""

import pytest

from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkRule, WalkSettings


def test_presets_are_those_of_the_paper() -> None:
    one, two = WalkSettings.link_prediction(), WalkSettings.alignment()

    assert (one.length, one.depth_bias, one.cross_bias) == (3, 0.7, None)
    assert (two.length, two.depth_bias, two.cross_bias) == (7, 0.9, 0.9)
    assert one.paths_per_triplet == two.paths_per_triplet == 2
    assert one.rule is two.rule is WalkRule.PROGRAM


@pytest.mark.parametrize("length", [0, -1, 2**15 + 1])
def test_an_impossible_length_is_named(length: int) -> None:
    with pytest.raises(SettingsError, match=rf"length is {length}, but .* from 1 to"):
        WalkSettings(length=length, depth_bias=0.7)


def test_no_path_per_triplet_is_refused() -> None:
    with pytest.raises(SettingsError, match="paths_per_triplet is 0"):
        WalkSettings(length=3, depth_bias=0.7, paths_per_triplet=0)


@pytest.mark.parametrize("bias", [0.5, 1.0, 0.0, -3.0, float("nan")])
def test_a_bias_outside_its_range_is_refused(bias: float) -> None:
    with pytest.raises(SettingsError, match=r"depth_bias is .* strictly between 0\.5 and 1"):
        WalkSettings(length=3, depth_bias=bias)
    with pytest.raises(SettingsError, match=r"cross_bias is .* strictly between 0\.5 and 1"):
        WalkSettings(length=3, depth_bias=0.7, cross_bias=bias)
