"""The plan of a search that has a limit of time: how long its trials may be, and when it ends.

Three tenths of the time are for the finalists, which are repeated with other seeds; the rest is for
trials, of which about thirty should find room even with one worker: as few are trained to their
end, a training may take a fifth of the time. Where the usual one takes longer, it has fewer epochs,
and where these would be too few, the networks are smaller.

A propagation's epochs are of fewer queries before that: it learns enough from the first thousands
to be compared, and much more from the others. So its trials then take a tenth of the time, and
nearly half is for training the winner anew, as long as there is time for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import torch
from torch import Tensor

from interstellar.architecture.literature import COMPLEX, PTRANSE_MUL, RSN
from interstellar.data.graph import AnyGraph
from interstellar.errors import SettingsError
from interstellar.model.path_network import NetworkSize
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.network import Network
from interstellar.searching.rungs import REDUCTION, Rungs
from interstellar.tasks.splits import Split
from interstellar.tasks.task import network_for, network_size, task_for
from interstellar.training.defaults import falling_rate
from interstellar.training.loop import SilentObserver, Training
from interstellar.training.settings import TrainingSettings

TRAINING_SHARE, SHORT_SHARE = 0.2, 0.1
"""Of the time, for a trial to its end; and for one of a propagation with shorter epochs."""
FEWEST_TRAININGS = 4
"""There must be time for so many epochs."""
ENOUGH_EPOCHS = 27
"""With fewer, networks are made smaller first, as far as this dimension."""
LEAST_DIM, LEAST_STATE = 64, 16
"""Of networks on walks, and of propagations."""
HALVED_SHARE = 0.7
"""With half the dimension an epoch must take at most so much: on a card it may take as long."""
PROPAGATION_EPOCHS, LEAST_STEPS = 9, 32
"""A propagation is compared after its first, third and ninth epoch, of at least so many steps:
fewer teach it next to nothing."""
FEWEST_VALIDATIONS = 8
"""Of the last, long training."""
LEAST_MEASURED, MOST_MEASURED, VALID_SHARE = 300, 2000, 1 / 3
"""Triplets on which each of the short epochs is validated; they take such a share of it, if they
can."""
USED_SHARE = 0.9
"""Of what is left, by the long training: what follows it takes time too."""
N_SAMPLED, SAMPLED_FROM = 1024, 4
"""On a CPU a step may have so many wrong answers, where there are four times as many entities."""
THREE_RUNGS, SCARCE_SHARE = 9, 0.45
"""Along walks, with fewer epochs than that in a fifth of the time, the best trial may have nearly
half of it: few networks are tried then, and one of them is trained."""
FEW_EPOCHS = 4
"""Where there is no time even for these, whatever saves some is welcome."""
MOST_VALIDATED = 300
"""Triplets or pairs on which the time of a validation is measured."""
N_MEASURED_STEPS = 3
QUICK_SECONDS = 0.5
"""Steps that together take less are measured again: the first ones are slower than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What comes after the trials."""

    n_finalists: int = 1
    """Trials that are repeated with other seeds; 1: none."""
    is_long: bool = False
    """Whether the winner is trained anew, as long as there is time for."""

    @property
    def search_share(self) -> float:
        """The share of the time that is for the trials."""
        if self.is_long:
            return 0.55
        return 0.7 if self.n_finalists > 1 else 1.0

    def describe(self) -> str:
        """Return it as a part of the plan."""
        if self.is_long:
            return "then the winner as long as there is time, "
        return "then the finalists with more seeds, " if self.n_finalists > 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How long a training takes here: the mean of a simple and a recurrent architecture."""

    epoch_seconds: float
    valid_seconds: float
    n_steps: int = 1
    """Of an epoch."""
    n_ranked: int = 1
    """Triplets or pairs of a validation."""

    def per_epoch(self, settings: TrainingSettings) -> float:
        """Return the seconds of an epoch with its share of the validations."""
        return self.epoch_seconds + self.valid_seconds / settings.validate_every


def measure_speed(graph: AnyGraph, settings: TrainingSettings, device: torch.device) -> Speed:
    """Train a few steps and validate on a part of the split, with paths that lead nowhere."""
    part = replace(graph, valid=graph.valid[:MOST_VALIDATED])
    task = task_for(part)
    paths = idle_paths(network_size(task, settings.dim), settings).to(device)
    short = replace(settings, max_epochs=2, validate_every=1, patience=0)

    def measure(network: Network) -> dict[str, float]:
        return {settings.metric: 0.0} | task.measure(network, Split.VALID).as_dict()

    reports = []
    simple = COMPLEX if settings.propagation is None else PTRANSE_MUL
    for architecture in (simple, RSN):
        network = network_for(task, architecture, settings)
        training = Training(network, paths, short, seed=0, measure=measure)
        report = training.run_epoch(SilentObserver())
        if report.train_seconds < QUICK_SECONDS:
            report = training.run_epoch(SilentObserver())
        reports.append(report)
    n_paths = WalkGraph.of(graph).n_triplets * settings.walk.paths_per_triplet
    an_epoch = settings.paths_per_epoch
    if settings.propagation is not None:
        an_epoch = settings.propagation.queries_per_epoch
    n_paths = min(n_paths, an_epoch or n_paths)
    n_steps = math.ceil(n_paths / settings.batch_size)
    step_seconds = sum(report.step_ms for report in reports) / 2000
    valid_seconds = sum(report.valid_seconds for report in reports) / 2
    n_ranked = min(len(graph.valid), settings.measured or len(graph.valid))
    return Speed(
        epoch_seconds=n_steps * step_seconds,
        valid_seconds=valid_seconds * n_ranked / max(1, len(part.valid)),
        n_steps=n_steps,
        n_ranked=n_ranked,
    )


