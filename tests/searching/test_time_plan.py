"""The plan of a search with a limit of time: networks and trainings that find room in it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interstellar.errors import SettingsError
from interstellar.searching.rungs import Rungs
from interstellar.searching.speed import Speed
from interstellar.searching.time_plan import (
    ENOUGH_EPOCHS,
    LEAST_DIM,
    Ending,
    cost_of_trial,
    describe_plan,
    fit_to_time,
    is_shortened,
    lengthen,
    n_affordable,
    refuse_too_short,
    shorten_epochs,
    with_epochs,
)
from interstellar.training.defaults import ALIGNMENT, LINK_PREDICTION, PROPAGATION, falling_rate
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import replace_settings

CPU = torch.device("cpu")


def taking(seconds_of: Callable[[TrainingSettings], float]) -> Callable[[TrainingSettings], Speed]:
    """Return what stands for the measurement: so many seconds for an epoch without validation."""
    return lambda settings: Speed(epoch_seconds=seconds_of(settings), valid_seconds=0.0)


def test_an_epoch_has_its_share_of_the_validations() -> None:
    speed = Speed(epoch_seconds=2.0, valid_seconds=9.0)

    assert speed.per_epoch(replace(LINK_PREDICTION, validate_every=3)) == 5.0


def test_with_enough_time_the_settings_are_left_as_they_are() -> None:
    fitted, _ = fit_to_time(LINK_PREDICTION, taking(lambda _: 0.01), 600)

    assert fitted == LINK_PREDICTION


def test_networks_are_smaller_before_they_are_trained_for_too_few_epochs() -> None:
    """An epoch takes a hundredth of a second a dimension: at 128 there is time for 28."""
    fitted, speed = fit_to_time(LINK_PREDICTION, taking(lambda settings: settings.dim / 100), 180)

    assert (fitted.dim, fitted.max_epochs) == (128, 28)
    assert speed.epoch_seconds == 1.28


def test_networks_are_not_smaller_where_that_hardly_saves_time() -> None:
    """A card takes as long for half the dimension: fewer epochs of the whole one are better."""
    fitted, _ = fit_to_time(LINK_PREDICTION, taking(lambda settings: 2 + settings.dim / 512), 60)

    assert (fitted.dim, fitted.max_epochs) == (LINK_PREDICTION.dim, 9)


@pytest.mark.parametrize(
    ("seconds", "n_negatives", "n_measured"), [(135, 1024, 1), (600, 1024, 2), (6000, None, 2)]
)
def test_a_step_has_some_wrong_answers_where_there_is_no_time_for_all(
    seconds: float, n_negatives: int | None, n_measured: int
) -> None:
    """An epoch takes two seconds with some and twenty with all."""
    measured: list[int | None] = []

    def measure(settings: TrainingSettings) -> Speed:
        measured.append(settings.n_negatives)
        return Speed(epoch_seconds=20.0 if settings.n_negatives is None else 2.0, valid_seconds=0.0)

    fitted, speed = fit_to_time(LINK_PREDICTION, measure, seconds, kept=["dim"], n_sampled=1024)

    assert fitted.n_negatives == n_negatives
    assert measured == [1024, None][:n_measured]
    assert fitted.max_epochs * speed.epoch_seconds <= 0.2 * seconds


def test_wrong_answers_are_sampled_on_a_cpu_among_many_entities_unless_something_is_said() -> None:
    given, smoothed = replace(ALIGNMENT, n_negatives=9), replace(ALIGNMENT, label_smoothing=0.1)

    assert n_affordable(ALIGNMENT, 5000, CPU) == 1024
    assert n_affordable(ALIGNMENT, 4000, CPU) is None
    assert n_affordable(ALIGNMENT, 5000, torch.device("cuda")) is None
    assert [n_affordable(s, 5000, CPU) for s in (given, smoothed, PROPAGATION)] == [None] * 3


@pytest.mark.parametrize(
    ("seconds", "length", "n_epochs"), [(2000, 7, 36), (540, 3, 27), (300, 1, 36), (45, 1, 13)]
)
def test_paths_of_two_graphs_are_shorter_where_there_is_no_time_for_theirs(
    seconds: float, length: int, n_epochs: int
) -> None:
    """An epoch takes two seconds for each of two paths of two triplets."""
    measure = taking(lambda s: 2.0 / 3 * s.walk.length * s.walk.paths_per_triplet)

    fitted, _ = fit_to_time(ALIGNMENT, measure, seconds)

    assert (fitted.walk.length, fitted.max_epochs) == (length, n_epochs)
    assert fitted.dim == ALIGNMENT.dim


def test_paths_are_as_long_as_was_said_and_those_of_one_graph_as_they_are() -> None:
    links = replace_settings(LINK_PREDICTION, {"path_length": 3})

    kept, _ = fit_to_time(ALIGNMENT, taking(lambda _: 4.0), 60, kept=["path_length"])
    of_links, _ = fit_to_time(links, taking(lambda _: 4.0), 60)

    assert kept.walk == ALIGNMENT.walk
    assert of_links.walk == links.walk


def test_networks_are_smaller_where_there_would_hardly_be_an_epoch_otherwise() -> None:
    fitted, _ = fit_to_time(LINK_PREDICTION, taking(lambda settings: 10 + settings.dim / 32), 60)

    assert (fitted.dim, fitted.max_epochs) == (LEAST_DIM, 2)


def test_a_dimension_that_was_given_is_kept_and_the_epochs_are_fewer() -> None:
    fitted, _ = fit_to_time(
        LINK_PREDICTION, taking(lambda settings: settings.dim / 100), 180, kept=["dim"]
    )

    assert (fitted.dim, fitted.max_epochs) == (LINK_PREDICTION.dim, 9)


@given(st.floats(1e-3, 100), st.floats(10, 10**5), st.booleans())
def test_what_fits_is_never_more_than_was_asked_for_nor_nothing(
    epoch_seconds: float, seconds: float, keeps_dim: bool
) -> None:
    measure = taking(lambda settings: epoch_seconds * settings.dim / 512)
    try:
        fitted, speed = fit_to_time(
            LINK_PREDICTION, measure, seconds, kept=["dim"] if keeps_dim else []
        )
    except SettingsError:
        assert 4 * epoch_seconds * (1.0 if keeps_dim else LEAST_DIM / 512) > seconds
        return

    assert LEAST_DIM <= fitted.dim <= LINK_PREDICTION.dim
    assert fitted.dim % 2 == 0
    assert 1 <= fitted.max_epochs <= LINK_PREDICTION.max_epochs
    assert fitted.dim == LINK_PREDICTION.dim or not keeps_dim
    if fitted.max_epochs < ENOUGH_EPOCHS:
        assert keeps_dim or fitted.dim < 2 * LEAST_DIM
    whole = fitted.max_epochs * speed.per_epoch(fitted)
    share = 0.45 if fitted.max_epochs <= 9 else 0.2
    assert fitted.max_epochs == 1 or whole <= share * seconds * 1.001


@pytest.mark.parametrize(
    ("seconds", "n_epochs"), [(150.0, 30), (50.0, 10), (40.0, 9), (10.0, 4), (4.0, 1)]
)
def test_a_training_may_take_a_fifth_of_the_time_or_nearly_half_for_nine_epochs(
    seconds: float, n_epochs: int
) -> None:
    fitted, _ = fit_to_time(LINK_PREDICTION, taking(lambda _: 1.0), seconds, kept=["dim"])

    assert fitted.max_epochs == n_epochs


def test_a_time_too_short_for_a_few_epochs_is_refused_with_what_would_do() -> None:
    with pytest.raises(SettingsError, match=r"time is 60 s.* about 30 s here.* at least 10m"):
        fit_to_time(LINK_PREDICTION, taking(lambda _: 30.0), 60, kept=["dim"])


@pytest.mark.parametrize("settings", [LINK_PREDICTION, ALIGNMENT])
@pytest.mark.parametrize("n_epochs", [1, 4, 9, 18, 27, 36])
def test_a_short_training_is_validated_often_enough_for_rungs(
    settings: TrainingSettings, n_epochs: int
) -> None:
    short = with_epochs(settings, n_epochs)

    assert short.max_epochs == n_epochs
    assert short.validate_every <= settings.validate_every
    assert len(Rungs.of(short, prune=True).epochs) >= (1 if n_epochs == 1 else 2)
    assert short == replace(settings, max_epochs=n_epochs, validate_every=short.validate_every)


def test_a_trial_costs_what_it_does_on_average() -> None:
    """Nine trials of an epoch, three of two more, one of six more: 21 epochs."""
    assert cost_of_trial((1, 3, 9)) == pytest.approx(21 / 9)
    assert cost_of_trial((50,)) == 50


def test_the_plan_is_said_in_one_sentence_with_its_end() -> None:
    settings = replace(LINK_PREDICTION, max_epochs=9, validate_every=1)
    speed = Speed(epoch_seconds=0.5, valid_seconds=0.5)

    def describe(ending: Ending, *, prune: bool, max_epochs: int = 9) -> str:
        return describe_plan(
            replace(settings, max_epochs=max_epochs),
            speed,
            seconds=210.0,
            n_workers=2,
            ending=ending,
            prune=prune,
            now=lambda: datetime(2026, 5, 4, 14, 30, 0),
        )

    assert describe(Ending(n_finalists=3), prune=True) == (
        "plan: about 126 trials of up to 9 epochs, compared after 1, 3; "
        "then the finalists with more seeds, done at 14:33:30"
    )
    assert describe(Ending(is_long=True), prune=True) == (
        "plan: about 99 trials of up to 9 epochs, compared after 1, 3; "
        "then the winner as long as there is time, done at 14:33:30"
    )
    assert describe(Ending(), prune=False) == (
        "plan: about 47 trials of up to 9 epochs; done at 14:33:30"
    )
    assert "of up to 1 epoch;" in describe(Ending(), prune=True, max_epochs=1)


def test_a_propagation_has_shorter_epochs_before_it_has_fewer() -> None:
    """A tenth of 400 s is 4.4 s for each of 9; an epoch takes 10 s, a validation 0.5 s."""
    speed = Speed(epoch_seconds=10.0, valid_seconds=0.5, n_steps=100)

    fitted, faster = fit_to_time(PROPAGATION, lambda _: speed, 400)

    assert fitted.propagation is not None
    assert fitted.propagation.queries_per_epoch == 39 * PROPAGATION.batch_size
    assert (fitted.dim, fitted.max_epochs) == (PROPAGATION.dim, 9)
    assert faster == Speed(epoch_seconds=3.9, valid_seconds=0.5, n_steps=39)


def test_an_epoch_of_a_propagation_is_no_shorter_than_its_validation() -> None:
    speed = Speed(epoch_seconds=10.0, valid_seconds=4.0, n_steps=100)

    fitted, faster = fit_to_time(PROPAGATION, lambda _: speed, 400)

    assert faster.epoch_seconds == 4.0
    assert fitted.max_epochs == 5


def test_short_epochs_of_a_propagation_are_validated_on_a_part_of_a_large_split() -> None:
    speed = Speed(epoch_seconds=10.0, valid_seconds=4.0, n_steps=100, n_ranked=16_000)

    fitted, faster = fit_to_time(PROPAGATION, lambda _: speed, 400)

    assert fitted.measured == faster.n_ranked == 2000
    assert faster.valid_seconds == 0.5


@pytest.mark.parametrize(("valid_seconds", "n_measured"), [(60.0, 395), (600.0, 300)])
def test_a_validation_takes_a_third_of_a_short_epoch_if_it_can(
    valid_seconds: float, n_measured: int
) -> None:
    speed = Speed(epoch_seconds=100.0, valid_seconds=valid_seconds, n_steps=100, n_ranked=16_000)

    fitted, faster = shorten_epochs(PROPAGATION, speed, 400 / 90)

    assert fitted.measured == faster.n_ranked == n_measured
    assert faster.valid_seconds == pytest.approx(valid_seconds * n_measured / 16_000)
    assert faster.epoch_seconds >= faster.valid_seconds


def test_the_rate_of_a_shortened_propagation_falls_as_far_as_that_of_a_whole_one() -> None:
    speed = Speed(epoch_seconds=10.0, valid_seconds=0.5, n_steps=100)

    fitted, own = (
        fit_to_time(replace(PROPAGATION, lr_decay=decay), lambda _: speed, 400)[0]
        for decay in (falling_rate(PROPAGATION.max_epochs), 0.97)
    )

    assert fitted.lr_decay ** (fitted.max_epochs - 1) == pytest.approx(0.05, rel=0.1)
    assert own.lr_decay == 0.97, "another decay is left as it was given"


def shortened() -> TrainingSettings:
    """Nine epochs of a quarter of the queries."""
    whole = replace(PROPAGATION, max_epochs=9)
    assert whole.propagation is not None
    quarter = whole.propagation.queries_per_epoch // 4
    return replace(
        whole, measured=50, propagation=replace(whole.propagation, queries_per_epoch=quarter)
    )


def n_queries(settings: TrainingSettings) -> int:
    assert settings.propagation is not None
    return settings.max_epochs * settings.propagation.queries_per_epoch


TEN_SECONDS, TWO_SECONDS = (Speed(epoch_seconds=n, valid_seconds=0.0) for n in (10.0, 2.0))


@pytest.mark.parametrize(
    ("n_valid", "measured", "seconds_left"),
    [(400, None, 820), (1500, None, 600), (20_000, 1500, 600)],
)
def test_all_measurements_of_a_long_training_take_a_third_of_its_time_at_most(
    n_valid: int, measured: int | None, seconds_left: float
) -> None:
    """A triplet takes .02 s: ten times all of 20,000 would be more than an hour, of 15 minutes."""
    speed = Speed(epoch_seconds=10.0, valid_seconds=1.0, n_ranked=50)
    whole = replace(PROPAGATION, max_epochs=1000)

    longer = lengthen(shortened(), whole, speed, 1000, n_valid)

    assert longer is not None
    assert longer.measured == measured
    an_epoch = n_queries(shortened()) / 9
    assert n_queries(longer) == pytest.approx(an_epoch * seconds_left / 10, rel=0.01)


@pytest.mark.parametrize("seconds", [120, 300, 700])
def test_what_was_shortened_is_trained_as_long_as_there_is_time_for(seconds: float) -> None:
    """A short epoch takes 10 s; nine tenths of the time are used."""
    longer = lengthen(shortened(), PROPAGATION, TEN_SECONDS, seconds, 400)

    assert longer is not None
    affordable = 0.9 * seconds / 10 * n_queries(shortened()) / 9
    assert n_queries(longer) == pytest.approx(min(n_queries(PROPAGATION), affordable), rel=0.01)
    assert 8 <= longer.max_epochs <= PROPAGATION.max_epochs
    assert longer.lr_decay == falling_rate(longer.max_epochs)
    assert (longer.measured, longer.learning_rate) == (None, PROPAGATION.learning_rate)


def test_with_all_the_time_it_is_trained_as_a_whole_one_and_with_none_not_again() -> None:
    longest = lengthen(shortened(), PROPAGATION, TEN_SECONDS, 1e6, 400)

    assert longest == replace(PROPAGATION, lr_decay=falling_rate(PROPAGATION.max_epochs))
    assert lengthen(shortened(), PROPAGATION, TEN_SECONDS, 100, 400) is None
    assert not is_shortened(PROPAGATION, PROPAGATION)
    assert is_shortened(shortened(), PROPAGATION)
    assert not is_shortened(LINK_PREDICTION, LINK_PREDICTION)


@pytest.mark.parametrize(("length", "most"), [(1, 72), (3, 36)])
def test_a_network_on_shorter_paths_is_trained_on_as_many_as_usual_if_there_is_time(
    length: int, most: int
) -> None:
    """Two paths begin with each triplet, and one where that is all of it."""
    short = replace_settings(ALIGNMENT, {"path_length": length, "max_epochs": 20})

    assert is_shortened(short, ALIGNMENT)
    assert lengthen(short, ALIGNMENT, TWO_SECONDS, 1e6, 50) == replace(short, max_epochs=most)
    assert lengthen(short, ALIGNMENT, TWO_SECONDS, 60, 50) == replace(short, max_epochs=27)
    assert lengthen(short, ALIGNMENT, TWO_SECONDS, 40, 50) is None


def test_a_propagation_is_smaller_where_there_would_hardly_be_an_epoch_otherwise() -> None:
    def measure(settings: TrainingSettings) -> Speed:
        return Speed(epoch_seconds=settings.dim, valid_seconds=0.0, n_steps=8)

    fitted, _ = fit_to_time(PROPAGATION, measure, 200)
    kept, _ = fit_to_time(PROPAGATION, measure, 200, kept=["dim"])

    assert (fitted.dim, fitted.max_epochs) == (16, 2)
    assert (kept.dim, kept.max_epochs) == (32, 1)


def test_with_enough_time_a_propagation_is_left_as_it_is() -> None:
    speed = Speed(epoch_seconds=1.0, valid_seconds=0.5, n_steps=9)

    assert fit_to_time(PROPAGATION, lambda _: speed, 600) == (PROPAGATION, speed)


def test_what_was_needed_to_begin_is_taken_off_the_time() -> None:
    settings = replace(LINK_PREDICTION, max_epochs=9, validate_every=1)
    speed = Speed(epoch_seconds=0.1, valid_seconds=0.1)

    refuse_too_short(settings, speed, 1.0, spent=0.7)
    with pytest.raises(SettingsError, match=r"the time is 1 s and 0.9 s were needed to begin"):
        refuse_too_short(settings, speed, 1.0, spent=0.9)
