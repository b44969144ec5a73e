"""Programs of their own that tests start, slow down and end."""

import os
import subprocess
import sys

SLOW_PROGRAM = """
import sys, time
from interstellar.runs import training_run
from interstellar.training.step import TrainingStep
from interstellar.cli.app import main

training_run.CHECKPOINT_SECONDS = 0.0
compute = TrainingStep.compute

def compute_slowly(step):
    compute(step)
    print("step", flush=True)
    time.sleep(0.01)

TrainingStep.compute = compute_slowly
main(sys.argv[1:])
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a program in Python, with pipes from what it says."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_slow(n_steps: int, *arguments: object) -> subprocess.Popen[str]:
    """Return a command that has done so many steps of training, and has time for no more."""
    process = start(SLOW_PROGRAM, *arguments)
    assert process.stdout is not None
    for _ in range(n_steps):
        assert process.stdout.readline() == "step\n"
    return process
