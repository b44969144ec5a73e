"""The kernels compute what their plain counterparts do, also where there is no GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interpreted_kernels", "interpreted_propagation_kernels"])
@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_every_kernel_computes_what_its_plain_counterpart_does(name: str) -> None:
    file = str(Path(__file__).with_name(f"{name}.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]

    done = subprocess.run(
        [*command, "-W", "ignore:overflow encountered in cast:RuntimeWarning"],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
