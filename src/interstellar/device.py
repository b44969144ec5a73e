"""Which device a computation runs on."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from interstellar.errors import SettingsError

_SIGNS_OF_NO_MEMORY = ("not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


@contextmanager
def mixed_products() -> Iterator[None]:
    """Let CUDA multiply float32 matrices in TF32 here, and add up float16 ones in float32."""
    matmul = torch.backends.cuda.matmul
    before = torch.get_float32_matmul_precision(), matmul.allow_fp16_reduced_precision_reduction
    torch.set_float32_matmul_precision("high")
    matmul.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        matmul.allow_fp16_reduced_precision_reduction = before[1]


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that the memory of the CPU or a GPU is used up."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return any(sign in str(error) for sign in _SIGNS_OF_NO_MEMORY)


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
