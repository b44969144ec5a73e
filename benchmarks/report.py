"""Files of figures, with what they were measured on."""

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import torch


def write_report(
    path: Path | None, facts: Mapping[str, object], *, device: torch.device | None = None
) -> None:
    """Write facts, and the machine unless they say it, as one JSON object; None writes nothing."""
    if path is not None:
        whole = {**facts, **describe_machine(device), **facts}  # what the facts say counts
        path.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


def print_figures(figures: Mapping[str, object], path: Path | None) -> None:
    """Print figures, and add them as a line to a file of several measurements."""
    print(json.dumps(figures, indent=1))
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")


def describe_machine(device: torch.device | None = None) -> dict[str, object]:
    """Return what decides how fast something is; the CPU unless another device is given."""
    is_cuda = device is not None and device.type == "cuda"
    name = torch.cuda.get_device_name(device) if is_cuda else platform.processor()
    packages = ("torch", "numpy", "pyarrow")
    return {
        "machine": name or platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "versions": {package: version(package) for package in packages},
    }
