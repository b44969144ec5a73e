"""Tests of the search space: its size, its points and its distinct networks."""

from pathlib import Path

import numpy as np
import pytest

from interstellar.architecture.architecture import Micro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace

SPACES = [SearchSpace(part, only) for only in (False, True) for part in (None, *Subspace)]
every_space = pytest.mark.parametrize("space", SPACES, ids=str)
MANUAL = Path(__file__).parents[2] / "docs" / "notation.md"


def test_the_space_has_the_size_that_the_paper_gives() -> None:
    space = SearchSpace()

    assert (space.n_macro, space.n_micro, space.n_total) == (1024, 576, 589_824)


@every_space
def test_the_points_are_as_many_as_the_size_says_and_no_two_are_equal(space: SearchSpace) -> None:
    assert len(set(space.macros())) == space.n_macro
    assert len(set(space.micros())) == space.n_micro


@pytest.mark.parametrize(
    ("subspace", "n_macro"),
    [(Subspace.P1, 256), (Subspace.P2, 256), (Subspace.P3, 128), (Subspace.P4, 256)],
)
def test_a_subspace_has_the_macro_points_of_its_sources(subspace: Subspace, n_macro: int) -> None:
    assert SearchSpace(subspace).n_macro == n_macro


def test_the_whole_space_has_as_many_forms_as_counting_says() -> None:
    space = SearchSpace()

    forms = {canonical_form(architecture) for architecture in space.architectures()}

    assert space.count_distinct() == len(forms) == 205_993
    assert all(canonical_form(form) == form and form in space for form in forms)


@pytest.mark.parametrize("subspace", [None, *Subspace])
def test_the_manual_gives_the_sizes_that_counting_gives(subspace: Subspace | None) -> None:
    space = SearchSpace(subspace)

    n_macro, n_distinct_macros, n_total, n_distinct = sizes_in_manual(
        "whole" if subspace is None else f"{subspace}:"
    )

    assert (space.n_macro, space.n_total) == (n_macro, n_total)
    assert space.count_distinct_macros() == n_distinct_macros
    assert space.count_distinct() == n_distinct


def sizes_in_manual(name: str) -> list[int]:
    lines = MANUAL.read_text(encoding="utf-8").splitlines()
    row = next(line for line in lines if line.startswith(f"| {name}"))
    return [int(cell.replace(",", "")) for cell in row.strip("| ").split("|")[1:]]


def test_the_macro_level_alone_has_492_distinct_networks() -> None:
    assert SearchSpace().count_distinct_macros() == 492


@every_space
def test_a_sample_lies_in_the_space_and_reaches_every_macro_and_micro_point(
    space: SearchSpace,
) -> None:
    rng = np.random.default_rng(0)

    samples = [space.sample(rng) for _ in range(12 * 1024)]

    assert all(sample in space for sample in samples)
    assert {sample.macro for sample in samples} == set(space.macros())
    assert {sample.micro for sample in samples} == set(space.micros())


@every_space
def test_every_point_lies_in_the_space_and_is_located_there(space: SearchSpace) -> None:
    sizes = [len(choice.options) for choice in space.choices()]
    rng = np.random.default_rng(0)

    for _ in range(100):
        point = tuple(int(rng.integers(size)) for size in sizes)
        assert space.at(point) in space
        assert space.locate(space.at(point)) == point


def test_at_the_macro_level_there_are_no_activations_and_trained_matrices() -> None:
    space = SearchSpace(is_macro_only=True)

    assert (space.n_macro, space.n_micro, space.n_total) == (1024, 1, 1024)
    assert space.count_distinct() == 492
    assert list(space.micros()) == [Micro()]
    assert LITERATURE["ComplEx"] in space
    assert LITERATURE["RSN"] not in space


def test_the_same_seed_gives_the_same_samples() -> None:
    first, second = (np.random.default_rng(7) for _ in range(2))
    space = SearchSpace()

    assert [space.sample(first) for _ in range(9)] == [space.sample(second) for _ in range(9)]


def test_a_point_outside_a_subspace_is_not_in_it() -> None:
    outside = [a for a in SearchSpace().macros() if a.relation_source != "subject_output"]
    inside = set(SearchSpace(Subspace.P4).macros())

    assert not inside & set(outside)
