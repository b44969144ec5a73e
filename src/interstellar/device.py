"""Which device a computation runs on."""

import torch

from interstellar.errors import SettingsError


def find_device(text: str) -> torch.device:
    """Return the device that `auto`, `cpu`, `cuda` or `cuda:i` stands for on this machine."""
    name = text.strip().lower()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, colon, number = name.partition(":")
    is_known = name == "cpu" or (kind == "cuda" and (not colon or number.isdecimal()))
    if not is_known:
        raise SettingsError(f"device {text!r} is unknown. Choose auto, cpu, cuda or cuda:i.")
    n_gpus = torch.cuda.device_count() if kind == "cuda" else 0
    if kind == "cuda" and int(number or 0) >= n_gpus:
        raise SettingsError(
            f"device {text!r} was asked for, but torch sees {n_gpus} CUDA devices here. "
            "Choose cpu or auto, or install a torch build for your GPU."
        )
    return torch.device(name)
