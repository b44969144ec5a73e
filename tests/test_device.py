"""Devices by name."""

import pytest
import torch

from interstellar.device import find_device
from interstellar.errors import SettingsError


def test_names_stand_for_devices() -> None:
    assert find_device("CPU") == torch.device("cpu")
    assert find_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "", "cpu:1"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="is unknown"):
        find_device(name)


def test_a_missing_gpu_is_refused() -> None:
    with pytest.raises(SettingsError, match="CUDA devices here"):
        find_device("cuda:63")
