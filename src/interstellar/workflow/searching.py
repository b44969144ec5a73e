"""`search` and `tune`: the architecture, or the settings, with which a graph is learnt best."""

import os
from collections.abc import Sequence
from pathlib import Path

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.notation import code_text, read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace, read_subspace
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.data.splitting import Split
from interstellar.errors import SettingsError
from interstellar.searching.budget import Budget, read_time
from interstellar.searching.procedure import (
    FINAL,
    TUNING,
    refuse_earlier_winner,
    tuned_settings,
)
from interstellar.searching.search_experiment import (
    ANY,
    SearchExperiment,
    SearchPlan,
    SharedScore,
    StrategyName,
)
from interstellar.searching.search_run import Workers
from interstellar.tasks.task import network_size, task_for
from interstellar.tasks.training_run import spell_out
from interstellar.training.group_training import can_train_together
from interstellar.training.settings import (
    Precision,
    Selection,
    TrainingSettings,
    with_changes,
)
from interstellar.workflow.found import Found, Winner
from interstellar.workflow.given_settings import (
    GivenArchitecture,
    GivenSettings,
    read_given_architecture,
    read_given_settings,
)
from interstellar.workflow.model import Model
from interstellar.workflow.run_place import RunPlace, choose_place
from interstellar.workflow.search_stage import Stage, code_list, keep_final
from interstellar.workflow.words import choose

BUILT_IN = "geography-S3"
LITERATURE_WORD = "literature"
PAPER_TRIALS, TUNING_TRIALS = 100, 50
"""As in the paper."""
MOST_SUPERNET_EPOCHS = 50
TRIALS_TOGETHER = 16
SINGLE = (str, os.PathLike, Architecture, Winner, Found)
"""One architecture, where several may be given."""
STRATEGIES = tuple(name for name in StrategyName if name is not StrategyName.TUNE)


def search(
    data: Source | AnyGraph = BUILT_IN,
    *,
    strategy: str = "hybrid",
    trials: int | None = None,
    time: str | None = None,
    subspace: str | None = None,
    macro_only: bool = False,
    workers: int = 1,
    together: int | None = None,
    faithful: bool = False,
    reuse: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    try_first: GivenArchitecture | Sequence[GivenArchitecture] = (),
    then_tune: bool = False,
    tune_trials: int | None = None,
    then_train: bool = False,
    finalists: int = 1,
    macro_updates: int | None = None,
    micro_epochs: int | None = None,
    supernet_epochs: int | None = None,
    shared_score: str | None = None,
    select: str | None = None,
    settings: GivenSettings | None = None,
    dim: int | None = None,
    epochs: int | None = None,
    precision: str | None = None,
    second: Source | None = None,
    pairs: str | os.PathLike[str] | None = None,
    split: Split | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    device: str = "auto",
    progress: bool = True,
) -> Found:
    """Find the architecture that learns a graph best.

    Args:
        data: A loaded graph, or anything that `load` takes; else the built-in geography.
        strategy: hybrid, random, reinforce, bayes, darts or one-shot.
        trials: Networks to train at most; 100 where no time is given.
        time: Such as 20m or 1h30m.
        subspace: P1, P2, P3 or P4; else all.
        macro_only: Leave activations and trained matrices out: connections and combinators alone.
        workers: Processes: one a GPU, or sharing the cores.
        together: Trials in one batched program; 16 for small graphs on a GPU.
        faithful: Train hopeless trials to their end, as in the paper.
        reuse: Folders of searches whose trials need not be repeated.
        try_first: Architectures to train before any is proposed; `literature` stands for all
            models of the literature that lie in the space.
        then_tune: Then tune the winner's settings.
        tune_trials: Of `then_tune`; 50 unless said.
        then_train: Then train the winner finally: `Found.model`.
        finalists: Train so many of the best finally; the best of them on validation wins.
        macro_updates: k1 of hybrid search; 1 unless said.
        micro_epochs: k2 of hybrid search; 1 unless said, 0 for none.
        supernet_epochs: Of darts and one-shot; 50, or what the trials are worth.
        shared_score: By what hybrid and one-shot compare with shared weights: loss or mrr.
        select: Score, also of what follows the search: hits@1, mrr or auc_pr.
        settings: Settings of each trial, or the TOML file of those that differ.
        dim: Numbers in an embedding, of each trial.
        epochs: At most so many, of each trial.
        precision: auto, float32 or mixed, also of what follows the search.
        second: The second graph of an alignment.
        pairs: The file of entity pairs known between the two.
        split: Shares to hold out of data without splits, as in 90/5/5.
        out: Folder of the search; without one it is temporary, and cannot be resumed.
        resume: Go on with the search in `out`.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        progress: Whether to show it.
    """
    budget = read_budget(trials, time, otherwise=PAPER_TRIALS)
    name = choose("strategy", strategy, StrategyName, STRATEGIES)
    refuse_unused(name, "macro_updates", (StrategyName.HYBRID,), macro_updates)
    refuse_unused(name, "micro_epochs", (StrategyName.HYBRID,), micro_epochs)
    supernets = (StrategyName.DARTS, StrategyName.ONE_SHOT)
    refuse_unused(name, "supernet_epochs", supernets, supernet_epochs)
    sampled = (StrategyName.HYBRID, StrategyName.ONE_SHOT)
    refuse_unused(name, "shared_score", sampled, shared_score)
    if macro_only and name is StrategyName.HYBRID:
        refuse_shared(micro_epochs=micro_epochs, shared_score=shared_score)
    if micro_epochs == 0:
        refuse_shared(shared_score=shared_score)
    refuse_idle(finalists, is_followed=then_tune or then_train)
    n_tuned = read_tune_trials(tune_trials, is_tuned=then_tune)
    stage = Stage.set_up(device, workers, data, second, pairs, split, progress=progress)
    chosen = change_settings(
        stage.given.search_settings(), settings, dim, epochs, precision, select
    )
    part = _find_subspace(subspace)
    known = read_known(try_first, SearchSpace(part, macro_only))
    plan = SearchPlan(
        strategy=name,
        subspace=part,
        is_macro_only=macro_only,
        macro_updates=1 if macro_updates is None else macro_updates,
        micro_epochs=1 if micro_epochs is None else micro_epochs,
        supernet_epochs=choose_supernet_epochs(
            supernet_epochs, name, budget, chosen, n_known=len(known)
        ),
        is_faithful=faithful,
        n_together=together or choose_together(stage.given.graph, chosen, stage.workers),
        try_first=" ".join(map(code_text, known)) or None,
        shared_score=choose("shared_score", shared_score or SharedScore.LOSS, SharedScore),
    )
    experiment = stage.given.experiment(architecture=ANY, seed=seed, settings=chosen)
    wanted = SearchExperiment(experiment=experiment, plan=plan)
    place = choose_place(out, is_resumed=resume)
    found = stage.search(wanted, place, budget, is_resumed=resume, reuse=list_paths(reuse))
    final = change_settings(stage.given.final_settings(), precision=precision, select=select)
    tuning, model = None, None
    code, trained = str(found["best"]["code"]), list[Model]()
    if finalists > 1:
        winner, trained = stage.hold_final(wanted, final, place, finalists)
        code = code_list(winner.architecture)
        if then_train and not then_tune:
            keep_final(winner, place)
    for stage_folder, is_wanted in ((TUNING, then_tune), (FINAL, then_train)):
        if is_wanted:
            refuse_earlier_winner(place.path / stage_folder, code)
    if then_tune:
        final = tuned_settings(final, stage.tune(wanted, code, final, place, n_tuned))
        tuning = Found(RunPlace(place.path / TUNING, place.temporary))
    if then_train:
        stage.train(wanted, code, final, place)
        model = Model(RunPlace(place.path / FINAL, place.temporary), stage.workers.device)
    return Found(place, tuning=tuning, model=model, finalists=trained)


