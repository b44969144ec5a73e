"""Work done in this process."""

from collections.abc import Sequence

import pytest

from interstellar.engine.engine import Done, OnProgress, Plain, ThisProcess


def double(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
    return [{"doubled": 2 * work["x"]} for work in works]


def test_what_was_started_is_done_under_its_number_in_the_order_of_starts() -> None:
    engine = ThisProcess(double, n_together=3)
    for number in (7, 2, 5):
        engine.start(number, {"x": number})

    done = engine.wait()

    assert done == [Done(n, {"doubled": 2 * n}) for n in (7, 2, 5)]


def test_there_is_room_for_as_many_as_are_done_together() -> None:
    engine = ThisProcess(double, n_together=2)

    free = [engine.n_free]
    for number in range(2):
        engine.start(number, {"x": number})
        free.append(engine.n_free)
    engine.wait()
    free.append(engine.n_free)

    assert free == [2, 1, 0, 2]


def test_the_workbench_gets_all_pieces_at_once() -> None:
    seen: list[list[Plain]] = []

    def note(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
        seen.append(list(works))
        return [{} for _ in works]

    engine = ThisProcess(note, n_together=2)
    engine.start(0, {"x": 0})
    engine.start(1, {"x": 1})
    engine.wait()

    assert seen == [[{"x": 0}, {"x": 1}]]


def test_who_waits_is_told_how_far_the_pieces_are() -> None:
    def report(works: Sequence[Plain], on_progress: OnProgress) -> list[Plain]:
        for n_done in (1, 2):
            on_progress(works[0]["number"], n_done, 2)
        return [{} for _ in works]

    told: list[tuple[int, int, int]] = []
    engine = ThisProcess(report)
    engine.start(4, {"number": 4})
    engine.wait(on_progress=lambda *progress: told.append(progress))

    assert told == [(4, 1, 2), (4, 2, 2)]


def test_what_goes_wrong_in_the_work_is_not_hidden() -> None:
    def fail(_: Sequence[Plain], __: OnProgress) -> list[Plain]:
        raise OSError("no room")

    engine = ThisProcess(fail)
    engine.start(0, {})

    with pytest.raises(OSError, match="no room"):
        engine.wait()


def test_closing_drops_what_was_started() -> None:
    engine = ThisProcess(double)
    engine.start(0, {"x": 1})

    engine.close()

    assert engine.n_free == 1