def idle_paths(size: NetworkSize, settings: TrainingSettings) -> Tensor:
    """Return paths for a few steps, of the right shape and without a meaning."""
    shape = (N_MEASURED_STEPS * settings.batch_size, 2 * settings.walk.length + 1)
    generator = torch.Generator().manual_seed(0)
    paths = torch.randint(size.n_entities, shape, generator=generator, dtype=torch.int32)
    paths[:, 1::2] %= 2 * size.n_relations
    return paths


def fit_to_time(
    settings: TrainingSettings,
    measure: Callable[[TrainingSettings], Speed],
    seconds: float,
    *,
    keeps_dim: bool,
    n_sampled: int | None = None,
) -> tuple[TrainingSettings, Speed]:
    """Return the settings with which there is time for a search, and how long they take.

    Where there is no time for all wrong answers, a step has `n_sampled`, if that is given.
    """
    enough, least = min(ENOUGH_EPOCHS, settings.max_epochs), LEAST_DIM
    for_training = TRAINING_SHARE * seconds
    settings, speed = sample_or_not(settings, measure, for_training / enough, n_sampled)
    if settings.propagation is not None:
        whole, enough, least = settings, min(FEW_EPOCHS, enough), LEAST_STATE
        if settings.max_epochs * speed.per_epoch(settings) > for_training:
            wanted = SHORT_SHARE * seconds / PROPAGATION_EPOCHS
            settings, speed = shorten_epochs(settings, speed, wanted)
        if is_shortened(settings, whole):
            for_training = SHORT_SHARE * seconds
    while not keeps_dim and settings.dim >= 2 * least:
        n_epochs = count_epochs(settings, speed, for_training)
        if n_epochs >= enough:
            break
        n_halvings = math.ceil(math.log2(enough / max(1, n_epochs)))  # as if time went with it
        dim = max(least, settings.dim >> n_halvings)
        smaller = replace(settings, dim=dim - dim % 2)
        faster = measure(smaller)
        worthwhile = HALVED_SHARE ** math.log2(settings.dim / smaller.dim)
        saves_little = faster.per_epoch(smaller) > worthwhile * speed.per_epoch(settings)
        if saves_little and n_epochs >= FEW_EPOCHS:
            break
        settings, speed = smaller, faster
    refuse_too_short(settings, speed, seconds)
    n_epochs = count_epochs(settings, speed, for_training)
    if settings.propagation is None and n_epochs < THREE_RUNGS:
        n_epochs = min(THREE_RUNGS, count_epochs(settings, speed, SCARCE_SHARE * seconds))
    return with_epochs(settings, max(1, n_epochs)), speed


def sample_or_not(
    settings: TrainingSettings,
    measure: Callable[[TrainingSettings], Speed],
    epoch_seconds: float,
    n_sampled: int | None,
) -> tuple[TrainingSettings, Speed]:
    """Return settings with some wrong answers a step, unless an epoch with all may take so long.

    What all take is only measured where it may be little: a step with them can take seconds.
    """
    if n_sampled is None:
        return settings, measure(settings)
    sampled = replace(settings, n_negatives=n_sampled)
    faster = measure(sampled)
    if faster.per_epoch(sampled) > epoch_seconds:
        return sampled, faster
    speed = measure(settings)
    return (sampled, faster) if speed.per_epoch(settings) > epoch_seconds else (settings, speed)


def n_affordable(settings: TrainingSettings, n_entities: int, device: torch.device) -> int | None:
    """Return how many wrong answers a step may have in place of all; None: all, or as was said."""
    is_free = settings.propagation is None and settings.n_negatives is None
    is_many = device.type == "cpu" and n_entities >= SAMPLED_FROM * N_SAMPLED
    return N_SAMPLED if is_free and is_many and not settings.label_smoothing else None