def tune(
    data: Source | AnyGraph,
    architecture: GivenArchitecture,
    *,
    trials: int | None = None,
    time: str | None = None,
    with_dim: bool = False,
    keep: str | Sequence[str] = (),
    workers: int = 1,
    faithful: bool = False,
    select: str | None = None,
    settings: GivenSettings | None = None,
    dim: int | None = None,
    epochs: int | None = None,
    precision: str | None = None,
    second: Source | None = None,
    pairs: str | os.PathLike[str] | None = None,
    split: Split | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    device: str = "auto",
    progress: bool = True,
) -> Found:
    """Find the settings with which an architecture learns best, in the paper's ranges.

    learning_rate, l2 (weight decay), decay (of the rate), batch_size and dropout.

    Args:
        data: A loaded graph, or anything that `load` takes.
        architecture: A name (TransE), a code, a formula, a JSON file, a run, or what was found.
        trials: Settings to try at most; 50 where no time is given.
        time: Such as 20m or 1h30m.
        with_dim: Tune the dimension too.
        keep: Settings to leave as they are, such as batch_size.
        workers: Processes: one a GPU, or sharing the cores.
        faithful: Train hopeless trials to their end.
        select: Score: hits@1, mrr or auc_pr.
        settings: What to begin with, or the TOML file of what differs.
        dim: Numbers in an embedding.
        epochs: At most so many a training.
        precision: auto, float32 or mixed.
        second: The second graph of an alignment.
        pairs: The file of entity pairs known between the two.
        split: Shares to hold out of data without splits, as in 90/5/5.
        out: Folder of the tuning; without one it is temporary, and cannot be resumed.
        resume: Go on with the tuning in `out`.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        progress: Whether to show it.
    """
    budget = read_budget(trials, time, otherwise=TUNING_TRIALS)
    stage = Stage.set_up(device, workers, data, second, pairs, split, progress=progress)
    chosen = change_settings(stage.given.final_settings(), settings, dim, epochs, precision, select)
    experiment = stage.given.experiment(
        architecture=read_given_architecture(architecture), seed=seed, settings=chosen
    )
    plan = SearchPlan(
        strategy=StrategyName.TUNE,
        is_faithful=faithful,
        with_dim=with_dim,
        keep=(keep if isinstance(keep, str) else " ".join(sorted(set(keep)))) if keep else None,
    )
    wanted = SearchExperiment(experiment=spell_out(experiment), plan=plan)
    place = choose_place(out, is_resumed=resume)
    stage.search(wanted, place, budget, is_resumed=resume)
    return Found(place)


