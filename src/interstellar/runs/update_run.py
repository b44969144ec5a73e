"""A finished run takes in new facts: training goes on from its weights on the grown graph.

A propagation has no vectors of entities, so its weights are as good for the grown graph, and it is
trained on only where epochs are asked for.

The rows of old names are copied, those of new ones drawn as at the beginning of any training.
The epochs are a fixed number, and the last one is kept: the validation triplets are those of the
old run, so the epoch that is best for them may be one in which new entities have learnt nothing.
"""

from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_pairs
from interstellar.data.formats.one_graph import is_named
from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.loading import Source, settle
from interstellar.data.triplets import OBJECT, SUBJECT
from interstellar.errors import DataError, SettingsError
from interstellar.paths.walk_graph import WalkGraph
from interstellar.records.json_files import to_plain
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.notation import read_model
from interstellar.runs.experiment import Continued, Experiment
from interstellar.runs.grown_graph import (
    GrownGraph,
    Growth,
    Side,
    add_pairs,
    grow_graph,
    grow_pair,
    read_added,
)
from interstellar.runs.kept_graph import graph_sha256
from interstellar.runs.run import Result
from interstellar.runs.trained_run import TrainedRun, open_run
from interstellar.runs.training_run import store_run, train_run
from interstellar.tasks.task import network_for, task_for
from interstellar.training.loop import Observer, torch_seed
from interstellar.training.settings import TrainingSettings

