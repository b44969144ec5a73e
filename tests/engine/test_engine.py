"""Work done in this process."""

import pytest

from interstellar.engine.engine import Done, OnProgress, Plain, ThisProcess


def double(work: Plain, _: OnProgress) -> Plain:
    return {"doubled": 2 * work["x"]}


def test_what_was_started_is_done_under_its_number() -> None:
    engine = ThisProcess(double)

    done = []
    for number in (7, 2):
        engine.start(number, {"x": number})
        done += engine.wait()

    assert done == [Done(7, {"doubled": 14}), Done(2, {"doubled": 4})]


def test_there_is_room_for_one_piece() -> None:
    engine = ThisProcess(double)

    free = [engine.n_free]
    engine.start(0, {"x": 0})
    free.append(engine.n_free)
    engine.wait()
    free.append(engine.n_free)

    assert free == [1, 0, 1]


def test_who_waits_is_told_how_far_the_piece_is() -> None:
    def report(work: Plain, on_progress: OnProgress) -> Plain:
        for n_done in (0.5, 2):
            on_progress(work["number"], n_done, 2, None)
        return {}

    told: list[tuple[int, float, int, float | None]] = []
    engine = ThisProcess(report)
    engine.start(4, {"number": 4})
    engine.wait(on_progress=lambda *progress: told.append(progress))

    assert told == [(4, 0.5, 2, None), (4, 2, 2, None)]


def test_what_goes_wrong_in_the_work_is_not_hidden() -> None:
    def fail(_: Plain, __: OnProgress) -> Plain:
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
