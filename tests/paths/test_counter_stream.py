"""Random numbers computed from their place."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from interstellar.paths.counter_stream import MAX_ROUND, MAX_STEP, path_states, uniform

WORD = 2**64


def splitmix64(key: int, n: int) -> int:
    """Return the n-th number of SplitMix64, in Python's unbounded integers."""
    z = (key + n * 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def test_the_plain_python_stream_is_the_published_one() -> None:
    numbers = [splitmix64(1234567, n) for n in range(1, 4)]

    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(
    key=st.integers(0, WORD - 1),
    path=st.integers(0, 2**40 - 1),
    step=st.integers(0, MAX_STEP),
    round=st.integers(0, MAX_ROUND),
)
def test_numbers_are_those_of_splitmix64_at_their_place(
    key: int, path: int, step: int, round: int
) -> None:
    expected = splitmix64(key, path << 24 | step << 8 | round) >> 11

    u = uniform(path_states(key, torch.tensor([path])), step=step, round=round)

    assert u.item() == expected / 2**53


def test_numbers_fill_the_unit_interval_evenly() -> None:
    u = uniform(path_states(7, torch.arange(100_000)), step=3, round=0)

    counts = torch.histc(u, bins=100, min=0, max=1)
    assert u.min() >= 0
    assert u.max() < 1
    assert (counts - 1000).abs().max() < 6 * 1000**0.5


def test_another_step_or_round_gives_other_numbers() -> None:
    states = path_states(7, torch.arange(1000))

    numbers = torch.cat([uniform(states, step=s, round=r) for s in range(3) for r in range(3)])

    assert len(set(numbers.tolist())) == 9000
