"""What follows a search: its winner as a trained network, in a run of its own.

Where the winner's trial was trained to its end, its state is taken over and nothing is trained
again.
"""

from dataclasses import replace
from pathlib import Path

import torch

from interstellar.architecture.notation import read_architecture
from interstellar.data.graph import AnyGraph
from interstellar.errors import DataError, SettingsError
from interstellar.model.joined_network import join
from interstellar.model.path_network import PathNetwork
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.notation import model_text, read_noted
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.run import Result
from interstellar.runs.training_run import store_run, train_run
from interstellar.searching.finalists import list_finalists
from interstellar.searching.judge import TRIALS, checkpoint_file, without_trial
from interstellar.searching.search_journal import FINAL, trials_of, winner_of
from interstellar.searching.trial import Trial
from interstellar.searching.tried_network import formula_of, network_of, own_choices
from interstellar.searching.workers import Workers
from interstellar.tasks.splits import Split
from interstellar.tasks.task import build_network, task_for
from interstellar.training.checkpoints import Checkpoint, load_checkpoint
from interstellar.training.loop import Observer
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import replace_settings


def train_winner(
    search: Experiment,
    out: Path,
    *,
    settings: TrainingSettings | None = None,
    workers: Workers,
    is_over: bool = False,
    ensemble: bool = False,
    observer: Observer | None = None,
) -> Result:
    """Return the winner of a search as a trained run; of several seeds the best on validation.

    With `settings` of its own it is trained with those instead of its trial's. Where the time
    `is_over`, it has the epochs that its trial has had. An `ensemble` of its seeds is taken where
    that is better on validation.
    """
    run = RunFolder.open(out)
    winner = best_run(run) if settings is None else winner_of(run)
    graph = load_graph(run)
    own = tuned_settings(search.settings, winner)
    if is_over and not winner.result.is_complete:
        own = replace(own, max_epochs=max(1, winner.result.epochs))
    experiment = replace(
        search,
        architecture=model_text(winner.architecture),
        settings=settings or own,
        seed=search.seed if winner.seed is None else winner.seed,
        plan=None,
    )
    joined = join_seeds(run, experiment, graph, workers.device) if ensemble else None
    if joined is not None:
        experiment = replace(experiment, settings=replace(own, dim=joined.size.dim))
    refuse_earlier_winner(out / FINAL, experiment)
    if joined is not None:
        parameters = {name: p.detach() for name, p in joined.named_parameters()}
        epochs, device = winner.result.best_epoch, workers.device
        return store_run(
            experiment, out / FINAL, parameters, device=device, graph=graph, epochs=epochs
        )
    return train_run(
        experiment,
        out / FINAL,
        device=workers.device,
        graph=graph,
        state=None if settings is not None else read_state(out / TRIALS, winner),
        resume=True,
        observer=observer,
    )


def join_seeds(
    run: RunFolder, experiment: Experiment, graph: AnyGraph, device: torch.device
) -> PathNetwork | None:
    """Return the winner's networks of its best seeds as one; None: the best is no worse alone."""
    task, architecture = task_for(graph), read_architecture(experiment.architecture)
    settings, networks = experiment.settings, []
    finalist = next(iter(list_finalists(trials_of(run))), None)
    for trial in () if finalist is None else finalist.runs.values():
        state = read_state(run.path / TRIALS, trial)
        if state is not None:
            network = build_network(task, architecture, dim=settings.dim, dropout=settings.dropout)
            for name, parameter in network.named_parameters():
                parameter.data.copy_(state.tensors[f"best.{name}"])
            networks.append(network.to(device))

    def score(network: PathNetwork) -> float:
        return task.measure(network, Split.VALID).as_dict()[settings.metric]

    networks.sort(key=score, reverse=True)
    several = [join(architecture, networks[:n]).to(device) for n in range(2, len(networks) + 1)]
    best = max([*networks[:1], *several], key=score, default=None)
    return best if best in several else None


def best_run(run: RunFolder) -> Trial:
    """Return the winner of a search, of its repetitions the one that is best on validation."""
    finalists = list_finalists(trials_of(run))
    return finalists[0].best_run if finalists else winner_of(run)


def read_state(folder: Path, trial: Trial) -> Checkpoint | None:
    """Return where a trial left off; None: that is not known any more."""
    try:
        return without_trial(load_checkpoint(checkpoint_file(folder, trial.number)))
    except DataError:
        return None


def refuse_earlier_winner(folder: Path, now: Experiment) -> None:
    """Raise where the winner was another when its training was begun."""
    if not folder.exists():
        return
    before = read_experiment(RunFolder.open(folder).experiment_file)
    architectures = [read_noted(e.architecture) for e in (before, now)]
    if architectures[0] == architectures[1] and before.settings == now.settings:
        return
    formulas = [
        formula_of(network_of(architecture, own_choices(e.settings)))
        for architecture, e in zip(architectures, (before, now), strict=True)
    ]
    raise SettingsError(
        f"{folder} is of {formulas[0]}, which was the best when it was begun, and now that is "
        f"{formulas[1]}, or its settings have changed. Move that folder away, and resume."
    )


def tuned_settings(settings: TrainingSettings, tuned: Trial) -> TrainingSettings:
    """Return settings with the changes that a search or a tuning found best."""
    return replace_settings(settings, tuned.settings)
