"""Tests of the published models as data."""

from dataclasses import replace

import numpy as np
import pytest

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import (
    CHAINS,
    COMPLEX,
    DISTMULT,
    FOUND_ON_DBP_WD,
    KNOWN,
    LITERATURE,
    PROPAGATIONS,
    PTRANSE_ADD,
    PTRANSE_MUL,
    PTRANSE_RNN,
    PUBLISHED,
    RSN,
    TRANSE,
    find_by_name,
    name_of,
)
from interstellar.architecture.notation import code_text, from_code, to_formula
from interstellar.architecture.propagation import (
    Aggregation,
    RelationVectors,
    from_text,
    split_choices,
)

from .reference_cell import Array, as_complex, draw_parameters, evaluate, from_complex

RNG = np.random.default_rng(0)
S, R = RNG.normal(size=(2, 4, 6))
P = draw_parameters(RNG, 6)


def test_triplet_models_score_one_triplet_as_published() -> None:
    np.testing.assert_allclose(evaluate(TRANSE, P, S, R), S + R)
    np.testing.assert_allclose(evaluate(DISTMULT, P, S, R), S * R)
    product = [from_complex(as_complex(s) * as_complex(r)) for s, r in zip(S, R, strict=True)]
    np.testing.assert_allclose(evaluate(COMPLEX, P, S, R), product)


def test_ptranse_composes_the_relations_along_the_path_from_the_first_subject() -> None:
    np.testing.assert_allclose(evaluate(PTRANSE_ADD, P, S, R), S[0] + np.cumsum(R, axis=0))
    np.testing.assert_allclose(evaluate(PTRANSE_MUL, P, S, R), S[0] * np.cumprod(R, axis=0))


def test_recurrent_models_use_the_plain_cell() -> None:
    W, b = P.W, P.b
    h = {"PTransE-RNN": S[0], "Chains": S[0], "RSN": S[0]}
    expected: dict[str, list[Array]] = {name: [] for name in h}
    for s, r in zip(S, R, strict=True):
        relation = W[4] @ r + b[4]
        h["PTransE-RNN"] = np.tanh(W[3] @ h["PTransE-RNN"] + relation)
        h["Chains"] = np.tanh(W[3] @ (s + h["Chains"]) + relation)
        inner = np.tanh(W[1] @ s + W[2] @ h["RSN"] + b[2])
        h["RSN"] = np.tanh(W[3] @ inner + relation)
        expected["PTransE-RNN"].append(h["PTransE-RNN"])
        expected["Chains"].append(h["Chains"])
        expected["RSN"].append(W[5] @ s + W[6] @ h["RSN"] + b[6])

    for name, architecture in zip(expected, (PTRANSE_RNN, CHAINS, RSN), strict=True):
        np.testing.assert_allclose(evaluate(architecture, P, S, R), np.array(expected[name]))


def test_transe_has_the_codes_of_its_two_spellings() -> None:
    assert code_text(TRANSE) == "[0,0,12,0,0,0,0,0,0,0,0]"
    assert name_of(from_code([0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0])) == "TransE"


def test_the_first_published_architecture_reads_as_in_the_paper() -> None:
    formula = to_formula(PUBLISHED["Interstellar-DBP-WD"])

    assert formula == "O_s = tanh(s + h); O_r = tanh(W3 h + W4 r); v = O_s ⊗ W6 O_r"


@pytest.mark.parametrize("name", [*LITERATURE, *PUBLISHED, "Found-DBP-WD", "IPTransE"])
def test_every_name_is_found_and_leads_to_the_same_network(name: str) -> None:
    architecture = find_by_name(name.upper())

    assert architecture is not None
    named = name_of(architecture)
    assert named is not None
    back = find_by_name(named)
    assert back is not None
    assert canonical_form(back) == canonical_form(architecture)


def test_three_published_architectures_are_one() -> None:
    names = ("Interstellar-EN-FR", "Interstellar-EN-FR-dense", "Interstellar-EN-DE-dense")

    assert {name_of(PUBLISHED[name]) for name in names} == {"Interstellar-EN-FR"}


def test_a_search_begins_with_every_network_that_has_a_name_once_the_strong_ones_first() -> None:
    networks = [canonical_form(architecture) for architecture in KNOWN]
    named = (*LITERATURE.values(), *PUBLISHED.values(), FOUND_ON_DBP_WD)

    assert len(set(networks)) == len(networks)
    assert set(networks) == {canonical_form(architecture) for architecture in named}
    assert KNOWN[:2] == (COMPLEX, DISTMULT)


def test_a_network_without_a_name_has_none() -> None:
    assert name_of(from_code([0] * 11)) is None
    assert find_by_name("RotatE") is None


@pytest.mark.parametrize("name", PROPAGATIONS)
@pytest.mark.parametrize("relations", RelationVectors)
def test_a_published_propagation_has_its_name_at_every_depth(
    name: str, relations: RelationVectors
) -> None:
    published = replace(from_text(PROPAGATIONS[name]), relations=relations)

    assert name_of(replace(published, depth=3)) == name
    assert name_of(replace(published, aggregation=Aggregation.MAX)) is None
    assert name_of(published.cell) != name


def test_published_propagations_say_all_choices_that_their_names_stand_for() -> None:
    for line in PROPAGATIONS.values():
        assert set(split_choices(line)[1]) == {"aggregation", "attention", "update"}