def shorten_epochs(
    settings: TrainingSettings, speed: Speed, seconds: float
) -> tuple[TrainingSettings, Speed]:
    """Return a propagation's settings with epochs that take so long, or as long as a validation."""
    assert settings.propagation is not None
    each = speed.valid_seconds / max(1, speed.n_ranked)
    measured = min(MOST_MEASURED, settings.measured or speed.n_ranked)
    if each * measured > VALID_SHARE * seconds:
        measured = min(measured, max(LEAST_MEASURED, int(VALID_SHARE * seconds / each)))
    valid_seconds = each * measured
    wanted = max(seconds - valid_seconds, valid_seconds)
    share = wanted / speed.epoch_seconds
    if share >= 1:
        return settings, speed
    n_steps = max(LEAST_STEPS, int(share * speed.n_steps))
    if n_steps >= speed.n_steps:
        return settings, speed
    fewer = replace(settings.propagation, queries_per_epoch=n_steps * settings.batch_size)
    faster = Speed(
        epoch_seconds=speed.epoch_seconds * n_steps / speed.n_steps,
        valid_seconds=valid_seconds,
        n_steps=n_steps,
        n_ranked=measured,
    )
    if measured < speed.n_ranked:
        settings = replace(settings, measured=measured)
    return replace(settings, propagation=fewer), faster


def is_shortened(settings: TrainingSettings, whole: TrainingSettings) -> bool:
    """Return whether a propagation's epochs are of fewer queries than otherwise."""
    if settings.propagation is None or whole.propagation is None:
        return False
    return settings.propagation.queries_per_epoch < whole.propagation.queries_per_epoch


def lengthen(
    settings: TrainingSettings, whole: TrainingSettings, epoch_seconds: float, seconds: float
) -> TrainingSettings | None:
    """Return a shortened propagation's settings for a training as long as there is time for.

    It is at most as long as the whole one. None: there is no time for more than it has had.
    `epoch_seconds` is what an epoch has taken with its validation, of which there will be fewer.
    """
    assert settings.propagation is not None
    assert whole.propagation is not None
    an_epoch = whole.propagation.queries_per_epoch
    per_second = settings.propagation.queries_per_epoch / epoch_seconds
    n_queries = min(whole.max_epochs * an_epoch, int(USED_SHARE * seconds * per_second))
    if n_queries <= settings.max_epochs * settings.propagation.queries_per_epoch:
        return None
    n_epochs = min(whole.max_epochs, max(FEWEST_VALIDATIONS, math.ceil(n_queries / an_epoch)))
    longer = replace(settings.propagation, queries_per_epoch=n_queries // n_epochs)
    return replace(
        settings,
        max_epochs=n_epochs,
        lr_decay=falling_rate(n_epochs),
        validate_every=whole.validate_every,
        measured=whole.measured,
        propagation=longer,
    )


def count_epochs(settings: TrainingSettings, speed: Speed, seconds: float) -> int:
    """Return how many epochs there are in so many seconds, at most those of the settings."""
    return max(0, min(settings.max_epochs, int(seconds / speed.per_epoch(settings))))


def refuse_too_short(
    settings: TrainingSettings, speed: Speed, seconds: float, spent: float = 0.0
) -> None:
    """Raise where there is no time for a few epochs, or after what was spent for a single one."""
    epoch_seconds = speed.per_epoch(settings)
    if epoch_seconds * FEWEST_TRAININGS > seconds or epoch_seconds > seconds - spent:
        begun = f" and {spent:.2g} s were needed to begin" if spent else ""
        raise SettingsError(
            f"the time is {seconds:.3g} s{begun}, but one epoch on this graph takes about "
            f"{epoch_seconds:.2g} s here, so hardly a network could be trained. Give at least "
            f"{math.ceil(20 * epoch_seconds / 60)}m, or a smaller dimension."
        )


def with_epochs(settings: TrainingSettings, n_epochs: int) -> TrainingSettings:
    """Return the settings with fewer epochs, validated often enough for rungs to differ.

    The rate of a propagation falls as far as before.
    """
    often = max(1, n_epochs // 9)
    every = min(settings.validate_every, often)
    fewer = replace(settings, max_epochs=n_epochs, validate_every=every)
    if settings.propagation is None or settings.lr_decay != falling_rate(settings.max_epochs):
        return fewer
    return replace(fewer, lr_decay=falling_rate(n_epochs))


def describe_plan(
    settings: TrainingSettings,
    speed: Speed,
    seconds: float,
    n_workers: int,
    *,
    ending: Ending,
    prune: bool,
    now: Callable[[], datetime] = datetime.now,
) -> str:
    """Return in one sentence what a search is going to do, and when it ends."""
    rungs = Rungs.of(settings, prune=prune).epochs
    cost = speed.per_epoch(settings) * cost_of_trial(rungs)
    n_trials = max(1, round(ending.search_share * seconds * n_workers / cost))
    ends = now() + timedelta(seconds=seconds)
    compared = f", compared after {', '.join(map(str, rungs[:-1]))}" if len(rungs) > 1 else ""
    epochs = "1 epoch" if rungs[-1] == 1 else f"{rungs[-1]} epochs"
    return (
        f"plan: about {n_trials} trials of up to {epochs}{compared}; {ending.describe()}"
        f"done at {ends:%H:%M:%S}"
    )


def cost_of_trial(rungs: tuple[int, ...]) -> float:
    """Return the epochs of a trial on average, where one of so many is promoted at each rung."""
    steps = (after - before for before, after in zip((0, *rungs), rungs, strict=False))
    return sum((n / float(REDUCTION**k) for k, n in enumerate(steps)), 0.0)
