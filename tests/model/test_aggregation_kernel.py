"""The kernels of propagation compute what the plain path does, also where there is no GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

KERNEL_TESTS = Path(__file__).with_name("interpreted_propagation_kernels.py")
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_every_kernel_computes_what_the_plain_path_does() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(KERNEL_TESTS)]

    done = subprocess.run(
        [*command, "-W", "ignore:overflow encountered in cast:RuntimeWarning"],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
