"""The settings of a training as a user changes them, one by one."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, TypedDict, Unpack

from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    LeftOut,
    RelationVectors,
    Update,
)
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.rivals.rival_settings import HAVE_NO_MARGIN, RivalLoss
from interstellar.training.settings import CHOICES, ModelKind, TrainingSettings
from interstellar.words import choose

_FIELDS = {"epochs": "max_epochs", "negatives": "n_negatives"}
PROPAGATION_CHOICES: tuple[tuple[str, type[StrEnum]], ...] = (
    ("aggregation", Aggregation),
    ("attention", Attention),
    ("relations", RelationVectors),
    ("update", Update),
    ("left_out", LeftOut),
)
PROPAGATION_FIELDS = ("depth", "nodes", *(name for name, _ in PROPAGATION_CHOICES))
"""Those that can be changed one by one."""
RIVAL_FIELDS = ("loss", "margin", "layers")


class SettingsChanges(TypedDict, total=False):
    """The settings that can be changed one by one, each with its help; None: as it was."""

    model: Annotated[
        str | None,
        "walks (sampled paths) or propagation (all paths at once). [default: walks; a search with "
        "a limit of time compares the two first]",
    ]
    dim: Annotated[int | None, "Numbers in an embedding."]
    batch_size: Annotated[int | None, "Paths in a step of the optimizer."]
    learning_rate: Annotated[float | None, "Of the optimizer, in the first epoch."]
    optimizer: Annotated[str | None, "adam or adagrad."]
    lr_decay: Annotated[float | None, "The rate is multiplied by this after every epoch."]
    weight_decay: Annotated[float | None, "Coupled weight decay, at the paper's scale."]
    n3: Annotated[float | None, "Weight of the regulariser N3; 0: none."]
    label_smoothing: Annotated[float | None, "Share of the target that all entities have alike."]
    relation_prediction: Annotated[float | None, "Weight of a loss of the relation of (s, ?, o)."]
    max_norm: Annotated[
        float | None, "Cut entity embeddings to this length in link prediction; 0: none."
    ]
    dropout: Annotated[float | None, "Share of outputs (propagation: edges) left out."]
    epochs: Annotated[int | None, "Train this many epochs at most."]
    patience: Annotated[int | None, "Stop after this many validations without gain; 0: never."]
    metric: Annotated[str | None, "What decides on validation: hits@1, mrr or auc_pr."]
    precision: Annotated[str | None, "auto, float32 or mixed."]
    path_length: Annotated[int | None, "Triplets in a path; 1: single triplets."]
    negatives: Annotated[int | None, "Sample this many wrong answers a step; otherwise take all."]
    paths_per_epoch: Annotated[int | None, "Train on so many paths an epoch, drawn anew for each."]
    measured: Annotated[int | None, "Rank at most so many held-out triplets or pairs; else all."]
    depth: Annotated[int | None, "Layers of a propagation, 1 to 8."]
    aggregation: Annotated[str | None, "Of messages in a propagation: sum, mean, max or pna."]
    attention: Annotated[str | None, "What weighs messages of a propagation: none or query."]
    relations: Annotated[str | None, "Relation vectors of a propagation: own or query."]
    update: Annotated[str | None, "Of states in a propagation: residual or gate."]
    left_out: Annotated[
        str | None, "Edges left out while they are asked for in training: triplets or between."
    ]
    nodes: Annotated[
        int | None, "Nodes that a query of a propagation keeps after each layer; else all."
    ]
    loss: Annotated[str | None, "Of a rival: softmax, self-adversarial, margin, limit or hard."]
    margin: Annotated[float | None, "γ of a rival's loss."]
    layers: Annotated[int | None, "Of a rival that has layers."]


def with_changes(
    settings: TrainingSettings, **changes: Unpack[SettingsChanges]
) -> TrainingSettings:
    """Return the settings with single values changed; None leaves a value as it is."""
    model = changes.pop("model", None)
    if model is not None and choose("model", model, ModelKind) is not settings.model:
        raise SettingsError(
            f"the model is {model}, but these settings are for {settings.model}. Choose that "
            "model, or leave the settings out."
        )
    given: dict[str, Any] = {
        _FIELDS.get(name, name): value.item() if hasattr(value, "item") else value
        for name, value in changes.items()
        if value is not None
    }
    for name, kind in CHOICES:
        if name in given:
            given[name] = choose(name, given[name], kind)
    if given.get("max_norm") == 0:
        given["max_norm"] = None
    return replace_settings(settings, given)


def replace_settings(settings: TrainingSettings, changes: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings with fields changed, also those of paths, propagations and rivals."""
    given = dict(changes)
    of_propagation = {name: given.pop(name) for name in changes if name in PROPAGATION_FIELDS}
    if of_propagation:
        if settings.propagation is None:
            raise SettingsError(
                f"{', '.join(of_propagation)} belongs to a propagation, and the model is walks. "
                "Choose the model propagation, or leave it out."
            )
        for name, kind in PROPAGATION_CHOICES:
            if name in of_propagation:
                of_propagation[name] = choose(name, of_propagation[name], kind)
        given["propagation"] = replace(settings.propagation, **of_propagation)
    of_rival = {name: given.pop(name) for name in changes if name in RIVAL_FIELDS}
    if of_rival:
        if settings.rival is None:
            raise SettingsError(
                f"{', '.join(of_rival)} belongs to a rival such as RotatE, and the model is "
                f"{settings.model}. Name a rival as the architecture, or leave it out."
            )
        if "loss" in of_rival:
            of_rival["loss"] = choose("loss", of_rival["loss"], RivalLoss)
        given["rival"] = rival = replace(settings.rival, **of_rival)
        if of_rival.get("loss") is RivalLoss.HARD:
            given.setdefault("n_negatives", None)  # it is among all
        if "margin" in of_rival and rival.loss in HAVE_NO_MARGIN:
            raise SettingsError(
                f"margin is {rival.margin:g}, but loss is {rival.loss}, which no margin "
                "changes. Leave it out, or give another loss."
            )
    if "path_length" in given:
        given["walk"] = with_length(settings.walk, given.pop("path_length"))
    return replace(settings, **given)


def with_length(walk: WalkSettings, length: int) -> WalkSettings:
    """Return paths of another length; a single triplet is one path, however many begin with it."""
    n_paths = 1 if length == 1 else walk.paths_per_triplet
    return replace(walk, length=length, paths_per_triplet=n_paths)
