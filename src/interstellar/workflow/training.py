"""`train`: one architecture on a graph, and a model comes out."""

import os

from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.data.splitting import Split
from interstellar.device import find_device
from interstellar.errors import SettingsError
from interstellar.tasks.training_run import train_run
from interstellar.training.settings import Precision, with_changes
from interstellar.workflow.audience import find_audience
from interstellar.workflow.given_data import read_data
from interstellar.workflow.given_settings import (
    GivenArchitecture,
    GivenSettings,
    find_preset,
    read_given_architecture,
    read_given_settings,
)
from interstellar.workflow.model import Model
from interstellar.workflow.progress import training_bar
from interstellar.workflow.run_place import choose_place
from interstellar.workflow.words import choose


def train(
    data: Source | AnyGraph,
    architecture: GivenArchitecture | None = None,
    *,
    preset: str | None = None,
    settings: GivenSettings | None = None,
    dim: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    dropout: float | None = None,
    epochs: int | None = None,
    precision: str | None = None,
    negatives: int | None = None,
    second: Source | None = None,
    pairs: str | os.PathLike[str] | None = None,
    split: Split | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    device: str = "auto",
    progress: bool = True,
) -> Model:
    """Train one architecture.

    Args:
        data: A loaded graph, or anything that `load` takes.
        architecture: A name (TransE), a code, a formula, a JSON file, a run, or what was found.
        preset: paper, for the published architecture and settings of a set.
        settings: Settings, or the TOML file of those that differ.
        dim: Numbers in an embedding.
        batch_size: Paths in a step.
        learning_rate: Of Adam, at first.
        dropout: Share of outputs zeroed.
        epochs: At most so many.
        precision: auto, float32 or mixed.
        negatives: Sampled softmax with so many; else the full one.
        second: The second graph of an alignment.
        pairs: The file of entity pairs known between the two.
        split: Shares to hold out of data without splits, as in 90/5/5.
        out: Folder of the run; without one it is temporary, and `Model.save` keeps it.
        resume: Go on with the run in `out`.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        progress: Whether to show it.
    """
    chosen_device, audience = find_device(device), find_audience(is_wanted=progress)
    row = find_preset(preset, data)
    if architecture is None and row is None:
        raise SettingsError(
            "no architecture was given. Give one, for instance ComplEx, or the preset paper for a "
            "published set."
        )
    given = read_data(data, second=second, pairs=pairs, split=split, audience=audience)
    chosen = with_changes(
        read_given_settings(settings, given.final_settings() if row is None else row.settings),
        dim=dim,
        batch_size=batch_size,
        learning_rate=learning_rate,
        dropout=dropout,
        max_epochs=epochs,
        precision=None if precision is None else choose("precision", precision, Precision),
        n_negatives=negatives,
    )
    wanted = row.architecture if architecture is None and row is not None else architecture
    assert wanted is not None
    experiment = given.experiment(
        architecture=read_given_architecture(wanted), seed=seed, settings=chosen
    )
    place = choose_place(out, is_resumed=resume)
    with training_bar(chosen.max_epochs, chosen.selection, audience) as (on_step, on_epoch):
        train_run(
            experiment,
            place.path,
            device=chosen_device,
            graph=given.graph,
            is_resumed=resume,
            on_step=on_step,
            on_epoch=on_epoch,
        )
    return Model(place, chosen_device)
