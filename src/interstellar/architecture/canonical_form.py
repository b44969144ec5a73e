"""One representative for all the names that the same network has in the search space.

Two architectures are *the same network* when, as their parameters run through all values,
they compute the same set of functions from the path (s_1, r_1, …, s_L, r_L) to (v_1, …, v_L).
`canonical_form` applies the rules below one after the other. Each rule replaces an
architecture by one that is the same network; the docstring of each rule proves it by giving
new parameters (marked ′) for old ones, and old ones for new ones (⇐), such that every v_t is
unchanged. "Nothing to move" means that the values which differ are multiplied by zero or read
by nobody, so that the parameters can be kept as they are in both directions. Being the same
network is an equivalence relation; hence two architectures with equal canonical form are the
same network, whatever rules led there.

Two facts guard against false rules. h_0 is s_1 and not a value of O_r: what is done to h_t
cannot be undone where h_{t-1} is read, because at t = 1 there is nothing to undo. So a rule
that changes O_r asks that nobody reads h_{t-1} ("h is dead"). O_s lives within one step and
has no such exception. W_1, W_3, W_5 have no bias; only W_2, W_4, W_6 can take up a constant.

The rules find every coincidence there is among the 1024 macro points as long as no matrix is
trained (a test compares them with brute force, for every pair of activations). They are not
claimed to find all among the 589,824: where r is never read and O_s is a trained sum or
product, a constant beside it could be taken up by W_1 and W_2, and we leave it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from interstellar.architecture.architecture import (
    Activation,
    Architecture,
    Combinator,
    Macro,
    Source,
)

ADD, MULTIPLY, GATED = Combinator.ADD, Combinator.MULTIPLY, Combinator.GATED
SUBJECT, SUBJECT_OUTPUT, ZERO = Source.SUBJECT, Source.SUBJECT_OUTPUT, Source.ZERO
IDENTITY, TANH, SIGMOID = Activation.IDENTITY, Activation.TANH, Activation.SIGMOID
PRODUCTS = (Combinator.MULTIPLY, Combinator.HERMITIAN)

W_1_2, W_3_4, W_5_6 = frozenset({1, 2}), frozenset({3, 4}), frozenset({5, 6})

ZERO_OUTPUT = Architecture(
    Macro(subject=ADD, relation=MULTIPLY, output=ADD, relation_source=ZERO, output_source=ZERO)
)
"""The representative of every network whose v_t is 0 at every step."""


def canonical_form(architecture: Architecture) -> Architecture:
    """Return the representative of the architecture's network; equal for equal networks."""
    for rule in RULES:
        architecture = rule(architecture)
    return architecture


def drop_dead_subject(architecture: Architecture) -> Architecture:
    """Where nobody reads O_s: c_s → +, act_s → identity, W_1 and W_2 → I. Nothing to move."""
    macro, micro = architecture.macro, architecture.micro
    if macro.is_subject_output_read:
        return architecture
    micro = replace(micro, subject_activation=IDENTITY, trained=micro.trained - W_1_2)
    return Architecture(replace(macro, subject=ADD), micro)


def drop_links_of_zero(architecture: Architecture) -> Architecture:
    """W_3 0 = 0, so W_3 → I where x_r = 0; likewise W_5 where x_v = 0. Nothing to move."""
    macro, trained = architecture.macro, architecture.micro.trained
    if macro.relation_source is ZERO:
        trained -= {3}
    if macro.output_source is ZERO:
        trained -= {5}
    return _with_trained(architecture, trained)


def drop_relation_times_zero(architecture: Architecture) -> Architecture:
    """Where x_r = 0 meets ⊙ or ⊗: O_r = act_r(0), which is 0, 0 or ½, and r is never read.

    So c_r → ⊙, W_4 → I and tanh → identity. Nothing to move.
    """
    macro, micro = architecture.macro, architecture.micro
    if not _is_relation_constant(macro):
        return architecture
    activation = SIGMOID if micro.relation_activation is SIGMOID else IDENTITY
    micro = replace(micro, relation_activation=activation, trained=micro.trained - {4})
    return Architecture(replace(macro, relation=MULTIPLY), micro)