EPOCHS = 10
"""Unless said otherwise; `docs/update.md` has what more and fewer gave."""
MOST_LISTED = 1_000
"""Names of entities without triplets that a result lists; all of them are counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Update:
    """A training that goes on from a run, ready to begin."""

    experiment: Experiment
    graph: AnyGraph
    initial: dict[str, Tensor]
    growth: Growth
    n_epochs_before: int | None
    """Epochs of the run whose weights are kept as they are; None: they are trained on."""
    untrained_entities: int
    """Entities of the grown graph that no training triplet names: their embeddings mean nothing."""
    notes: tuple[str, ...]
    """What a reader should know of how the added triplets were taken."""

    def as_record(self) -> dict[str, object]:
        """Return what the result says of it."""
        assert self.experiment.continued is not None
        names = self.growth.without_triplets
        return {
            "run": self.experiment.continued.run,
            "weights_sha256": self.experiment.continued.weights_sha256,
            **asdict(self.growth),
            "without_triplets": names[:MOST_LISTED],
            "n_without_triplets": len(names),
            "untrained_entities": self.untrained_entities,
        }


def plan_update(
    path: Path,
    added: Source,
    *,
    side: Side | None = None,
    pairs: Path | None = None,
    epochs: int | None = None,
    learning_rate: float | None = None,
) -> Update:
    """Read everything that an update of a finished run needs; nothing is written.

    `added` has any form that `load` reads. `side`, the graph that grows (the first unless said),
    and `pairs`, a file of new seeds, are for alignment. The learning rate is the run's unless said.
    """
    trained = open_run(path, torch.device("cpu"))
    findings = Findings()
    facts = read_added(added, findings)
    findings.raise_faults()
    assert facts is not None, "what could not be read leaves a fault"
    grown = grow(trained, facts, side, pairs, path, findings)
    findings.raise_faults()
    growth = grown.growth
    if growth.is_empty:
        raise DataError(
            f"{name_source(added)} holds nothing new: {growth.known:,} of its triplets are known "
            f"in training and {growth.held_out:,} are held out for evaluation, where they stay. "
            "The run is up to date; give triplets that it has not seen."
        )
    continued = Continued(
        run=str(path.resolve()),
        weights_sha256=str(RunFolder.open(path).read_result()["weights_sha256"]),
        added=name_source(added),
        side=str(side or Side.FIRST) if isinstance(grown.graph, GraphPair) else None,
        pairs=None if pairs is None else settle(str(pairs)),
        graph_sha256=graph_sha256(grown.graph),
    )
    settings, n_epochs_before = trained.experiment.settings, None
    if settings.propagation is not None and epochs is None and learning_rate is None:
        refuse_relations(growth, added)
        n_epochs_before = int(str(RunFolder.open(path).read_result()["best_epoch"]))
    else:
        settings = settings_of(settings, epochs, learning_rate)
    return Update(
        experiment=replace(trained.experiment, settings=settings, continued=continued),
        graph=grown.graph,
        initial=initial_parameters(trained, grown),
        growth=growth,
        n_epochs_before=n_epochs_before,
        untrained_entities=count_untrained(grown.graph),
        notes=tuple(findings.notes),
    )


def update_run(
    update: Update,
    out: Path,
    *,
    device: torch.device,
    resume: bool = False,
    observer: Observer | None = None,
) -> Result:
    """Train what was planned, in a run folder of its own, and return its result.

    `out` does not exist yet, or is with `resume` the folder of the same update; a finished one
    just gives its result.
    """
    experiment, graph, initial = update.experiment, update.graph, update.initial
    if update.n_epochs_before is None:
        result = train_run(
            experiment,
            out,
            device=device,
            graph=graph,
            initial=initial,
            resume=resume,
            observer=observer,
        )
    else:
        epochs = update.n_epochs_before
        result = store_run(experiment, out, initial, device=device, graph=graph, epochs=epochs)
    run, record = RunFolder.open(out), to_plain(update.as_record())
    if result.get("continued_from") != record:  # killed before it was said, or altered
        with run.writing():
            run.write_result(result | {"continued_from": record})
    return run.read_result()


def grow(
    trained: TrainedRun,
    facts: Graph,
    side: Side | None,
    pairs: Path | None,
    path: Path,
    findings: Findings,
) -> GrownGraph:
    """Return the graph of a run with the added triplets and pairs."""
    graph = trained.task.graph
    if isinstance(graph, KnowledgeGraph):
        if side is not None or pairs is not None:
            raise SettingsError(
                f"{path} is a run of link prediction, which has one graph, and `graph` and "
                "`pairs` are for two. Leave them out."
            )
        return grow_graph(graph, facts, findings)
    grown = grow_pair(graph, facts, side or Side.FIRST, findings)
    return grown if pairs is None else add_pairs(grown, read_pairs(pairs, findings), findings)


def refuse_relations(growth: Growth, added: Source) -> None:
    """Raise where relations are new, of which weights that are kept know nothing."""
    if growth.new_relations:
        raise DataError(
            f"{name_source(added)} has {growth.new_relations:,} relations that the run does not "
            "know, and these must be learnt. Say for how many epochs."
        )


def settings_of(
    settings: TrainingSettings, epochs: int | None, learning_rate: float | None
) -> TrainingSettings:
    """Return the settings of a run for going on: so many epochs, the last of which is kept."""
    n_epochs = EPOCHS if epochs is None else epochs
    return replace(
        settings,
        max_epochs=n_epochs,
        validate_every=n_epochs,
        patience=0,
        learning_rate=settings.learning_rate if learning_rate is None else learning_rate,
    )


def initial_parameters(trained: TrainedRun, grown: GrownGraph) -> dict[str, Tensor]:
    """Return the parameters of a run for the grown graph, rows of new names drawn at random."""
    experiment, task = trained.experiment, task_for(grown.graph)
    network = network_for(task, read_model(experiment.architecture), experiment.settings)
    seed = torch_seed(experiment.seed, "rows of new names")
    network.initialise(torch.Generator().manual_seed(seed))
    inverses = grown.relation_ids + network.size.n_relations
    relation_ids = np.concatenate([grown.relation_ids, inverses])
    parameters = {name: p.detach() for name, p in network.named_parameters()}
    for name, old in trained.network.named_parameters():
        match name.split("."):
            case ["entities" | "one_way_subjects" | "next_entities" | "entity_bias"]:
                parameters[name][grown.entity_ids] = old.detach()
            case ["relations" | "queries" | "next_relations" | "relation_bias"] | [
                "layers",
                _,
                "relations",
                _,
            ]:
                parameters[name][relation_ids] = old.detach()
            case _ if old.shape != parameters[name].shape:
                raise SettingsError(
                    f"{network.formula} has {name} of shape {tuple(old.shape)} for the graph of "
                    "the run, and names cannot be added to that. Train anew on the whole graph."
                )
            case _:
                parameters[name].copy_(old.detach())
    return parameters


def count_untrained(graph: AnyGraph) -> int:
    """Return how many entities no triplet names that training sees."""
    walks = WalkGraph.of(graph)
    return int((~is_named(walks.forward, (SUBJECT, OBJECT), walks.n_entities)).sum())


def name_source(source: Source) -> str:
    """Return a name or a settled path as it is, and of other sources what they are."""
    if isinstance(source, str | PathLike):
        return settle(str(source))
    return f"<{type(source).__name__}>"
