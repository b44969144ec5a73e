"""Products in full float32, whatever faster precision training has switched on.

TF32 keeps 10 bits of a mantissa. A logit that is off by one part in a thousand changes places
with its neighbours, and the ranks of a close field become noise.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def exact_products(device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices in float32 within this context, and restore the settings after.

    Switches off TF32 (CUDA), its bfloat16 counterpart (CPU) and autocast on the device.
    """
    general, per_backend = _general_precision(), [b.fp32_precision for b in _backends()]
    # The general setting, not the one of each backend: code that reads it, as torch.compile
    # does, raises an error where the two disagree.
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        if general is not None:
            torch.set_float32_matmul_precision(general)
        for backend, precision in zip(_backends(), per_backend, strict=True):
            backend.fp32_precision = precision


def _general_precision() -> str | None:
    """Return the precision of all products, None where backends were set apart."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _backends() -> list[Any]:
    """Return the backends whose precision can be set on its own: none before torch 2.9."""
    owners: list[Any] = [torch.backends.cuda, torch.backends.mkldnn]
    backends = [getattr(owner, "matmul", None) for owner in owners]
    return [backend for backend in backends if hasattr(backend, "fp32_precision")]
