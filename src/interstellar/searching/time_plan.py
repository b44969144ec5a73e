"""The plan of a search that has a limit of time: how long its trials may be, and when it ends.

Three tenths of the time are for the finalists, which are repeated with other seeds; the rest is for
trials, of which about thirty should find room even with one worker: as few are trained to their
end, a training may take a fifth of the time. Where the usual one takes longer, it has fewer epochs,
and where these would be too few, the networks are smaller.

A propagation's epochs are of fewer queries before that: it learns enough from the first thousands
to be compared, and much more from the others. So its trials then take a tenth of the time, and
nearly half is for training the winner anew, as long as there is time for. So it is with two graphs,
whose paths are shorter before anything else is.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import torch

from interstellar.errors import SettingsError
from interstellar.searching.rungs import REDUCTION, Rungs
from interstellar.searching.speed import Speed
from interstellar.training.defaults import falling_rate
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import replace_settings

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
N_VALIDATIONS = FEWEST_VALIDATIONS + 2
"""With what is measured on validation and test when it has ended."""
LEAST_MEASURED, MOST_MEASURED, VALID_SHARE = 300, 2000, 1 / 3
"""Triplets on which each of the short epochs is validated; they take such a share of it, if they
can."""
WHOLE_SHARE = 0.97
"""Of the time, for trials and finalists: what follows takes some too."""
RIVAL_SHARE = 0.12
"""Of the time, that trials and finalists leave to a rival."""
USED_SHARE = 0.9
"""Of what is left, by the long training: what follows it takes time too."""
N_SAMPLED, SAMPLED_FROM = 1024, 4
"""On a CPU a step may have so many wrong answers, where there are four times as many entities."""
SHORTER_PATHS = (3, 1)
"""Of two graphs, where there is no time for theirs: in a few minutes of a core these taught more on
two pairs of three (benchmarks/NOTES.md)."""
EVERY = 3
"""Of such epochs one is validated: after the first nothing can be compared yet."""
THREE_RUNGS, SCARCE_SHARE = 9, 0.45
"""Along walks, with fewer epochs than that in a fifth of the time, the best trial may have nearly
half of it: few networks are tried then, and one of them is trained."""
FEW_EPOCHS = 4
"""Where there is no time even for these, whatever saves some is welcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What comes after the trials."""

    n_finalists: int = 1
    """Trials that are repeated with other seeds; 1: none."""
    is_long: bool = False
    """Whether the winner is trained anew, as long as there is time for."""
    has_rival: bool = False
    """Whether a model outside the space is trained too; where the winner is trained anew, in its
    time."""

    @property
    def search_share(self) -> float:
        """The share of the time that is for the trials."""
        if self.is_long:
            return 0.55
        share = 0.7 if self.n_finalists > 1 else 1.0
        return share - RIVAL_SHARE if self.has_rival else share

    @property
    def whole_share(self) -> float:
        """The share that is for the trials and the finalists."""
        return WHOLE_SHARE - RIVAL_SHARE if self.has_rival else WHOLE_SHARE

    def describe(self) -> str:
        """Return it as a part of the plan."""
        rival = "then a rival, " if self.has_rival else ""
        if self.is_long:
            return f"{rival}then the winner as long as there is time, "
        return f"then the finalists with more seeds, {rival}" if self.n_finalists > 1 else rival


def fit_to_time(
    settings: TrainingSettings,
    measure: Callable[[TrainingSettings], Speed],
    seconds: float,
    *,
    kept: Collection[str] = (),
    n_sampled: int | None = None,
) -> tuple[TrainingSettings, Speed]:
    """Return the settings with which there is time for a search, and how long they take.

    Where there is no time for all wrong answers, a step has `n_sampled`, if that is given. Settings
    that are to be `kept` stay as they are.
    """
    enough, least = min(ENOUGH_EPOCHS, settings.max_epochs), LEAST_DIM
    for_training = TRAINING_SHARE * seconds
    settings, speed = sample_or_not(settings, measure, for_training / enough, n_sampled)
    if "path_length" not in kept:
        usual = settings.walk
        settings, speed = shorten_paths(settings, speed, measure, for_training / enough)
        if settings.walk != usual:  # the winner has more epochs than its trial
            enough = THREE_RUNGS
    if settings.propagation is not None:
        whole, enough, least = settings, min(FEW_EPOCHS, enough), LEAST_STATE
        if settings.max_epochs * speed.per_epoch(settings) > for_training:
            wanted = SHORT_SHARE * seconds / PROPAGATION_EPOCHS
            settings, speed = shorten_epochs(settings, speed, wanted)
        if is_shortened(settings, whole):
            for_training = SHORT_SHARE * seconds
    while "dim" not in kept and settings.dim >= 2 * least:
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


def shorten_paths(
    settings: TrainingSettings,
    speed: Speed,
    measure: Callable[[TrainingSettings], Speed],
    epoch_seconds: float,
) -> tuple[TrainingSettings, Speed]:
    """Return settings of two graphs with shorter paths, where an epoch is to take no longer."""
    is_pair = settings.walk.cross_bias is not None
    for length in (n for n in SHORTER_PATHS if is_pair and n < settings.walk.length):
        if speed.per_epoch(settings) <= epoch_seconds:
            break
        settings = replace_settings(settings, {"path_length": length, "validate_every": EVERY})
        speed = measure(settings)
    return settings, speed


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
    """Return whether trainings are much shorter than otherwise: fewer queries, or short paths."""
    if settings.propagation is None or whole.propagation is None:
        return settings.walk.length < whole.walk.length
    return settings.propagation.queries_per_epoch < whole.propagation.queries_per_epoch


def lengthen(
    settings: TrainingSettings, whole: TrainingSettings, speed: Speed, seconds: float, n_valid: int
) -> TrainingSettings | None:
    """Return shortened settings for a training as long as there is time for.

    It is at most as long as the whole one. None: there is no time for more than it has had. Its
    validations, and the last measurements, are of fewer than `n_valid` triplets or pairs where all
    would take more than a third of the time.
    """
    seconds *= USED_SHARE
    if settings.propagation is None or whole.propagation is None:
        return _with_more_epochs(settings, whole, seconds / speed.per_epoch(settings))
    each = N_VALIDATIONS * speed.valid_seconds / max(1, speed.n_ranked)
    most = int(VALID_SHARE * seconds / each) if each else n_valid
    measured = whole.measured if most >= n_valid else max(LEAST_MEASURED, most)
    seconds -= each * min(n_valid, measured or n_valid)
    an_epoch = whole.propagation.queries_per_epoch
    per_second = settings.propagation.queries_per_epoch / speed.epoch_seconds
    n_queries = min(whole.max_epochs * an_epoch, int(seconds * per_second))
    if n_queries <= settings.max_epochs * settings.propagation.queries_per_epoch:
        return None
    n_epochs = min(whole.max_epochs, max(FEWEST_VALIDATIONS, math.ceil(n_queries / an_epoch)))
    longer = replace(settings.propagation, queries_per_epoch=n_queries // n_epochs)
    return replace(
        settings,
        max_epochs=n_epochs,
        lr_decay=falling_rate(n_epochs),
        validate_every=whole.validate_every,
        measured=measured,
        propagation=longer,
    )


def _with_more_epochs(
    settings: TrainingSettings, whole: TrainingSettings, n_affordable_epochs: float
) -> TrainingSettings | None:
    """Return settings of short paths with more epochs, at most as many paths as the whole has."""
    n_paths = whole.max_epochs * whole.walk.paths_per_triplet
    n_epochs = min(n_paths // settings.walk.paths_per_triplet, int(n_affordable_epochs))
    return replace(settings, max_epochs=n_epochs) if n_epochs > settings.max_epochs else None


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
