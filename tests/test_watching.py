"""Long work says how far it is to whoever watched last, and how much is said."""

from interstellar.watching import Loudness, is_watched, loudness, say_how_far, speaking, watching


def test_who_watches_last_is_told() -> None:
    first: list[str] = []
    second: list[str] = []

    with watching(lambda work, *_: first.append(work)):
        say_how_far("a", 1, 2, "rows")
        with watching(lambda work, *_: second.append(work)):
            say_how_far("b", 1, 2, "rows")
        say_how_far("c", 2, 2, "rows")

    say_how_far("d", 1, 2, "rows")
    assert (first, second) == (["a", "c"], ["b"])
    assert not is_watched()


def test_how_much_is_said_ends_with_what_it_was_for() -> None:
    with speaking(Loudness.QUIET):
        assert loudness() is Loudness.QUIET
    assert loudness() is Loudness.NORMAL
