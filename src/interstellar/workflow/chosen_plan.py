"""What a search is to do, once what was given and the model are known."""

from dataclasses import replace

from interstellar.architecture.literature import KNOWN, PROPAGATIONS
from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import Subspace
from interstellar.errors import SettingsError
from interstellar.runs.search_plan import (
    SEARCHED,
    STRATEGIES,
    SUPERNET_EPOCHS,
    Budget,
    Retraining,
    SearchPlan,
    StrategyName,
)
from interstellar.searching.settings_space import PATH_LENGTH
from interstellar.searching.time_plan import Ending, is_shortened
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import SettingsChanges
from interstellar.words import choose
from interstellar.workflow.given import refuse_mute
from interstellar.workflow.search_result import ONE_TRIAL


def choose_plan(given: SearchPlan | str | None) -> SearchPlan:
    """Return the plan that is given, or the one of a strategy."""
    plan = SearchPlan() if given is None else given
    name = plan if isinstance(plan, str) else str(plan.strategy)
    strategy = choose("strategy", name, StrategyName, STRATEGIES)
    return SearchPlan(strategy=strategy) if isinstance(plan, str) else plan


def refuse_unfit(plan: SearchPlan, after: Retraining, settings: TrainingSettings) -> None:
    """Raise where one model is searched by what is for the other, or by what no search knows."""
    if plan.as_published and (after.ensemble or after.finalists not in (None, 1)):
        raise SettingsError(
            "finalists or an ensemble were asked for, but the search as published trains its "
            "winner once. Leave them, or `as_published`, out."
        )
    if settings.relation_prediction:
        raise SettingsError(
            f"relation_prediction is {settings.relation_prediction}, but a search also tries paths "
            "of three triplets, which have none. Leave it out, and train or tune what is found "
            "with it."
        )
    if settings.rival is not None:
        raise SettingsError(
            "the settings are those of a model outside the search space, such as RotatE. Give "
            "settings of a network along walks or of a propagation, or leave them out."
        )
    if settings.propagation is None:
        if plan.strategy is StrategyName.RANDOM and plan.keep:
            raise SettingsError(
                f"{', '.join(plan.keep)} is to be kept, but random search along walks changes no "
                "settings. Leave it out."
            )
        return
    if plan.strategy not in (StrategyName.SURROGATE, StrategyName.RANDOM):
        raise SettingsError(
            f"the strategy is {plan.strategy}, which knows networks along walks only. Choose "
            "surrogate or random for propagations, or the model walks."
        )
    for cell in plan.known:
        refuse_mute(cell)
    if plan.subspace in (Subspace.P1, Subspace.P2):
        raise SettingsError(
            f"the subspace is {plan.subspace}, in which no message passes anything on: "
            f"{plan.subspace.definition}. Choose P3 or P4 for propagations, or the model walks."
        )
    if after.ensemble:
        raise SettingsError(
            "an ensemble was asked for, but only networks along walks can be joined. Leave it out: "
            "the best seed of a propagation wins."
        )


def with_known(plan: SearchPlan, settings: TrainingSettings) -> SearchPlan:
    """Return the plan that tries the known models after what was given, unless from scratch."""
    if plan.from_scratch:
        return plan
    known = map(code_text, KNOWN) if settings.propagation is None else PROPAGATIONS.values()
    return replace(plan, try_first=(*plan.try_first, *plan.in_space(known)))


def keep_given(
    plan: SearchPlan, changes: SettingsChanges, settings: TrainingSettings
) -> SearchPlan:
    """Return the plan that leaves alone the settings that were chosen one by one."""
    draws_settings = plan.strategy is StrategyName.RANDOM and settings.propagation is not None
    if plan.strategy is not StrategyName.SURROGATE and not draws_settings:
        return plan
    given = [name for name, value in changes.items() if value is not None]
    kept = (*plan.keep, *(name for name in given if name in SEARCHED))
    return replace(plan, keep=tuple(dict.fromkeys(kept)))


def choose_ending(
    plan: SearchPlan,
    after: Retraining,
    chosen: TrainingSettings,
    whole: TrainingSettings,
    *,
    has_rival: bool = False,
) -> Ending:
    """Return what comes after trials with settings that the time may have cut short.

    The paper's search repeats none of the best.
    """
    if plan.as_published:
        return Ending()
    is_given = chosen.propagation is None and (
        plan.strategy is not StrategyName.SURROGATE or PATH_LENGTH in plan.keep
    )
    is_free = after.then_train and after.finalists is None and not after.ensemble
    is_long = is_free and not is_given and is_shortened(chosen, whole)
    n_finalists = 1 if is_long else after.n_finalists
    return Ending(n_finalists=n_finalists, is_long=is_long, has_rival=has_rival)


def complete_plan(plan: SearchPlan, budget: Budget, settings: TrainingSettings) -> SearchPlan:
    """Return a plan with what follows from the budget filled in."""
    epochs = plan.supernet_epochs
    if plan.strategy in ONE_TRIAL and epochs is None:
        epochs = SUPERNET_EPOCHS
        if budget.trials is not None:  # all trials but one, and those tried first, are worth them
            worth = (budget.trials - len(plan.try_first) - 1) * settings.max_epochs
            epochs = max(1, min(epochs, worth))
    return replace(plan, supernet_epochs=epochs)