def drop_all_behind_zero_output(architecture: Architecture) -> Architecture:
    """Where v_t is 0 whatever the parameters: everything → `ZERO_OUTPUT`. Nothing to move.

    That is so where x_v = 0 meets ⊙ or ⊗, and where O_r = 0 (`drop_relation_times_zero`),
    W_6 = I, and either c_v is a product or x_v = 0: 0 + 0 and (1 − g) ⊙ 0 + g ⊙ 0 are 0.
    """
    macro, micro = architecture.macro, architecture.micro
    has_product, has_zero = macro.output in PRODUCTS, macro.output_source is ZERO
    is_relation_zero = _is_relation_constant(macro) and micro.relation_activation is IDENTITY
    if has_product and has_zero:
        return ZERO_OUTPUT
    if is_relation_zero and 6 not in micro.trained and (has_product or has_zero):
        return ZERO_OUTPUT
    return architecture


def free_constant_from_activation(architecture: Architecture) -> Architecture:
    """Where O_r is constant, W_6 trained and h dead: sigmoid → identity.

    O_v reads k = W_6 ½ + b_6, or k = b_6: any vector. b_6′ = W_6 ½ + b_6; ⇐ b_6 = b_6′ − W_6 ½.
    """
    macro, micro = architecture.macro, architecture.micro
    if not _is_relation_constant(macro) or micro.relation_activation is not SIGMOID:
        return architecture
    if 6 not in micro.trained or macro.is_hidden_read:
        return architecture
    return Architecture(macro, replace(micro, relation_activation=IDENTITY))


def free_constant_from_gate(architecture: Architecture) -> Architecture:
    """Where x_v = 0, O_r is constant, W_6 trained and c_v gated: c_v → +.

    Then h is dead, O_r = 0 by the rule before, and v = σ(W_b b_6 + bias) ⊙ b_6 is any constant
    vector. b_6′ = σ(W_b b_6 + bias) ⊙ b_6; ⇐ W_b = 0, bias = 0, b_6 = 2 b_6′.
    """
    macro, micro = architecture.macro, architecture.micro
    if not _is_relation_constant(macro) or macro.output_source is not ZERO:
        return architecture
    if macro.output is not GATED or 6 not in micro.trained:
        return architecture
    return Architecture(replace(macro, output=ADD), micro)


def absorb_constant_factor(architecture: Architecture) -> Architecture:
    """Where O_r is constant, c_v a product and W_5 trained: v = K W_5 x_v → v = W_5 x_v.

    K multiplies by k = W_6 O_r, and k ≠ 0 can be had (else `drop_all_behind_zero_output`).
    W_5′ = K W_5. ⇐ W_5 = K⁻¹ W_5′ with k = ½ if W_6 = I, and k the unit of the product if
    W_6 is trained (W_6 = 0, b_6 = unit). In the space v = W_5 x_v is written with + and
    O_r = 0. Where O_r = ½ and h is read, O_r must stay, and it is written as ½ ⊙ W_5 x_v,
    with the factor 2 in W_5′.
    """
    macro, micro = architecture.macro, architecture.micro
    if not _is_relation_constant(macro) or macro.output not in PRODUCTS:
        return architecture
    if 5 not in micro.trained:
        return architecture
    micro = replace(micro, trained=micro.trained - {6})
    if micro.relation_activation is SIGMOID and macro.is_hidden_read:
        return Architecture(replace(macro, output=MULTIPLY), micro)
    return Architecture(replace(macro, output=ADD), replace(micro, relation_activation=IDENTITY))


def absorb_output_matrix(architecture: Architecture) -> Architecture:
    """Where h is dead and O_r = W_3 x_r + W_4 r + b_4 can be any such sum: W_6 → I.

    That is so with W_3 and W_4 trained: W_3′ = W_6 W_3, W_4′ = W_6 W_4, b_4′ = W_6 b_4 + b_6;
    ⇐ W_6 = I, b_6 = 0. And with x_r = 0, where W_4 is trained afterwards even if only W_6 was:
    then W_4′ = W_6, b_4′ = b_6, and ⇐ likewise.
    """
    macro, trained = architecture.macro, architecture.micro.trained
    if 6 not in trained or not _is_relation_plain_sum(architecture):
        return architecture
    if macro.relation_source is not ZERO and not trained >= W_3_4:
        return architecture
    return _with_trained(architecture, (trained - {6}) | {4})


