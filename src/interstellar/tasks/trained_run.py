"""A finished run opened again: its network, its task, its metrics."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from interstellar.architecture.notation import read_architecture
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.similarity import Decoding
from interstellar.model.path_network import PathNetwork
from interstellar.records.run_folder import RunFolder
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.kept_graph import load_graph
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.experiment import Experiment, read_experiment
from interstellar.training.toml_tables import read_toml


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """What a run trained, and what it was trained for."""

    experiment: Experiment
    task: Task
    network: PathNetwork

    def measure(
        self,
        split: Split,
        *,
        candidates: Candidates = Candidates.REFERENCE,
        decoding: Decoding = Decoding.COSINE,
    ) -> Metrics:
        """Return the metrics on a split; candidates and decoding are for alignment."""
        if isinstance(self.task, EntityAlignment):
            return self.task.measure_decoded(self.network.subjects, split, candidates, decoding)
        if decoding is not Decoding.COSINE or candidates is not Candidates.REFERENCE:
            raise SettingsError(
                "--decode and --candidates choose among the entities of a second graph, and this "
                "is a run of link prediction. Leave them out."
            )
        return self.task.measure(self.network, split)


def open_run(path: Path, device: torch.device) -> TrainedRun:
    """Return the trained network of a finished run."""
    run = RunFolder.open(path)
    if not run.is_finished:
        raise SettingsError(
            f"{path} has not finished training. Go on with `interstellar train … --resume`."
        )
    refuse_search(run)
    experiment = read_experiment(run.experiment_file)
    refuse_other_architecture(run, experiment)
    task = task_for(load_graph(run))
    network = build_network(
        task, read_architecture(experiment.architecture), dim=experiment.settings.dim, dropout=0.0
    )
    load_weights(network, run.weights_file, sha256=run.read_result().get("weights_sha256"))
    return TrainedRun(experiment, task, network.to(device))


def refuse_other_architecture(run: RunFolder, experiment: Experiment) -> None:
    """Raise where the experiment names another network than the one that was trained."""
    trained = run.read_result().get("architecture", experiment.architecture)
    if read_architecture(str(trained)) != read_architecture(experiment.architecture):
        raise DataError(
            f"{run.experiment_file} names the architecture {experiment.architecture}, but "
            f"{trained} was trained. The file was altered. Take it from a copy."
        )


def refuse_search(run: RunFolder) -> None:
    """Raise where a run is a search, which holds no trained network itself."""
    if "search" in read_toml(run.experiment_file):
        raise SettingsError(
            f"{run.path} is the run of a search, which keeps no trained network. Train its winner: "
            "go on with --resume --then-train and give RUN/final, or train with --architecture RUN."
        )


def load_weights(network: PathNetwork, path: Path, *, sha256: object = None) -> None:
    """Set the parameters of a network to those of a file, whose hash may be known."""
    try:
        content = path.read_bytes()
        if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
            raise DataError(
                f"{path} does not have the hash that result.json says: it was cut or altered. "
                "Take it from a copy."
            )
        weights = load(content)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} cannot be read ({error}). Take it from a copy.") from error
    for name, parameter in network.named_parameters():
        if name not in weights or weights[name].shape != parameter.shape:
            raise DataError(
                f"{path} does not hold {name} of shape {tuple(parameter.shape)}: "
                "it is not the file of this run. Take it from a copy."
            )
        parameter.data.copy_(weights[name])
