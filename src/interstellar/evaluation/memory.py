"""How much memory a decoding may take."""

from pathlib import Path

import torch

from interstellar.evaluation.chunks import free_cuda_bytes

SHARE = 2
"""A decoding takes at most this part of the free memory: others work here too."""
UNKNOWN_BYTES = 2**32
"""What is taken to be free where the system does not say."""

NO_LIMIT = 2**63

_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def usable_bytes(device: torch.device) -> int:
    """Return how much memory of a device one decoding may take."""
    free = free_cuda_bytes(device) if device.type == "cuda" else free_host_bytes()
    return free // SHARE


def free_host_bytes() -> int:
    """Return what this process can still take of the host's memory, as far as one can tell."""
    return min(_free_in_system(), _free_in_group())


def _free_in_system() -> int:
    try:
        return 1024 * _number_after("MemAvailable:", _SYSTEM)
    except (OSError, ValueError):  # not Linux
        return UNKNOWN_BYTES


def _free_in_group() -> int:
    """Return what a container's limit leaves; what it keeps of files can be dropped."""
    try:
        limit = int((_GROUP / "memory.max").read_text())
        used = int((_GROUP / "memory.current").read_text())
        of_files = _number_after("inactive_file", _GROUP / "memory.stat")
    except (OSError, ValueError):  # no group, or no limit: "max"
        return NO_LIMIT
    return max(0, limit - used + of_files)


def _number_after(word: str, path: Path) -> int:
    """Return the number in the line that begins with a word.

    Raises:
        ValueError: There is no such line.
    """
    for line in path.read_text().splitlines():
        if line.startswith(word):
            return int(line.split()[1])
    raise ValueError(word)
