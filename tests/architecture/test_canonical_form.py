"""Tests of the canonical form: sound by transport of parameters, complete by brute force."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Activation, Architecture, Micro, Source
from interstellar.architecture.canonical_form import (
    RULES,
    ZERO_OUTPUT,
    canonical_form,
    first_of_each,
    one_step_form,
)
from interstellar.architecture.notation import from_code, from_formula, to_formula
from interstellar.architecture.search_space import SearchSpace, Subspace

from .reference_cell import Array, Parameters, draw_parameters, evaluate
from .strategies import architectures
from .transport import Rule, backward, forward

LENGTH = 5


def draw_path(rng: np.random.Generator, dim: int) -> tuple[Array, Array]:
    s, r = rng.normal(size=(2, LENGTH, dim))
    return s, r


@given(architecture=architectures)
def test_the_canonical_form_of_a_canonical_form_is_itself(architecture: Architecture) -> None:
    form = canonical_form(architecture)

    assert canonical_form(form) == form


def points_where_each_rule_acts() -> dict[Rule, list[Architecture]]:
    """For every rule, architectures that it changes, as they reach it in `canonical_form`."""
    rng = np.random.default_rng(1)
    points: dict[Rule, list[Architecture]] = defaultdict(list)
    spaces = [SearchSpace(), *map(SearchSpace, Subspace)]
    for i in range(25_000):
        architecture = spaces[i % len(spaces)].sample(rng)
        for rule in RULES:
            changed = rule(architecture)
            if changed != architecture and len(points[rule]) < 60:
                points[rule].append(architecture)
            architecture = changed
    return points


POINTS = points_where_each_rule_acts()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_function_of_the_old_network_is_one_of_the_new(rule: Rule) -> None:
    rng = np.random.default_rng(2)

    for old in POINTS[rule]:
        s, r = draw_path(rng, dim=4)
        p = draw_parameters(rng, dim=4)
        moved = forward[rule](old, p) if rule in forward else p

        assert_same(evaluate(old, p, s, r), evaluate(rule(old), moved, s, r), old)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_function_of_the_new_network_is_one_of_the_old(rule: Rule) -> None:
    rng = np.random.default_rng(3)

    for old in POINTS[rule]:
        s, r = draw_path(rng, dim=4)
        q = draw_parameters(rng, dim=4)
        moved = backward[rule](old, q) if rule in backward else q

        assert_same(evaluate(old, moved, s, r), evaluate(rule(old), q, s, r), old)


def test_every_rule_acts_somewhere() -> None:
    assert all(len(POINTS[rule]) >= 10 for rule in RULES)


@given(
    architecture=architectures,
    half_dim=st.integers(1, 3),
    seed=st.integers(0, 2**16),
    is_forward=st.booleans(),
)
def test_an_architecture_and_its_canonical_form_compute_the_same_functions(
    architecture: Architecture, half_dim: int, seed: int, is_forward: bool
) -> None:
    rng = np.random.default_rng(seed)
    s, r = draw_path(rng, 2 * half_dim)
    drawn = draw_parameters(rng, 2 * half_dim)

    p, q = carry_forward(architecture, drawn) if is_forward else carry_back(architecture, drawn)

    old, new = evaluate(architecture, p, s, r), evaluate(canonical_form(architecture), q, s, r)
    assert_same(old, new, architecture)


@given(
    architecture=architectures,
    half_dim=st.integers(1, 3),
    seed=st.integers(0, 2**16),
    is_forward=st.booleans(),
)
def test_on_single_steps_an_architecture_and_its_form_there_compute_the_same_functions(
    architecture: Architecture, half_dim: int, seed: int, is_forward: bool
) -> None:
    rng = np.random.default_rng(seed)
    s, r = draw_path(rng, 2 * half_dim)
    drawn, carry = draw_parameters(rng, 2 * half_dim), carry_forward if is_forward else carry_back

    p, q = carry(reading_the_subject(architecture), drawn)

    old = evaluate(architecture, p, s[:1], r[:1])
    new = evaluate(one_step_form(architecture), q, s[:1], r[:1])
    assert_same(old, new, architecture)


def reading_the_subject(architecture: Architecture) -> Architecture:
    """Return what reads s where an architecture reads h, which on a single step are the same."""
    macro = architecture.macro
    if macro.relation_source is Source.HIDDEN:
        macro = replace(macro, relation_source=Source.SUBJECT)
    if macro.output_source is Source.HIDDEN:
        macro = replace(macro, output_source=Source.SUBJECT)
    return Architecture(macro, architecture.micro)


def test_on_single_steps_a_path_model_is_the_triplet_model() -> None:
    transe, ptranse = from_formula("O_r = s + r; v = O_r"), from_formula("O_r = h + r; v = O_r")
    complex_ = from_formula("O_r = s ⊗ r; v = O_r")
    several = [ptranse, transe, complex_]

    assert one_step_form(ptranse) == one_step_form(transe) != one_step_form(complex_)
    assert first_of_each(several, one_step_form) == [ptranse, complex_]
    assert first_of_each(several) == several


def carry_forward(old: Architecture, p: Parameters) -> tuple[Parameters, Parameters]:
    q = p
    for rule in RULES:
        new = rule(old)
        if new != old and rule in forward:
            q = forward[rule](old, q)
        old = new
    return p, q


def carry_back(old: Architecture, q: Parameters) -> tuple[Parameters, Parameters]:
    stages = [old]
    for rule in RULES:
        stages.append(rule(stages[-1]))
    p = q
    for i, rule in reversed(list(enumerate(RULES))):
        if stages[i] != stages[i + 1] and rule in backward:
            p = backward[rule](stages[i], p)
    return p, q


def assert_same(old: Array, new: Array, architecture: Architecture) -> None:
    np.testing.assert_allclose(
        old, new, rtol=1e-7, atol=1e-7 * (1 + np.abs(old).max()), err_msg=to_formula(architecture)
    )


@pytest.mark.parametrize("subject_activation", Activation)
@pytest.mark.parametrize("relation_activation", Activation)
@pytest.mark.parametrize("dim", [2, 4, 6])
def test_macro_points_without_matrices_share_a_form_exactly_when_brute_force_cannot_tell_them_apart(
    subject_activation: Activation, relation_activation: Activation, dim: int
) -> None:
    """The three gates get the same parameters, so that a gate may move between operators.

    Equal outputs at random inputs with random parameters are no accident: outputs are analytic
    in both, so two that differ anywhere differ almost everywhere.
    """
    micro = Micro(subject_activation=subject_activation, relation_activation=relation_activation)
    points = [Architecture(macro, micro) for macro in SearchSpace().macros()]
    rng = np.random.default_rng(dim)
    p = draw_parameters(rng, dim)
    p = replace(p, gate_r=p.gate_s, gate_v=p.gate_s)
    s, r = draw_path(rng, dim)

    by_form = partition(points, [canonical_form(point) for point in points])
    outputs = [np.round(evaluate(point, p, s, r), 8) + 0.0 for point in points]
    by_output = partition(points, [output.tobytes() for output in outputs])

    assert by_form == by_output


def partition(
    points: list[Architecture], keys: list[Hashable] | list[bytes] | list[Architecture]
) -> set[frozenset[Architecture]]:
    classes: dict[Hashable, set[Architecture]] = defaultdict(set)
    for point, key in zip(points, keys, strict=True):
        classes[key].add(point)
    return {frozenset(members) for members in classes.values()}


@pytest.mark.parametrize(
    "code",
    [
        [0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [3, 12, 0, 2, 0, 1, 1, 1, 0, 0, 0],
    ],
)
def test_transe_has_several_codes_and_one_canonical_form(code: list[int]) -> None:
    assert to_formula(canonical_form(from_code(code))) == "O_r = s + r; v = O_r"


@pytest.mark.parametrize(
    ("formula", "form"),
    [
        ("O_r = W4 r; v = W5 s gated W6 O_r", "O_r = W3 s gated W4 r; v = O_r"),
        ("O_r = r; v = s ⊗ W6 O_r", "O_r = s ⊗ W4 r; v = O_r"),
        ("O_r = W3 s + r; v = W5 s + O_r", "O_r = W3 s + r; v = O_r"),
        ("O_r = s + r; v = W5 s + W6 O_r", "O_r = W3 s + W4 r; v = O_r"),
        ("O_r = sigmoid(0 ⊗ W4 r); v = W5 h ⊗ O_r", "O_r = sigmoid(0 ⊙ r); v = W5 h ⊙ O_r"),
        ("O_r = 0 * r; v = 0 gated W6 O_r", "O_r = 0 ⊙ r; v = W6 O_r"),
        (
            "O_s = W1 s + W2 h; O_r = tanh(W3 O_s + r); v = O_r",
            "O_s = W1 s + W2 h; O_r = tanh(O_s + r); v = O_r",
        ),
    ],
)
def test_a_network_with_two_names_gets_the_one_we_expect(formula: str, form: str) -> None:
    assert to_formula(canonical_form(from_formula(formula))) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("O_r = W4 r; v = W5 h + W6 O_r", "O_r = W4 r; v = W5 h + O_r"),
        ("O_r = 0 ⊙ r; v = h + O_r", "O_r = 0 ⊙ r; v = O_r"),
        ("O_r = s + r; v = s + O_r", "O_r = s + r; v = O_r"),
        ("O_r = W3 s + r; v = W6 O_r", "O_r = W3 s + W4 r; v = O_r"),
        ("O_r = sigmoid(h + r); v = O_r", "O_r = tanh(h + r); v = O_r"),
        ("O_r = sigmoid(s ⊙ W4 r); v = W6 O_r", "O_r = tanh(s ⊙ W4 r); v = W6 O_r"),
        (
            "O_r = sigmoid(W3 h + W4 r); v = W6 O_r",
            "O_r = tanh(W3 h + W4 r); v = W6 O_r",
        ),
    ],
)
def test_networks_that_differ_because_h_0_is_s_1_or_a_matrix_is_tied_stay_apart(
    one: str, other: str
) -> None:
    assert canonical_form(from_formula(one)) != canonical_form(from_formula(other))


def test_every_network_whose_output_is_zero_has_one_form() -> None:
    formulas = [
        "O_r = s + r; v = 0 ⊙ O_r",
        "O_r = tanh(0 ⊗ W4 r); v = 0 gated O_r",
        "O_s = s ⊗ h; O_r = 0 ⊙ r; v = W5 O_s ⊗ O_r",
    ]

    assert {canonical_form(from_formula(formula)) for formula in formulas} == {ZERO_OUTPUT}
