"""The network: tables, two ways, initial values."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import LITERATURE
from interstellar.model.path_cell import PathCell
from interstellar.model.path_network import (
    NetworkForm,
    NetworkSize,
    OutputNorm,
    PathNetwork,
    StepNorms,
)
from tests.architecture.strategies import architectures

N_ENTITIES, N_RELATIONS, DIM = 9, 4, 6
TWO_WAY = NetworkForm(has_batch_norm=False, is_two_way=True)
ONE_WAY = NetworkForm(has_batch_norm=True, is_two_way=False)


def build(
    architecture: Architecture = LITERATURE["RSN"],
    form: NetworkForm = TWO_WAY,
    *,
    dropout: float = 0.0,
    seed: int = 0,
    n_entities: int = N_ENTITIES,
    dim: int = DIM,
) -> PathNetwork:
    size = NetworkSize(n_entities=n_entities, n_relations=N_RELATIONS, dim=dim)
    network = PathNetwork.of(architecture, size, form, dropout)
    network.initialise(torch.Generator().manual_seed(seed))
    return network


def draw_ids(length: int = 3, *, n_paths: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    subjects = torch.randint(N_ENTITIES, (n_paths, length), generator=generator)
    relations = torch.randint(2 * N_RELATIONS, (n_paths, length), generator=generator)
    return subjects, relations


@settings(max_examples=60)
@given(architecture=architectures)
def test_logits_add_the_pass_with_exchanged_tables_and_inverse_relations(
    architecture: Architecture,
) -> None:
    network = build(architecture).double()
    subjects, relations = (ids[:, 0] for ids in draw_ids())

    found = network.logits(subjects, relations)

    assert isinstance(network.cell, PathCell)
    s, o = network.subjects[subjects], network.objects[subjects]
    v, _ = network.cell.step(s, network.relations[relations], s)
    v_back, _ = network.cell.step(o, network.relations[network.inverse(relations)], o)
    expected = v @ network.objects.T + v_back @ network.subjects.T
    torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize("name", ["DistMult", "ComplEx"])
def test_scores_are_those_of_pykeen_both_ways(name: str) -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    interaction = {"DistMult": modules.DistMultInteraction, "ComplEx": modules.ComplExInteraction}
    network = build(LITERATURE[name]).double()
    subjects, relations = torch.arange(N_ENTITIES), torch.full((N_ENTITIES,), 5)

    found = network.logits(subjects, relations)

    def theirs(table: Tensor, relation: Tensor, candidates: Tensor) -> Tensor:
        parts = [
            x if name == "DistMult" else torch.complex(*x.chunk(2, dim=-1))
            for x in (table.unsqueeze(1), relation, candidates.unsqueeze(0))
        ]
        scores: Tensor = interaction[name]()(*parts)
        return scores.detach()

    r, r_back = network.relations[5], network.relations[network.inverse(relations)[0]]
    expected = theirs(network.subjects, r, network.objects)
    expected = expected + theirs(network.objects, r_back, network.subjects)
    torch.testing.assert_close(found, expected)


def test_distmult_scores_a_triplet_and_its_inverse_alike() -> None:
    """o and s change places, r and its inverse too, so both questions get one answer."""
    network = build(LITERATURE["DistMult"]).double()
    s, r, o = torch.tensor([2]), torch.tensor([1]), torch.tensor([7])

    forwards = network.logits(s, r)[0, o]
    backwards = network.logits(o, network.inverse(r))[0, s]

    torch.testing.assert_close(forwards, backwards)


@given(relation=st.integers(0, 2 * N_RELATIONS - 1))
def test_the_inverse_of_an_inverse_is_the_relation(relation: int) -> None:
    network = build()
    ids = torch.tensor([relation])

    inverse = network.inverse(ids)

    assert inverse.item() != relation
    assert network.inverse(inverse).item() == relation


def test_paths_begin_with_their_first_subject_as_state() -> None:
    network = build(LITERATURE["PTransE-add"], ONE_WAY)
    subjects, relations = draw_ids()
    s = network.one_way_subjects[subjects]
    _, r = network.step_norms.normalise(s, network.relations[relations])

    v = network.unroll(subjects, relations)

    torch.testing.assert_close(v, s[:, :1] + r.cumsum(dim=1))


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "one-way"])
def test_tables_are_drawn_xavier_uniformly_and_matrices_within_one_over_root_dim(
    form: NetworkForm,
) -> None:
    network = build(form=form, n_entities=500, dim=32)

    tables = {"objects": network.objects, "subjects": network.subjects, "r": network.relations}
    for table in tables.values():
        bound = (6 / (table.shape[0] + table.shape[1])) ** 0.5
        assert 0.9 * bound < table.abs().max() <= bound
    for parameter in network.cell.parameters():
        assert 0.5 * 32**-0.5 < parameter.abs().max() <= 32**-0.5


def test_norms_begin_with_scale_one_and_shift_zero() -> None:
    network = build(form=ONE_WAY)

    assert network.step_norms.affine.tolist() == [[1.0] * DIM, [0.0] * DIM] * 2
    assert network.output_norm.affine.tolist() == [[1.0] * DIM, [0.0] * DIM]


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "one-way"])
def test_the_same_seed_draws_the_same_values_and_another_draws_others(form: NetworkForm) -> None:
    one, same, other = build(form=form), build(form=form), build(form=form, seed=1)

    for name, value in one.state_dict().items():
        assert torch.equal(value, same.state_dict()[name])
        assert torch.equal(value, other.state_dict()[name]) is ("affine" in name)


def test_every_parameter_is_set_at_the_beginning() -> None:
    network = build(form=ONE_WAY)
    for parameter in network.parameters():
        parameter.data.fill_(torch.nan)

    network.initialise(torch.Generator().manual_seed(0))

    assert all(torch.isfinite(parameter).all() for parameter in network.parameters())


def test_dropout_zeroes_its_share_of_the_outputs_and_keeps_their_mean() -> None:
    network = build(dropout=0.25)
    subjects, relations = draw_ids(n_paths=2000)
    whole = network.outputs(subjects, relations, None)

    dropped = network.outputs(subjects, relations, torch.Generator().manual_seed(0))

    is_zero = dropped == 0
    assert is_zero.float().mean().item() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(dropped[~is_zero], whole[~is_zero] / 0.75)


def test_outputs_of_the_normalised_form_have_mean_zero_and_variance_one() -> None:
    network = build(form=ONE_WAY)
    subjects, relations = draw_ids(n_paths=50)

    v = network.outputs(subjects, relations, None)

    torch.testing.assert_close(v.mean(dim=0), torch.zeros(DIM), rtol=0, atol=1e-4)
    torch.testing.assert_close(v.var(dim=0, correction=0), torch.ones(DIM), rtol=0.1, atol=0.1)


def draw(n: int, length: int, *, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    s, r = torch.randn(2, n, length, DIM, generator=generator, dtype=torch.float64)
    return (3 * s + 1).requires_grad_(), (r - 2).requires_grad_()


def step_norms(*, seed: int = 0) -> StepNorms:
    norms = StepNorms(DIM).double()
    nn.init.uniform_(norms.affine, 0.5, 2, generator=torch.Generator().manual_seed(seed))
    return norms


def layer(scale: Tensor, shift: Tensor) -> nn.BatchNorm1d:
    norm = nn.BatchNorm1d(DIM).double()
    norm.weight.data.copy_(scale)
    norm.bias.data.copy_(shift)
    return norm


@given(n=st.integers(2, 9), length=st.integers(1, 5), seed=st.integers(0, 1000))
def test_every_step_has_statistics_of_its_own_and_all_share_scale_and_shift(
    n: int, length: int, seed: int
) -> None:
    s, r = draw(n, length, seed=seed)
    norms = step_norms(seed=seed)
    s_scale, s_shift, r_scale, r_shift = norms.affine.detach()
    of_s, of_r = layer(s_scale, s_shift), layer(r_scale, r_shift)

    found_s, found_r = norms.normalise(s, r)

    expected_s = torch.stack([of_s(s[:, t]) for t in range(length)], dim=1)
    expected_r = torch.stack([of_r(r[:, t]) for t in range(length)], dim=1)
    torch.testing.assert_close(found_s, expected_s)
    torch.testing.assert_close(found_r, expected_r)


def test_gradients_are_those_of_torchs_layer_applied_step_by_step() -> None:
    s, r = draw(6, 3, seed=1)
    norms = step_norms()
    of_s = layer(*norms.affine.detach()[:2])
    weights = torch.randn(6, 3, DIM, generator=torch.Generator().manual_seed(2)).double()

    found_s, _ = norms.normalise(s, r)
    s_gradient, affine_gradient = torch.autograd.grad((found_s * weights).sum(), [s, norms.affine])

    expected = torch.stack([of_s(s[:, t]) for t in range(3)], dim=1)
    (expected * weights).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(s_gradient, s.grad)
    torch.testing.assert_close(affine_gradient[0], of_s.weight.grad)
    torch.testing.assert_close(affine_gradient[1], of_s.bias.grad)
    assert affine_gradient[2:].abs().max() == 0


@given(n=st.integers(2, 20), seed=st.integers(0, 1000))
def test_outputs_of_all_steps_are_normalised_together(n: int, seed: int) -> None:
    v, _ = draw(n, 1, seed=seed)
    v = v.detach().squeeze(1)
    norm = OutputNorm(DIM).double()
    nn.init.uniform_(norm.affine, 0.5, 2, generator=torch.Generator().manual_seed(seed))

    found = norm.normalise(v)

    torch.testing.assert_close(found, layer(*norm.affine.detach())(v))