def merge_two_sums(architecture: Architecture) -> Architecture:
    """Where h is dead and v = W_5 s + W_6 (W_3 s + W_4 r + b_4) + b_6: x_v → 0, if s gets any A.

    v = A s + B r + b with A = W_5 + W_6 W_3 and B = W_6 W_4. With W_6 = I it is enough that
    W_3 or W_5 is trained: W_3′ = A, W_4 as it was; ⇐ choose the trained one of W_3, W_5 so that
    their sum is W_3′. With W_6 and W_5 trained, A and B are any two matrices: W_3′ = A,
    W_4′ = B, b_4′ = b; ⇐ W_6 = W_4′, b_6 = b_4′, W_4 = I, b_4 = 0, W_5 = W_3′ − W_6 W_3.
    (W_6, W_3 and W_4 trained: W_6 is gone by `absorb_output_matrix`.)
    """
    macro, trained = architecture.macro, architecture.micro.trained
    if macro.output is not ADD or macro.output_source is not SUBJECT:
        return architecture
    if macro.relation_source is not SUBJECT or not _is_relation_plain_sum(architecture):
        return architecture
    if not (5 in trained or (3 in trained and 6 not in trained)):
        return architecture
    relation_trained = {3, 4} if 6 in trained else {3}
    merged = Architecture(replace(macro, output_source=ZERO), architecture.micro)
    return _with_trained(merged, (trained - W_5_6) | relation_trained)


def move_output_into_relation(architecture: Architecture) -> Architecture:
    """Where h is dead, x_r = 0 and O_r = W_4 r: v = c_v(W_5 x_v, W_4 r) is moved into O_r.

    Here W_6 = I by `absorb_output_matrix`. O_r′ = c_r′(W_3′ x_v, W_4 r) and v = O_r′, with
    c_r′ = c_v and its gate, W_3′ = W_5; ⇐ the same read backwards. So TransE has two codes.
    """
    macro, trained = architecture.macro, architecture.micro.trained
    if macro.relation_source is not ZERO or not _is_relation_plain_sum(architecture):
        return architecture
    moved = replace(macro, relation=macro.output, relation_source=macro.output_source)
    moved = replace(moved, output=ADD, output_source=ZERO)
    if 5 in trained:
        trained = (trained - {5}) | {3}
    return _with_trained(Architecture(moved, architecture.micro), trained)


def absorb_link_of_subject(architecture: Architecture) -> Architecture:
    """Where O_s = W_1 s + W_2 h + b_2 has trained W_1, W_2 and one reader: that link → I.

    Reader O_r: W_1′ = W_3 W_1, W_2′ = W_3 W_2, b_2′ = W_3 b_2; ⇐ W_3 = I. Reader O_v: the same
    with W_5. With two readers the two links differ, and O_s cannot follow both.
    """
    macro, micro = architecture.macro, architecture.micro
    if macro.subject is not ADD or micro.subject_activation is not IDENTITY:
        return architecture
    is_read_by_relation = macro.relation_source is SUBJECT_OUTPUT
    is_read_by_output = macro.output_source is SUBJECT_OUTPUT
    if is_read_by_relation is is_read_by_output or not micro.trained >= W_1_2:
        return architecture
    return _with_trained(architecture, micro.trained - ({3} if is_read_by_relation else {5}))


RULES = (
    drop_dead_subject,
    drop_links_of_zero,
    drop_relation_times_zero,
    drop_all_behind_zero_output,
    free_constant_from_activation,
    free_constant_from_gate,
    absorb_constant_factor,
    absorb_output_matrix,
    merge_two_sums,
    move_output_into_relation,
    absorb_link_of_subject,
)
"""In this order one pass is enough: no rule opens the way for an earlier one."""


def _is_relation_constant(macro: Macro) -> bool:
    """Return whether O_r = act_r(0) whatever r is."""
    return macro.relation_source is ZERO and macro.relation in PRODUCTS


def _is_relation_plain_sum(architecture: Architecture) -> bool:
    """Return whether O_r = W_3 x_r + W_4 r with no activation, and h is dead."""
    macro, activation = architecture.macro, architecture.micro.relation_activation
    return macro.relation is ADD and activation is IDENTITY and not macro.is_hidden_read


def _with_trained(architecture: Architecture, trained: frozenset[int]) -> Architecture:
    if trained == architecture.micro.trained:
        return architecture
    return Architecture(architecture.macro, replace(architecture.micro, trained=trained))


def one_step_form(architecture: Architecture) -> Architecture:
    """Return the canonical form where paths are single steps: h is then the subject itself."""
    macro = architecture.macro
    x_r, x_v = (
        Source.SUBJECT if source is Source.HIDDEN else source
        for source in (macro.relation_source, macro.output_source)
    )
    macro = replace(macro, relation_source=x_r, output_source=x_v)
    return canonical_form(replace(architecture, macro=macro))


def first_of_each(
    architectures: Iterable[Architecture],
    form: Callable[[Architecture], Architecture] = canonical_form,
) -> list[Architecture]:
    """Return, of those that have one form, the first."""
    found: dict[Architecture, Architecture] = {}
    for architecture in architectures:
        found.setdefault(form(architecture), architecture)
    return list(found.values())
