"""Tests of the search space, its choices and its subspaces."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture, Micro, Source
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import (
    CHAINS,
    LITERATURE,
    PTRANSE_ADD,
    PUBLISHED,
    RSN,
    TRANSE,
)
from interstellar.architecture.search_space import (
    N_CHOICES,
    N_MACRO,
    SearchSpace,
    Subspace,
    build,
    choices,
    read_subspace,
    take,
)
from interstellar.errors import ArchitectureError
from tests.architecture.reference_cell import draw_parameters, evaluate
from tests.architecture.strategies import architectures

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


@pytest.mark.slow
def test_the_whole_space_has_as_many_forms_as_counting_says() -> None:
    space = SearchSpace()

    forms = {canonical_form(architecture) for architecture in space.architectures()}

    assert space.count_distinct() == len(forms) == 205_993
    assert all(canonical_form(form) == form and form in space for form in forms)


@pytest.mark.parametrize(("subspace", "n_macro"), [(None, 512), ("P2", 0), ("P3", 128)])
def test_a_space_of_messages_has_the_points_that_pass_on_what_was_before(
    subspace: str | None, n_macro: int
) -> None:
    whole = SearchSpace(None if subspace is None else Subspace(subspace))

    space = replace(whole, is_of_messages=True)

    assert space.n_macro == n_macro
    assert {m for m in whole.macros() if m.is_hidden_passed_on} == set(space.macros())


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
    space = SearchSpace()

    first, again, other = ([space.sample(rng) for _ in range(9)] for rng in generators(7, 7, 8))

    assert first == again
    assert first != other
    assert len(set(first)) == 9, "589,824 architectures do not come up twice in nine"


def generators(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def test_a_point_outside_a_subspace_is_not_in_it() -> None:
    outside = [a for a in SearchSpace().macros() if a.relation_source != "subject_output"]
    inside = set(SearchSpace(Subspace.P4).macros())

    assert not inside & set(outside)


spaces = st.sampled_from([SearchSpace(), *map(SearchSpace, Subspace)])


def points(space: SearchSpace) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, len(c.options) - 1) for c in space.choices()))


@given(architecture=architectures)
def test_an_architecture_is_built_from_the_options_it_takes(architecture: Architecture) -> None:
    assert build(take(architecture)) == architecture


@given(space=spaces, architecture=architectures)
def test_the_point_of_an_architecture_leads_back_to_it(
    space: SearchSpace, architecture: Architecture
) -> None:
    assume(architecture in space)

    assert space.at(space.locate(architecture)) == architecture


@given(space=spaces, data=st.data())
def test_the_architecture_at_a_point_lies_in_the_space_and_leads_back_to_it(
    space: SearchSpace, data: st.DataObject
) -> None:
    point = data.draw(points(space))

    architecture = space.at(point)

    assert architecture in space
    assert space.locate(architecture) == point


def test_macro_choices_come_first_and_make_up_the_macro_level() -> None:
    space = SearchSpace()
    sizes = [len(choice.options) for choice in space.choices()]
    first, second = (0,) * N_MACRO, (1,) * N_MACRO
    rest = (1,) * (N_CHOICES - N_MACRO)

    assert sizes == [4, 4, 4, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2]
    assert space.at(first + rest).micro == space.at(second + rest).micro
    assert space.at(first + rest).macro != space.at(second + rest).macro


def test_a_subspace_leaves_only_its_sources_to_choose_from() -> None:
    options = {choice.name: choice.options for choice in SearchSpace(Subspace.P3).choices()}

    assert options["relation_source"] == (Source.HIDDEN,)
    assert options["output_source"] == (Source.HIDDEN, Source.ZERO)
    assert len(options) == N_CHOICES


def test_the_options_of_an_architecture_stand_under_their_names() -> None:
    names = [choice.name for choice in choices(Source, Source)]

    taken = dict(zip(names, take(TRANSE), strict=True))

    assert taken["relation_source"] is TRANSE.macro.relation_source
    assert taken["output"] is TRANSE.macro.output
    assert taken["subject_activation"] is TRANSE.micro.subject_activation
    assert [taken[f"W_{i}"] for i in range(1, 7)] == [
        i in TRANSE.micro.trained for i in range(1, 7)
    ]


@pytest.mark.parametrize("text", ["P3", "p3", " P3 "])
def test_a_subspace_is_read_in_any_case(text: str) -> None:
    assert read_subspace(text) is Subspace.P3


def test_an_unknown_subspace_is_answered_with_the_known_ones_and_their_meaning() -> None:
    with pytest.raises(ArchitectureError, match=r"'P5' is not .*P1 \(single hop.*P4 \(entities"):
        read_subspace("P5")


def test_published_models_lie_in_the_subspaces_the_paper_names() -> None:
    assert TRANSE in SearchSpace(Subspace.P1)
    assert PUBLISHED["Interstellar-FB15k-237"] in SearchSpace(Subspace.P2)
    assert PTRANSE_ADD in SearchSpace(Subspace.P3)
    assert CHAINS in SearchSpace(Subspace.P4)
    assert RSN in SearchSpace(Subspace.P4)


@pytest.mark.parametrize(("subspace", "reach"), [(Subspace.P1, 1), (Subspace.P2, 2)])
def test_what_was_before_the_last_triplets_of_a_short_sighted_subspace_never_arrives(
    subspace: Subspace, reach: int
) -> None:
    rng = np.random.default_rng(0)
    p = draw_parameters(rng, 4)
    s, r = rng.normal(size=(2, 6, 4))
    other_s, other_r = rng.normal(size=(2, 6, 4))
    other_s[-reach:], other_r[-reach:] = s[-reach:], r[-reach:]

    for _ in range(50):
        architecture = SearchSpace(subspace).sample(rng)
        last = evaluate(architecture, p, s, r)[-1]
        other_last = evaluate(architecture, p, other_s, other_r)[-1]

        np.testing.assert_allclose(last, other_last)


def test_a_long_path_in_p3_depends_on_its_first_entity_only() -> None:
    rng = np.random.default_rng(0)
    p = draw_parameters(rng, 4)
    s, r = rng.normal(size=(2, 6, 4))
    other_s = np.concatenate([s[:1], rng.normal(size=(5, 4))])

    for _ in range(50):
        architecture = SearchSpace(Subspace.P3).sample(rng)

        np.testing.assert_array_equal(
            evaluate(architecture, p, s, r), evaluate(architecture, p, other_s, r)
        )
