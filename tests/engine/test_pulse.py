"""How long is too long for a worker to say nothing, or to do nothing."""

from interstellar.engine.pulse import (
    FROZEN_SECONDS,
    IDLE_SECONDS,
    N_LONGEST,
    STARTING_SECONDS,
    Pulse,
)


def started() -> Pulse:
    pulse = Pulse()
    pulse.beat(0.0)
    pulse.begin()
    return pulse


def test_one_that_says_nothing_for_long_hangs() -> None:
    pulse = started()

    pulse.listen(FROZEN_SECONDS)
    assert pulse.find_fault() is None
    pulse.listen(1)

    assert pulse.find_fault() == f"hung (nothing was heard of it for {FROZEN_SECONDS + 1:.0f} s)"


def test_one_that_was_slow_before_is_given_more_time() -> None:
    pulse = started()
    pulse.listen(FROZEN_SECONDS / 2)
    pulse.beat(1.0)

    pulse.listen(N_LONGEST * FROZEN_SECONDS / 2)
    assert pulse.find_fault() is None
    pulse.listen(1)

    assert pulse.find_fault() is not None


def test_one_that_has_not_said_a_word_yet_may_take_longer() -> None:
    pulse = Pulse()
    pulse.begin()

    pulse.listen(STARTING_SECONDS)
    assert pulse.find_fault() is None
    pulse.listen(1)

    assert pulse.find_fault() is not None


def test_one_that_beats_but_neither_computes_nor_gets_on_hangs() -> None:
    pulse = started()

    for second in range(round(IDLE_SECONDS) + 1):
        assert pulse.find_fault() is None
        pulse.listen(1)
        pulse.beat(0.001 * second)  # what the beating itself takes

    assert pulse.find_fault() == f"hung (it did nothing for {IDLE_SECONDS + 1:.0f} s)"


def test_one_that_computes_long_without_a_word_of_its_work_does_not_hang() -> None:
    pulse = started()

    for second in range(10 * round(IDLE_SECONDS)):
        pulse.listen(1)
        pulse.beat(float(second))
        assert pulse.find_fault() is None


def test_one_that_gets_on_without_computing_does_not_hang() -> None:
    """A card computes for it."""
    pulse = started()

    for _ in range(10):
        pulse.listen(FROZEN_SECONDS - 1)
        pulse.speak()
        assert pulse.find_fault() is None


def test_with_a_new_piece_the_pause_begins_anew() -> None:
    pulse = started()
    pulse.listen(FROZEN_SECONDS + 1)

    pulse.begin()

    assert pulse.find_fault() is None
