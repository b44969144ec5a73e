"""Tests of the subspaces of the Countries study."""

import numpy as np
import pytest

from interstellar.architecture.literature import CHAINS, PTRANSE_ADD, PUBLISHED, RSN, TRANSE
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace, read_subspace
from interstellar.errors import ArchitectureError

from .reference_cell import draw_parameters, evaluate


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
