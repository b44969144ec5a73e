"""Tests of the thirteen choices: a point and its architecture say the same."""

from hypothesis import assume, given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.choices import Source
from interstellar.architecture.coordinates import N_CHOICES, N_MACRO, build, choices, take
from interstellar.architecture.literature import TRANSE
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace
from tests.architecture.strategies import architectures

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
