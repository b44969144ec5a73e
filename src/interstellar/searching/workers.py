"""Where the trials of a search run: in this process, in several, or on a Ray cluster."""

from dataclasses import dataclass
from pathlib import Path

import torch

from interstellar.engine.engine import Engine, ThisProcess
from interstellar.engine.local_processes import LocalProcesses
from interstellar.engine.ray_cluster import RayCluster
from interstellar.runs.experiment import Experiment
from interstellar.searching.far_judge import CarryingStates, build_far_workbench
from interstellar.searching.judge import TRIALS, Judge, build_workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where trials run."""

    device: torch.device
    n: int = 1
    """Processes; 1: this one. On CUDA they are spread over the cards, on the CPU over the cores."""
    cluster: RayCluster | None = None
    """Where they are, if not on this machine."""

    def devices(self) -> list[str]:
        if str(self.device) != "cuda":
            return [str(self.device)] * self.n
        return [f"cuda:{i % torch.cuda.device_count()}" for i in range(self.n)]

    @property
    def n_apart(self) -> int:
        """How many do not slow each other down: one for a card, or for a core."""
        if self.device.type == "cpu":
            return self.n
        return len(set(self.devices())) if self.cluster is None else self.cluster.n_gpus

    def open_engine(
        self, judge: Judge, experiment: Experiment, run: Path, n_trials: int | None
    ) -> Engine:
        """Return the engine of a search in the folder `run`, which has a judge in this process."""
        if self.cluster is not None:
            from interstellar.engine.ray_tasks import RayTasks  # noqa: PLC0415

            told = {"experiment": experiment, "graph": judge.task.graph}
            device, n = str(self.device), min(self.n, n_trials or self.n)
            tasks = RayTasks(build_far_workbench, told, self.cluster, device=device, n_workers=n)
            return CarryingStates(tasks, run / TRIALS)
        if self.n > 1:
            return LocalProcesses(build_workbench, {"run": str(run)}, self.devices(), n_trials)
        return ThisProcess(judge.do)
