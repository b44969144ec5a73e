"""Which model a search is of, where nobody has said: by a short comparison on the graph itself."""

import time
from dataclasses import replace
from typing import SupportsIndex

import torch

from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.runs.experiment import ANY, Experiment
from interstellar.runs.search_plan import Budget, Retraining, SearchPlan
from interstellar.searching.model_choice import Heat, compare_models, lighten
from interstellar.training.settings import ModelKind
from interstellar.training.settings_changes import SettingsChanges
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.given import GivenSettings, build_experiment, final_settings
from interstellar.workflow.search_result import Stage

COMPARED = (ModelKind.WALKS, ModelKind.PROPAGATION)


def is_open(
    plan: SearchPlan | str | None,
    after: Retraining,
    settings: GivenSettings | None,
    changes: SettingsChanges,
) -> bool:
    """Return whether nothing was asked for that one of the models would have to refuse."""
    is_usual = plan is None or plan == SearchPlan()
    is_free = settings is None and all(value is None for value in changes.values())
    return is_usual and is_free and not after.ensemble


def choose_model(
    graph: AnyGraph, stage: Stage, budget: Budget, seed: SupportsIndex
) -> tuple[SettingsChanges, Budget]:
    """Return the model that learns a graph better, and what is left of the budget.

    Without a limit of time, or where a comparison would take too much of it, nothing is chosen.
    """
    answers_few = isinstance(graph, KnowledgeGraph) and graph.answers is not None
    if budget.seconds is None or not isinstance(graph, KnowledgeGraph) or answers_few:
        return {}, budget
    started, device = time.monotonic(), stage.workers.device
    experiments = compared_experiments(graph, seed, device)
    heats = compare_models(graph, experiments, budget.seconds, device)
    left = replace(budget, time=budget.seconds - (time.monotonic() - started))
    if not heats:
        return {}, left
    _tell(stage.audience, heats, str(experiments[0].settings.metric))
    propagation = experiments[1].settings.propagation
    if heats[0].model is ModelKind.WALKS or propagation is None:
        return {"model": ModelKind.WALKS}, left
    return {"model": ModelKind.PROPAGATION, "nodes": propagation.nodes}, left


def compared_experiments(
    graph: KnowledgeGraph, seed: SupportsIndex, device: torch.device
) -> list[Experiment]:
    """Return a search of either model with the graph's own settings."""
    return [
        build_experiment(
            graph,
            architecture=ANY,
            seed=seed,
            settings=lighten(graph, final_settings(graph, model=model), device),
            plan=SearchPlan(),
        )
        for model in COMPARED
    ]


def _tell(audience: Audience, heats: list[Heat], metric: str) -> None:
    said = ", ".join(f"{h.model} {metric} {h.score:.3f} after {h.seconds:.0f} s" for h in heats)
    tell(audience, f"model: {said}; {heats[0].model} is searched (`model` chooses the other).")
