"""A finished run opened again: its network, its task, its metrics and its temperature.

The temperature is fitted once on the validation split and kept in `calibration.json`, which says
which weights it belongs to; with other weights it is fitted anew.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import Triplets, with_inverses
from interstellar.errors import DataError, InterstellarError, SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.calibration import (
    TEMPERATURES,
    Reliability,
    draw_queries,
    fit_temperature,
    measure_reliability,
)
from interstellar.evaluation.metrics import AssignmentMetrics, Metrics
from interstellar.evaluation.similarity import Decoding
from interstellar.model.path_network import PathNetwork
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.randomness import spawn
from interstellar.records.json_files import read_json, write_json
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.network import Network, for_many
from interstellar.rivals.notation import read_model
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.training_result import read_training_result
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, edges_of, network_for, task_for

CALIBRATION_FILE, CALIBRATION, VERSION = "calibration.json", "calibration", 1
NO_EMBEDDINGS = (
    "this run is of the model propagation, which has no embeddings of entities, and what is asked "
    "for needs them. Train with the model walks for that."
)
LEAST_QUERIES = 20
"""To fit a temperature on: ten validation triplets, both ways."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """What a run trained, and what it was trained for."""

    experiment: Experiment
    task: Task
    network: Network

    @property
    def path_network(self) -> PathNetwork:
        """The network, where it must be one along walks."""
        if isinstance(self.network, PathNetwork):
            return self.network
        if isinstance(self.network, PropagationNetwork):
            raise SettingsError(NO_EMBEDDINGS)
        raise SettingsError(
            f"this run is of the model {self.experiment.settings.model}, and what is asked for "
            "needs a network along walks. Train with the model walks for that."
        )

    @property
    def subjects(self) -> Tensor:
        """The embeddings of all entities, from which alignments are read."""
        if isinstance(self.network, PropagationNetwork):
            raise SettingsError(NO_EMBEDDINGS)
        return self.network.subjects

    def on(self, graph: KnowledgeGraph) -> "TrainedRun":
        """Return the network for another graph, whose relations have the ids of the run's."""
        if not isinstance(self.network, PropagationNetwork):
            raise SettingsError(
                f"this run is of the model {self.experiment.settings.model}: it has an embedding "
                "of each entity, and none of those of another graph. Train with the model "
                "propagation for that."
            )
        task = LinkPrediction(graph, self.experiment.settings.measured)
        return replace(self, task=task, network=self.network.on(edges_of(task)))

    def measure(
        self,
        split: Split,
        *,
        candidates: Candidates = Candidates.REFERENCE,
        decoding: Decoding = Decoding.COSINE,
        n_negatives: int | None = None,
        seed: int = 0,
    ) -> Metrics | AssignmentMetrics:
        """Return the metrics on a split.

        Candidates and decoding are for alignment; negatives, drawn by the seed, for links.
        """
        task = self.task
        if isinstance(task, EntityAlignment):
            if n_negatives is not None:
                raise SettingsError(
                    "negatives are drawn for the answers of link prediction, and this is a run of "
                    "entity alignment. Leave them out."
                )
            measure = task.measure_matched if decoding.is_one_to_one else task.measure_decoded
            return measure(self.subjects, split, candidates, decoding)
        if decoding is not Decoding.COSINE or candidates is not Candidates.REFERENCE:
            raise SettingsError(
                "decoding and candidates choose among the entities of a second graph, and this is "
                "a run of link prediction. Leave them out."
            )
        if n_negatives is None:
            return task.measure(self.network, split)
        assert isinstance(task, LinkPrediction)
        return task.measure_among(self.network, split, n_negatives, seed=seed)


def open_run(path: Path, device: torch.device) -> TrainedRun:
    """Return the trained network of a finished run."""
    run = RunFolder.open(path)
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is not None:
        raise SettingsError(
            f"{run.path} is the run of a search, which keeps no trained network. Give the folder "
            "`final` in it, if the best was retrained there (`then_train`), or else train with "
            "this run as the architecture."
        )
    if not run.is_finished:
        raise SettingsError(f"{path} has not finished training. Resume it, and then open it.")
    result = read_training_result(run, experiment)
    task = task_for(load_graph(run), experiment.settings.measured)
    architecture = read_model(experiment.architecture)
    network = network_for(task, architecture, replace(experiment.settings, dropout=0.0))
    load_weights(network, run.weights_file, sha256=result["weights_sha256"])
    return TrainedRun(experiment, task, network.to(device))


def load_weights(network: Network, path: Path, *, sha256: object = None) -> None:
    """Set the parameters of a network to those of a file, whose hash may be known."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 is not None and found != sha256:
            raise DataError(
                f"{path} does not have the hash that result.json says: it was cut or altered. "
                "Take it from a copy."
            )
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} cannot be read ({error}). Take it from a copy.") from error
    for name, parameter in network.named_parameters():
        if name not in weights or weights[name].shape != parameter.shape:
            raise DataError(
                f"{path} does not hold {name} of shape {tuple(parameter.shape)}: "
                "it is not the file of this run. Take it from a copy."
            )
        parameter.data.copy_(weights[name])


def find_temperature(
    path: Path, task: LinkPrediction, network: Network, *, is_kept: bool = True
) -> float | None:
    """Return the temperature of a run, from its folder or else fitted, and kept there if it may be.

    None where the graph has too few validation triplets to fit it on: a network that knows the
    answers to one or two would be called certain of everything.
    """
    weights_sha256 = RunFolder.open(path).read_result().get("weights_sha256")
    kept = _read_temperature(path / CALIBRATION_FILE, weights_sha256)
    if kept is not None:
        return kept
    n_entities, rng = task.known.n_entities, spawn(0, "calibration")
    queries = draw_queries(_both_ways(task, Split.VALID), n_entities, rng)
    if len(queries) < LEAST_QUERIES:
        return None
    device = network.device
    found = fit_temperature(for_many(network).logits, queries, task.known, device=device)
    facts = {"temperature": found, "n_queries": len(queries), "weights_sha256": weights_sha256}
    if not is_kept:
        return found
    with suppress(OSError, InterstellarError):  # a folder that may not be written: fit it again
        write_json(path / CALIBRATION_FILE, facts, kind=CALIBRATION, version=VERSION)
    return found


def measure_run_reliability(
    path: Path, task: LinkPrediction, network: Network, split: Split
) -> Reliability:
    """Return how far the probabilities of a run hold on a split."""
    temperature = find_temperature(path, task, network)
    return measure_reliability(
        for_many(network).logits,
        _both_ways(task, split),
        task.known,
        temperature=1.0 if temperature is None else temperature,
        device=network.device,
    )


def _both_ways(task: LinkPrediction, split: Split) -> Triplets:
    return with_inverses(task.graph.split(split), len(task.graph.relations))


def _read_temperature(file: Path, weights_sha256: object) -> float | None:
    """Return what was kept for these weights; None where nothing was, or no fit could give it."""
    try:
        kept = read_json(file, kind=CALIBRATION, version=VERSION)
    except DataError:
        return None
    temperature, (lowest, highest) = kept.get("temperature"), TEMPERATURES
    is_ours = weights_sha256 is not None and kept.get("weights_sha256") == weights_sha256
    if is_ours and isinstance(temperature, float) and 0.9 * lowest <= temperature <= 1.1 * highest:
        return temperature
    return None
