"""The network of a trial: along walks, or propagated with choices that the trial says."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import from_formula, to_formula
from interstellar.architecture.propagation import (
    CLAUSES,
    Aggregation,
    Propagation,
    canonical_propagation,
    from_text,
)
from interstellar.errors import ArchitectureError, SettingsError
from interstellar.searching.tried_network import (
    Changes,
    cell_of,
    formula_of,
    identify,
    network_of,
    own_choices,
    searched_network,
)
from interstellar.training.defaults import LINK_PREDICTION, PROPAGATION
from interstellar.training.settings_changes import replace_settings
from tests.architecture.strategies import architectures, propagations

OWN = own_choices(PROPAGATION)


def say(propagation: Propagation) -> dict[str, Any]:
    """Return the choices of a propagation as a journal has them."""
    said = {name: getattr(propagation, name) for name in CLAUSES}
    return {name: value if name == "depth" else str(value) for name, value in said.items()}


@given(architectures)
def test_without_choices_a_network_walks(architecture: Architecture) -> None:
    network = searched_network(architecture, {"dropout": 0.1, "dim": 8})

    assert network == cell_of(network) == canonical_form(architecture)
    assert formula_of(network) == to_formula(canonical_form(architecture))


@given(propagations)
def test_with_choices_it_is_propagated(propagation: Propagation) -> None:
    network = network_of(propagation.cell, {"dim": 8, **say(propagation)})

    assert network == canonical_propagation(propagation)
    assert cell_of(network) == canonical_propagation(propagation).cell
    assert from_text(formula_of(network)) == network


@pytest.mark.parametrize(
    ("one", "other", "is_one_along_walks"),
    [
        ("O_r = s ⊙ r; v = O_r", "O_r = r; v = s ⊙ O_r", True),
        ("O_r = h + W4 r; v = O_r", "O_r = h + r; v = O_r", False),
    ],
)
def test_what_is_one_network_along_walks_is_another_propagated_and_the_reverse(
    one: str, other: str, is_one_along_walks: bool
) -> None:
    """A state is an aggregate of messages, and r_t is a vector of the layer's own."""
    cells = [from_formula(one), from_formula(other)]

    walking, propagated = ([network_of(cell, changes) for cell in cells] for changes in ({}, OWN))

    assert (walking[0] == walking[1]) is is_one_along_walks
    assert (propagated[0] == propagated[1]) is not is_one_along_walks


def test_the_own_choices_are_all_that_a_network_is_made_of() -> None:
    assert own_choices(LINK_PREDICTION) == {}
    assert {field.name for field in fields(Propagation)} == {"cell", *OWN}
    assert replace_settings(PROPAGATION, OWN) == PROPAGATION
    assert PROPAGATION.propagation is not None
    changed = replace(PROPAGATION.propagation, aggregation=Aggregation.MAX, depth=2)
    assert own_choices(replace(PROPAGATION, propagation=changed)) == {
        **OWN,
        "aggregation": "max",
        "depth": 2,
    }


def test_a_trial_is_told_from_others_by_its_network_what_is_beside_it_and_the_seed() -> None:
    cell = from_formula("O_r = h + r; v = O_r")

    network, others, seed = identify(cell, {"dim": 8, **OWN}, 3)

    assert (network, dict(others), seed) == (network_of(cell, OWN), {"dim": 8}, 3)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"depth": 2}, KeyError),
        ({**OWN, "aggregation": "best"}, SettingsError),
        ({**OWN, "update": 3}, SettingsError),
        ({**OWN, "depth": 9}, ArchitectureError),
        ({**OWN, "depth": 2.0}, ArchitectureError),
    ],
)
def test_what_no_propagation_has_is_refused(changes: Changes, error: type[Exception]) -> None:
    with pytest.raises(error):
        network_of(from_formula("O_r = h + r; v = O_r"), changes)
