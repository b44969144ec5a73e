"""One training step: its gradients are those of the formula, however it is cut."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import LITERATURE
from interstellar.model.path_cell import PathCell
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork
from interstellar.model.softmax_loss import LossPlan
from interstellar.training.optimizers import FlatParameters
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import SettingsChanges, with_changes
from interstellar.training.step import StepPlan, TrainingStep
from tests.architecture.strategies import architectures

TWO_WAY = NetworkForm(has_batch_norm=False, is_two_way=True)
ONE_WAY = NetworkForm(has_batch_norm=True, is_two_way=False)
N_ENTITIES, N_RELATIONS, DIM, LENGTH = 11, 3, 6, 3
WHOLE = StepPlan(LossPlan(chunk_rows=10_000))


def draw_paths(n_paths: int, *, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    paths = torch.randint(N_ENTITIES, (n_paths, 2 * LENGTH + 1), generator=generator)
    paths[:, 1::2] = torch.randint(2 * N_RELATIONS, (n_paths, LENGTH), generator=generator)
    return paths.int()


def build_network(architecture: Architecture, form: NetworkForm, *, seed: int = 0) -> PathNetwork:
    size = NetworkSize(n_entities=N_ENTITIES, n_relations=N_RELATIONS, dim=DIM)
    network = PathNetwork.of(architecture, size, form, dropout=0.0)
    network.initialise(torch.Generator().manual_seed(seed))
    return network


def small_settings(form: NetworkForm, changes: SettingsChanges) -> TrainingSettings:
    base = LINK_PREDICTION if form.is_two_way else ALIGNMENT
    return with_changes(replace(base, dim=DIM, dropout=0.0, batch_size=8), **changes)


def build_step(
    architecture: Architecture,
    form: NetworkForm,
    plan: StepPlan = WHOLE,
    *,
    n_paths: int = 8,
    **changes: object,
) -> TrainingStep:
    network = build_network(architecture, form)
    parameters = FlatParameters(network, torch.device("cpu"))
    chosen = small_settings(form, changes)  # type: ignore[arg-type]
    step = TrainingStep(network, draw_paths(n_paths), chosen, plan, parameters)
    step.begin_epoch(torch.arange(n_paths), chosen.learning_rate, dropout_seed=0)
    return step


def gradients_of(step: TrainingStep) -> dict[str, Tensor]:
    """The gradients of the first batch, before the update, of the mean loss."""
    subjects, relations, objects = step.gather()
    step.accumulate(subjects, relations, objects, is_first=True)
    return {
        name: p.grad / objects.numel()
        for name, p in step.network.named_parameters()
        if p.grad is not None
    }


def gradients_of_formula(step: TrainingStep) -> tuple[float, dict[str, Tensor]]:
    """The mean loss as the paper writes it, and its gradients by autograd in float64."""
    network = copy.deepcopy(step.network).double()
    named = dict(network.named_parameters())
    for parameter in named.values():
        parameter.grad = None
    paths = step.paths[: step.batch_size].long()
    subjects, relations, objects = paths[:, 0:-1:2], paths[:, 1::2], paths[:, 2::2]
    compute = two_way_logits if network.form.is_two_way else one_way_logits
    logits = compute(network, subjects, relations)
    smoothing = step.settings.label_smoothing
    loss = functional.cross_entropy(
        logits.flatten(0, 1), objects.flatten(), label_smoothing=smoothing
    )
    cost = step.settings.n3 * n3_of_steps(network, subjects, relations, objects).mean()
    if step.settings.relation_prediction:
        of_relations = relation_costs(network, subjects, relations, objects).mean()
        loss = loss + step.settings.relation_prediction * of_relations
    found = torch.autograd.grad(
        loss + cost, list(named.values()), allow_unused=True, materialize_grads=True
    )
    return loss.item(), dict(zip(named, found, strict=True))


def relation_costs(
    network: PathNetwork, subjects: Tensor, relations: Tensor, objects: Tensor
) -> Tensor:
    """−log of the share that the relation has in the softmax over all of them."""
    all_logits = [
        two_way_logits(network, subjects, torch.full_like(relations, candidate)).squeeze(1)
        for candidate in range(2 * N_RELATIONS)
    ]
    logits = torch.cat([of_one.gather(1, objects) for of_one in all_logits], dim=1)
    return functional.cross_entropy(logits, relations.squeeze(1), reduction="none")


def n3_of_steps(
    network: PathNetwork, subjects: Tensor, relations: Tensor, objects: Tensor
) -> Tensor:
    """N(s) + N(r) + N(o) of every step, of all embeddings that the step reads."""
    R = network.relations
    if network.form.is_two_way:
        O, S = network.entities[:, :DIM], network.entities[:, DIM:]  # noqa: E741
        inverse = (relations + N_RELATIONS) % (2 * N_RELATIONS)
        read = [O[subjects], S[subjects], O[objects], S[objects], R[relations], R[inverse]]
    else:
        read = [network.one_way_subjects[subjects], network.entities[objects], R[relations]]
    return torch.stack([n3(x) for x in read]).sum(dim=0)


def n3(x: Tensor) -> Tensor:
    return torch.complex(*x.chunk(2, dim=-1)).abs().pow(3).sum(dim=-1)


def two_way_logits(network: PathNetwork, subjects: Tensor, relations: Tensor) -> Tensor:
    """v · o + v′ · s: the second pass exchanges the tables and inverts the relations."""
    assert isinstance(network.cell, PathCell)
    O, S, R = network.entities[:, :DIM], network.entities[:, DIM:], network.relations  # noqa: E741
    inverse = (relations + N_RELATIONS) % (2 * N_RELATIONS)
    h, h_back, logits = S[subjects[:, 0]], O[subjects[:, 0]], []
    for t in range(subjects.shape[1]):
        v, h = network.cell.step(S[subjects[:, t]], R[relations[:, t]], h)
        v_back, h_back = network.cell.step(O[subjects[:, t]], R[inverse[:, t]], h_back)
        logits.append(v @ O.T + v_back @ S.T)
    return torch.stack(logits, dim=1)


def one_way_logits(network: PathNetwork, subjects: Tensor, relations: Tensor) -> Tensor:
    """s_t and r_t normalised step by step, h_0 raw, all outputs normalised together."""
    assert isinstance(network.cell, PathCell)
    S, R = network.one_way_subjects, network.relations
    s_scale, s_shift, r_scale, r_shift = network.step_norms.affine
    h, outputs = S[subjects[:, 0]], []
    for t in range(LENGTH):
        s_t = batch_norm(S[subjects[:, t]], s_scale, s_shift)
        r_t = batch_norm(R[relations[:, t]], r_scale, r_shift)
        v, h = network.cell.step(s_t, r_t, h)
        outputs.append(v)
    v = torch.stack(outputs, dim=1)
    normalised = batch_norm(v.flatten(0, 1), *network.output_norm.affine)
    return normalised.view_as(v) @ network.entities.T


def batch_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    layer = nn.BatchNorm1d(DIM, affine=False).double()
    normalised: Tensor = layer(x)
    return normalised * scale + shift


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
@settings(max_examples=30)
@given(architecture=architectures)
def test_the_gradients_of_a_step_are_those_of_the_formula_in_float64(
    form: NetworkForm, architecture: Architecture
) -> None:
    step = build_step(architecture, form)

    expected_loss, expected = gradients_of_formula(step)
    found = gradients_of(step)

    assert set(found) == set(expected)
    whole = torch.cat([gradient.flatten() for gradient in expected.values()]).norm()
    for name, gradient in found.items():
        assert float((gradient - expected[name]).norm()) < 1e-3 * float(whole) + 1e-6, name
    step.parameters.gradients.zero_()
    step.compute()
    assert step.loss_sum.item() == pytest.approx(expected_loss, rel=1e-3)


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
@pytest.mark.parametrize(("weight", "smoothing"), [(0.5, 0.0), (0.0, 0.3), (2.0, 0.1)])
def test_n3_and_smoothed_labels_are_in_the_gradient_and_only_the_labels_in_the_loss(
    form: NetworkForm, weight: float, smoothing: float
) -> None:
    step = build_step(LITERATURE["ComplEx"], form, n3=weight, label_smoothing=smoothing)

    expected_loss, expected = gradients_of_formula(step)
    found = gradients_of(step)

    plain = gradients_of(build_step(LITERATURE["ComplEx"], form))
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name].double(), gradient, rtol=1e-3, atol=1e-5)
    assert (found["entities"] - plain["entities"]).abs().max() > 1e-3
    step.parameters.gradients.zero_()
    step.compute()
    assert step.loss_sum.item() == pytest.approx(expected_loss, rel=1e-4)


@settings(max_examples=25)
@given(architecture=architectures, n_parts=st.integers(2, 8), n3=st.sampled_from([0.0, 0.5]))
def test_a_batch_in_parts_has_the_gradient_of_the_whole_batch(
    architecture: Architecture, n_parts: int, n3: float
) -> None:
    whole = build_step(architecture, TWO_WAY, n3=n3)
    step = build_step(architecture, TWO_WAY, replace(WHOLE, n_parts=n_parts), n3=n3)
    kept: list[Tensor] = []
    step.optimizer.update = lambda *_: kept.append(  # type: ignore[method-assign]
        step.parameters.gradients.clone()
    )

    step.compute()

    gradients_of(whole)
    torch.testing.assert_close(kept[0], whole.parameters.gradients, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
@pytest.mark.parametrize("chunk_rows", [1, 5, 24])
def test_the_update_does_not_depend_on_how_the_loss_is_chunked(
    form: NetworkForm, chunk_rows: int
) -> None:
    whole = build_step(LITERATURE["RSN"], form)
    chunked = build_step(LITERATURE["RSN"], form, StepPlan(LossPlan(chunk_rows)))

    whole.compute()
    chunked.compute()

    moved = chunked.parameters.values - build_step(LITERATURE["RSN"], form).parameters.values
    assert moved.abs().max() > 0
    torch.testing.assert_close(
        chunked.parameters.values, whole.parameters.values, rtol=1e-3, atol=1e-5
    )


def test_the_last_batch_is_filled_up_with_the_first_paths() -> None:
    step = build_step(LITERATURE["TransE"], TWO_WAY, n_paths=10)
    paths = step.paths

    step.n_done += 1
    subjects, relations, objects = step.gather()

    expected = torch.cat([paths[8:], paths[:6]])
    assert step.n_steps == 2
    torch.testing.assert_close(subjects, expected[:, 0:-1:2])
    torch.testing.assert_close(relations, expected[:, 1::2])
    torch.testing.assert_close(objects, expected[:, 2::2])


def test_a_batch_is_never_larger_than_all_the_paths() -> None:
    step = build_step(LITERATURE["TransE"], TWO_WAY, n_paths=5)

    assert (step.batch_size, step.n_steps) == (5, 1)


def test_without_a_norm_the_gradient_counts_as_that_of_n_times_the_sum() -> None:
    step = build_step(LITERATURE["TransE"], TWO_WAY)
    losses = torch.ones(24)

    factor, is_bad = step.account(losses)

    assert (factor.item(), bool(is_bad)) == (24, False)


def test_with_a_norm_the_gradient_is_scaled_to_it() -> None:
    step = build_step(LITERATURE["TransE"], ONE_WAY, gradient_norm=5.0)
    gradients_of(step)

    factor, _ = step.account(torch.ones(24))

    assert (factor * step.parameters.gradients.norm()).item() == pytest.approx(5, rel=1e-5)


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
@pytest.mark.parametrize("gradient_norm", [None, 5.0])
def test_visiting_only_the_rows_that_were_read_gives_what_visiting_all_does(
    form: NetworkForm, gradient_norm: float | None
) -> None:
    changes = SettingsChanges(
        optimizer="adagrad", weight_decay=0.0, max_norm=0, negatives=2, batch_size=4, n3=0.1
    )
    local, whole = (build_step(LITERATURE["RSN"], form, n_paths=32, **changes) for _ in range(2))
    for step in (local, whole):
        step.settings = replace(step.settings, gradient_norm=gradient_norm)
    n_visited = []
    visit, sweep = local.optimizer.update, whole.optimizer.update

    def count(factor: Tensor, is_bad: Tensor, rows: Tensor) -> None:
        n_visited.append(len(rows))
        visit(factor, is_bad, rows)

    local.optimizer.update = count  # type: ignore[assignment,method-assign]
    whole.optimizer.update = lambda *given: sweep(*given[:2])  # type: ignore[method-assign]
    for _ in range(local.n_steps):
        local.compute()
        whole.compute()

    assert len(n_visited) == 8
    assert min(n_visited) < N_ENTITIES
    for name, tensor in local.state_tensors().items():
        torch.testing.assert_close(tensor, whole.state_tensors()[name], rtol=1e-6, atol=1e-7)
    assert local.parameters.gradients.abs().max() == 0


def test_an_epoch_of_some_paths_takes_the_first_of_its_order() -> None:
    step = build_step(LITERATURE["TransE"], TWO_WAY, n_paths=30, batch_size=4, paths_per_epoch=10)
    order = torch.arange(30).flip(0)

    step.begin_epoch(order, 0.1, dropout_seed=0)

    assert step.n_steps == 3
    assert step.order.tolist() == order[:12].tolist()  # the last batch is filled up


def test_a_bad_step_moves_nothing_and_the_first_one_is_remembered() -> None:
    step = build_step(LITERATURE["TransE"], TWO_WAY)
    before = step.parameters.values.clone()

    for loss in (torch.inf, torch.nan):
        factor, is_bad = step.account(torch.full((24,), loss))
        step.parameters.gradients.fill_(torch.nan)
        step.optimizer.update(factor, is_bad)

    assert step.bad_step == 1
    assert step.optimizer.n_updates == 0
    torch.testing.assert_close(step.parameters.values, before, rtol=0, atol=0)
    assert step.parameters.gradients.abs().max() == 0


@pytest.mark.parametrize(
    ("form", "max_norm", "longest"),
    [(TWO_WAY, 0.5, 0.5), (TWO_WAY, 0, None), (ONE_WAY, 0.5, None)],
    ids=["bounded", "free", "alignment"],
)
def test_embeddings_of_entities_are_cut_in_link_prediction_alone(
    form: NetworkForm, max_norm: float, longest: float | None
) -> None:
    step = build_step(LITERATURE["ComplEx"], form, max_norm=max_norm, learning_rate=1.0)

    step.compute()

    lengths = step.network.entities.detach().view(-1, DIM).norm(dim=1)
    assert lengths.max() > 1 if longest is None else lengths.max() <= longest + 1e-6


def test_sampled_softmax_trains_every_table() -> None:
    step = build_step(LITERATURE["ComplEx"], ONE_WAY, n_negatives=5)

    found = gradients_of(step)

    assert found["entities"].abs().max() > 0
    assert found["one_way_subjects"].abs().max() > 0
    assert found["relations"].abs().max() > 0
