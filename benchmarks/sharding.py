"""What one process holds at most where several train one network, and how long a step takes.

Usage: python benchmarks/sharding.py [PROCESSES …] [--entities N] [--dim D] [--json FILE]

Each number of processes has a run of its own, on the CPU, from the first step to the last file:
link prediction along single triplets, so that the table of entities is what counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

N_TRIPLETS, BATCH, N_HELD_OUT = 512, 64, 32
FEW_ENTITIES = 1000
"""Whose table is next to nothing: what remains is what Python and torch take."""


def train(n_processes: int, n_entities: int, dim: int, out: Path) -> None:
    """Train such a network for two epochs."""
    import numpy as np  # noqa: PLC0415 (the program that measures needs none of it)
    import torch  # noqa: PLC0415

    from interstellar.data.graph import KnowledgeGraph  # noqa: PLC0415
    from interstellar.data.vocabulary import Vocabulary  # noqa: PLC0415
    from interstellar.runs.experiment import Experiment  # noqa: PLC0415
    from interstellar.runs.training_run import train_run  # noqa: PLC0415
    from interstellar.training.presets import LINK_PREDICTION  # noqa: PLC0415
    from interstellar.training.settings import Optimizer  # noqa: PLC0415

    n_rows = N_TRIPLETS + 2 * N_HELD_OUT
    rng = np.random.default_rng(0)
    triplets = rng.integers(n_entities, size=(n_rows, 3), dtype=np.int32)
    triplets[:, 1] %= 10
    known, valid, test = np.split(triplets, [N_TRIPLETS, N_TRIPLETS + N_HELD_OUT])
    graph = KnowledgeGraph(
        name="random",
        entities=Vocabulary([str(i) for i in range(n_entities)]),
        relations=Vocabulary([str(i) for i in range(10)]),
        train=known,
        valid=valid,
        test=test,
    )
    settings = replace(
        LINK_PREDICTION,
        walk=replace(LINK_PREDICTION.walk, length=1, paths_per_triplet=1),
        dim=dim,
        batch_size=BATCH,
        optimizer=Optimizer.ADAGRAD,
        max_epochs=2,
        validate_every=1,
    )
    experiment = Experiment(data="random", architecture="ComplEx", seed=0, settings=settings)
    device = torch.device("cpu")
    train_run(experiment, out, device=device, graph=graph, processes=n_processes)


def measure(n_processes: int, n_entities: int, dim: int) -> dict[str, object]:
    """Return what every process of a training held at most, in MiB, and the time of a step."""
    with tempfile.TemporaryDirectory() as folder:
        command = [__file__, "--train", str(n_processes), str(n_entities), str(dim), folder]
        process = subprocess.Popen([sys.executable, *command])
        peaks: dict[int, int] = {}
        while process.poll() is None:
            peaks |= read_peaks(process.pid)
            time.sleep(0.02)
        result = json.loads((Path(folder) / "run" / "result.json").read_text())
    at_most = [kib // 1024 for kib in peaks.values()]
    return {"processes": n_processes, "peak_mib": at_most, "step_ms": result["step_ms"]}


def read_peaks(pid: int) -> dict[int, int]:
    """Return what a process and those it started held at most, in KiB."""
    found: dict[int, int] = {}
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for each in (pid, *map(int, children.read_text().split() if children.exists() else ())):
        try:
            lines = Path(f"/proc/{each}/status").read_text().splitlines()
            command = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if each != pid and b"team_member" not in command:  # git, asked for the commit
            continue
        at_most = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
        if at_most:  # else it is ending
            found[each] = at_most[0]
    return found


def main() -> None:
    """Measure, and print it."""
    if sys.argv[1:2] == ["--train"]:
        n_processes, n_entities, dim = map(int, sys.argv[2:5])
        train(n_processes, n_entities, dim, Path(sys.argv[5]) / "run")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    table_mib = asked.entities * 2 * asked.dim * 4 / 2**20
    said = {
        "entities": asked.entities,
        "dim": asked.dim,
        "table_mib": table_mib,
        "found": [measure(n, asked.entities, asked.dim) for n in asked.processes],
        "with_few_entities": [measure(n, FEW_ENTITIES, asked.dim) for n in asked.processes],
    }
    print(json.dumps(said, indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
