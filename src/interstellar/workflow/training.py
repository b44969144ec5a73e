"""`train`: one architecture on a graph, and a model comes out."""

from typing import Annotated, Any, SupportsIndex, Unpack

import torch

from interstellar.architecture.literature import PTRANSE_MUL, find_propagation
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.propagation import split_choices
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.device import find_device
from interstellar.errors import SettingsError
from interstellar.runs.training_run import train_run
from interstellar.training.settings import ModelKind
from interstellar.training.settings_changes import SettingsChanges, with_changes
from interstellar.workflow.audience import find_audience
from interstellar.workflow.given import (
    GivenArchitecture,
    GivenSettings,
    build_experiment,
    final_settings,
    find_preset,
    read_data,
    read_given_architecture,
    read_given_settings,
    refuse_mute,
    refuse_unknown,
)
from interstellar.workflow.model import Model
from interstellar.workflow.progress import list_quicker, training_bar
from interstellar.workflow.run_place import StrPath, choose_place


class TrainingShortcuts(SettingsChanges, total=False):
    """What `train` takes besides objects: single settings, and how many train."""

    processes: Annotated[
        int, "So many of this machine train together, sharing the entities or the queries."
    ]


def train(
    data: Source | AnyGraph,
    architecture: GivenArchitecture | None = None,
    *,
    preset: str | None = None,
    settings: GivenSettings | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    seed: SupportsIndex = 0,
    device: str | torch.device = "auto",
    progress: bool = True,
    **shortcuts: Unpack[TrainingShortcuts],
) -> Model:
    """Train one architecture.

    Args:
        data: A loaded graph, or anything that `load` takes.
        architecture: A name (TransE, RotatE, NBFNet), a code, a formula, a JSON file, a run, or
            what was found.
            A propagation has the message h ⊙ r where none is given.
        preset: paper, for the published architecture and settings of a set.
        settings: Settings, or the TOML file of those that differ.
        out: Folder of the run; without one it is temporary, and `Model.save` keeps it.
        resume: Go on with the run in `out`, perhaps for more epochs.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        progress: Whether to show it.
        shortcuts: `processes`, and single settings such as `dim=64` or `epochs=20`.
    """
    refuse_unknown(shortcuts, TrainingShortcuts, "train")
    changes: Any = {name: value for name, value in shortcuts.items() if name != "processes"}
    chosen_device, audience = find_device(str(device)), find_audience(is_wanted=progress)
    row = find_preset(preset, data)
    wanted = row.architecture if architecture is None and row is not None else architecture
    if wanted is None and changes.get("model") == ModelKind.PROPAGATION:
        wanted = PTRANSE_MUL  # whose h ⊙ r is the message of NBFNet
    if wanted is None:
        raise SettingsError(
            "no architecture was given. Give one, for instance ComplEx, or the preset paper for a "
            "published set."
        )
    graph = read_data(data, audience)
    code, choices = split_choices(find_propagation(read_given_architecture(wanted)))
    if choices:  # those of a propagation, of which single ones may be changed
        said: Any = {name: value for name, value in changes.items() if value is not None}
        changes = {"model": ModelKind.PROPAGATION} | choices | said
    base = row.settings if row is not None else final_settings(graph, code, changes.get("model"))
    chosen = with_changes(read_given_settings(settings, base), **changes)
    if chosen.propagation is not None:
        refuse_mute(read_architecture(code))
    experiment = build_experiment(graph, architecture=code, seed=seed, settings=chosen)
    place = choose_place(out, is_resumed=resume)
    quicker = list_quicker(chosen, chosen_device)
    with training_bar(chosen.max_epochs, chosen.metric, audience, quicker) as observer:
        train_run(
            experiment,
            place.path,
            device=chosen_device,
            graph=graph,
            resume=resume,
            processes=shortcuts.get("processes", 1),
            observer=observer,
        )
    return Model(place, chosen_device)
