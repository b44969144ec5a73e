"""All paths between two entities, as a plain search finds them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.triplets import Triplets, with_inverses
from interstellar.paths import path_search
from interstellar.paths.path_search import PathSearch

Steps = tuple[tuple[int, int, int], ...]


def search_plainly(
    triplets: Triplets, start: int, end: int, length: int, n_relations: int, without: Steps
) -> list[Steps]:
    """Return all paths by trying every triplet at every step."""
    found: list[Steps] = []

    def go_on(steps: Steps, here: int, visited: set[int]) -> None:
        for s, r, o in map(tuple, with_inverses(triplets, n_relations).tolist()):
            if s != here or o in visited or (s, r, o) in without:
                continue
            longer = (*steps, (s, r, o))
            if o == end:
                found.append(longer)
            elif len(longer) < length:
                go_on(longer, o, visited | {o})

    go_on((), start, {start})
    return sorted(found)


def as_steps(path: Triplets) -> Steps:
    return tuple((s, r, o) for s, r, o in path.tolist())


@given(
    rows=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5)), max_size=14),
    start=st.integers(0, 5),
    end=st.integers(0, 5),
    length=st.integers(1, 4),
)
def test_they_are_those_of_a_plain_search(
    rows: set[tuple[int, int, int]], start: int, end: int, length: int
) -> None:
    triplets = np.array(sorted(rows), dtype=np.int32).reshape(-1, 3)
    search = PathSearch(triplets, n_entities=6, n_relations=2)

    found = search.find(start, end, length=length, without=(start, 0, end))

    without = ((start, 0, end), (end, 2, start))
    expected = search_plainly(triplets, start, end, length, 2, without)
    assert sorted(map(as_steps, found.paths)) == expected
    assert found.is_complete
    lengths = [len(path) for path in found.paths]
    assert lengths == sorted(lengths)


def test_of_too_many_paths_some_are_kept_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 0, middle) for middle in range(1, 21)] + [
        (middle, 0, 21) for middle in range(1, 21)
    ]
    search = PathSearch(np.array(rows, dtype=np.int32), n_entities=22, n_relations=1)

    monkeypatch.setattr(path_search, "MOST_PATHS", 5)
    found = search.find(0, 21, length=2)

    assert len(found.paths) == 5
    assert not found.is_complete