def read_budget(trials: int | None, time: str | None, *, otherwise: int) -> Budget:
    """Return the budget that is given, or so many trials."""
    seconds = None if time is None else read_time(time)
    return Budget(
        trials=otherwise if trials is None and seconds is None else trials, seconds=seconds
    )


def refuse_idle(finalists: int, *, is_followed: bool) -> None:
    """Raise where finalists make no sense."""
    if finalists < 1:
        raise SettingsError(
            f"finalists is {finalists}, but it must be a whole number from 1 up. Raise it."
        )
    if finalists > 1 and not is_followed:
        raise SettingsError(
            f"{finalists} finalists were asked for, but nothing is to be trained after the search. "
            "Add --then-train, or leave --finalists out."
        )


def read_tune_trials(given: int | None, *, is_tuned: bool) -> int:
    """Return how many settings to try after a search."""
    if given is not None and not is_tuned:
        raise SettingsError(
            f"{given} trials of a tuning were asked for, but nothing is to be tuned. "
            "Add --then-tune, or leave --tune-trials out."
        )
    return TUNING_TRIALS if given is None else given


def refuse_unused(
    strategy: StrategyName, what: str, meant: Sequence[StrategyName], given: int | str | None
) -> None:
    """Raise for what is of some strategies and was given with another."""
    if given is not None and strategy not in meant:
        raise SettingsError(
            f"{what} was given, but it is for {' and '.join(meant)}, and the strategy is "
            f"{strategy}. Leave it out."
        )


def refuse_shared(**given: int | str | None) -> None:
    """Raise for what is of shared rounds, where there are none."""
    for what, value in given.items():
        if value is not None:
            raise SettingsError(
                f"{what} was given, but hybrid search learns nothing from shared weights with "
                "micro_epochs 0, or where the macro level is searched alone. Leave one of them out."
            )


def change_settings(
    base: TrainingSettings,
    settings: GivenSettings | None = None,
    dim: int | None = None,
    epochs: int | None = None,
    precision: str | None = None,
    select: str | None = None,
) -> TrainingSettings:
    """Return settings with what single values and a file change."""
    return with_changes(
        read_given_settings(settings, base),
        dim=dim,
        max_epochs=epochs,
        precision=None if precision is None else choose("precision", precision, Precision),
        selection=None if select is None else choose("select", select, Selection),
    )


def choose_supernet_epochs(
    given: int | None,
    strategy: StrategyName,
    budget: Budget,
    settings: TrainingSettings,
    *,
    n_known: int = 0,
) -> int:
    """Return the epochs of a supernet: all trials but one, and those tried first, are worth them.

    Strategies without such a supernet have one value, so that their budget can be raised.
    """
    if given is not None:
        return given
    if budget.trials is None or strategy not in (StrategyName.DARTS, StrategyName.ONE_SHOT):
        return MOST_SUPERNET_EPOCHS
    return max(1, min(MOST_SUPERNET_EPOCHS, (budget.trials - n_known - 1) * settings.max_epochs))


def list_paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return one path or several as several."""
    several = [given] if isinstance(given, str | os.PathLike) else given
    return [Path(path) for path in several]


def read_known(
    given: GivenArchitecture | Sequence[GivenArchitecture], space: SearchSpace
) -> list[Architecture]:
    """Return the architectures to be tried first, each once."""
    known: list[Architecture] = []
    for one in [given] if isinstance(given, SINGLE) else given:
        if isinstance(one, str) and one.strip().casefold() == LITERATURE_WORD:
            lying_there = [model for model in LITERATURE.values() if model in space]
            if not lying_there:
                raise SettingsError(
                    f"no model of the literature lies in {space}, but they are to be tried first. "
                    "Leave out --try-first literature, or the subspace."
                )
            known += lying_there
        else:
            known.append(read_architecture(read_given_architecture(one)))
    return list(dict.fromkeys(known))


def choose_together(graph: AnyGraph, settings: TrainingSettings, workers: Workers) -> int:
    """Return how many trials to train in one program: several only if a GPU gains from it."""
    if workers.device.type != "cuda" or workers.n > 1:
        return 1
    task = task_for(graph)
    size = network_size(task, settings.dim)
    return TRIALS_TOGETHER if can_train_together(settings, task.form, size) else 1


def _find_subspace(text: str | None) -> Subspace | None:
    return None if text is None else read_subspace(text)
