"""The supernet: shared weights, one architecture at a time."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import interstellar
from interstellar.architecture.architecture import (
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import N_CHOICES, N_MACRO, SearchSpace, Subspace
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.errors import TrainingError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.searching.natural_gradient import ControllerState, uniform
from interstellar.searching.supernet import (
    Reading,
    Supernet,
    run_relaxed,
    run_shared_round,
    train_uniformly,
)
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.presets import ALIGNMENT, COUNTRIES
from interstellar.training.settings import Metric, Precision, TrainingSettings

CPU = torch.device("cpu")
ALIGNMENT_DATA = "synthetic-alignment:entities=40,seed=1"
SPACE = SearchSpace()
GATED = Macro(
    subject=Combinator.GATED,
    relation=Combinator.ADD,
    output=Combinator.HERMITIAN,
    relation_source=Source.SUBJECT_OUTPUT,
    output_source=Source.SUBJECT,
)


@cache
def prepare(data: str) -> tuple[Task, Tensor, TrainingSettings]:
    task = task_for(interstellar.load(data))
    settings = replace(
        ALIGNMENT if data == ALIGNMENT_DATA else COUNTRIES,
        dim=8,
        batch_size=256,
        metric=Metric.MRR,
        precision=Precision.FLOAT32,
    )
    table = sample_paths(WalkGraph.of(task.graph), settings.walk, seed=0, device=CPU)
    return task, torch.from_numpy(table.array), settings


def build(
    data: str = "geography-S3",
    macro: Macro | None = None,
    *,
    device: str = "cpu",
    round_number: int = 0,
    reading: Reading = Reading.LOSS,
    **changes: float,
) -> Supernet:
    task, paths, settings = prepare(data)
    return Supernet(
        task,
        SPACE,
        macro,
        replace(settings, **changes),  # type: ignore[arg-type]
        paths.to(device),
        seed=3,
        round_number=round_number,
        reading=reading,
    )


def judge_complex(reading: Reading = Reading.LOSS) -> tuple[float, Tensor, Tensor]:
    """Return the score of ComplEx, the logits of all validation queries, and their answers."""
    supernet = build(batch_size=10_000, reading=reading)  # so that a mini-batch is the whole split
    graph = prepare("geography-S3")[0].graph
    assert isinstance(graph, KnowledgeGraph)
    queries = torch.from_numpy(with_inverses(graph.valid, len(graph.relations))).long()
    architecture = LITERATURE["ComplEx"]
    [score] = supernet.judge([architecture], np.random.default_rng(0))
    supernet.set(architecture)
    return score, supernet.network.logits(queries[:, 0], queries[:, 1]), queries[:, 2]


def start(macro: Macro | None = None) -> ControllerState:
    sizes = [len(choice.options) for choice in SPACE.choices()]
    return uniform(sizes if macro is None else sizes[N_MACRO:], N_CHOICES)


def weights_of(supernet: Supernet) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in supernet.network.named_parameters()}


@pytest.mark.parametrize("data", ["geography-S3", ALIGNMENT_DATA])
def test_a_step_with_one_architecture_is_that_of_its_own_network(data: str) -> None:
    """The shared weights that it does not use stay where they are."""
    supernet = build(data, weight_decay=0.0)
    architecture = LITERATURE["RSN"]
    task, _, settings = prepare(data)
    own = build_network(task, architecture, dim=settings.dim, dropout=0.0)
    before = weights_of(supernet)
    for name, parameter in own.named_parameters():
        parameter.data.copy_(before[name])
    paths = supernet.step.paths[:7]

    supernet.set(architecture)
    ids = paths[:, 0:-1:2], paths[:, 1::2]

    torch.testing.assert_close(
        supernet.network.outputs(*ids, None), own.outputs(*ids, None), rtol=1e-4, atol=1e-5
    )
    supernet.train_step()
    moved = {name for name, p in weights_of(supernet).items() if not torch.equal(p, before[name])}
    assert moved <= {name for name, _ in own.named_parameters()}
    assert "entities" in moved


def test_in_link_prediction_architectures_are_judged_by_validation_triplets() -> None:
    score, logits, answers = judge_complex()

    assert score == pytest.approx(-functional.cross_entropy(logits, answers).item(), rel=1e-4)


def test_in_link_prediction_architectures_can_be_judged_by_rank() -> None:
    score, logits, answers = judge_complex(reading=Reading.MRR)

    of_true = logits.gather(1, answers.unsqueeze(1))
    ranks = 1 + (logits > of_true).sum(1) + ((logits == of_true).sum(1) - 1) / 2
    assert score == pytest.approx((1 / ranks).mean().item(), rel=1e-4)


def test_by_rank_the_size_of_logits_does_not_count() -> None:
    """An untrained network of products has logits near 0, and so a bad loss, in the right order."""
    supernet = build(batch_size=10_000, reading=Reading.MRR)
    for _ in range(2 * supernet.n_steps):
        supernet.set(LITERATURE["ComplEx"])
        supernet.train_step()
    before = supernet.judge([LITERATURE["ComplEx"]], np.random.default_rng(0))

    supernet.network.entities.data.mul_(0.01)
    after = supernet.judge([LITERATURE["ComplEx"]], np.random.default_rng(0))

    assert after == pytest.approx(before, rel=0.02)


def test_in_alignment_architectures_are_judged_by_training_paths_without_dropout() -> None:
    supernet = build(ALIGNMENT_DATA, batch_size=100_000, dropout=0.9)
    paths = prepare(ALIGNMENT_DATA)[1].long()
    architecture = LITERATURE["RSN"]

    [score] = supernet.judge([architecture], np.random.default_rng(0))

    supernet.set(architecture)
    v = supernet.network.outputs(paths[:, 0:-1:2], paths[:, 1::2], None)
    logits = v @ supernet.network.entities.T
    loss = functional.cross_entropy(logits, paths[:, 2::2].flatten())
    assert score == pytest.approx(-loss.item(), rel=1e-4)


def test_all_that_are_compared_see_the_same_mini_batch_and_judging_moves_nothing() -> None:
    supernet = build(batch_size=16)
    before = weights_of(supernet)
    rng = np.random.default_rng(0)
    architectures = [LITERATURE["TransE"], LITERATURE["RSN"], LITERATURE["TransE"]]

    first = supernet.judge(architectures, rng)
    second = supernet.judge(architectures, rng)

    assert first[0] == first[2] != first[1]
    assert first[0] != second[0]
    assert all(torch.equal(p, before[name]) for name, p in weights_of(supernet).items())


@pytest.mark.parametrize("data", ["geography-S3", ALIGNMENT_DATA])
@pytest.mark.parametrize("macro", [None, GATED], ids=["all", "micro"])
def test_a_round_is_a_function_of_seed_and_number(data: str, macro: Macro | None) -> None:
    def run(round_number: int) -> tuple[ControllerState, Tensor]:
        supernet = build(data, macro, round_number=round_number)
        rng = np.random.default_rng(round_number)
        controller = run_shared_round(supernet, start(macro), n_epochs=1, rng=rng)
        return controller, supernet.network.entities.detach().clone()

    (controller, entities), (again, same), (other, _) = run(0), run(0), run(1)

    assert controller == again != other
    assert torch.equal(entities, same)
    assert controller != start(macro)


def test_with_a_fixed_macro_level_only_the_micro_level_is_sampled() -> None:
    supernet = build(macro=GATED)
    rng = np.random.default_rng(0)

    drawn = supernet.sample(rng)
    first = supernet.architecture_at((0,) * (N_CHOICES - N_MACRO))

    assert drawn.macro == first.macro == GATED
    assert first.micro.trained == frozenset()
    assert set(supernet.cell.weights.gates) == {"s"}


def test_a_round_moves_the_controller_to_the_activation_that_fits_best() -> None:
    macro = Macro(
        subject=Combinator.ADD,
        relation=Combinator.MULTIPLY,
        output=Combinator.ADD,
        relation_source=Source.SUBJECT,
        output_source=Source.ZERO,
    )
    supernet = build(macro=macro, learning_rate=0.01, batch_size=64)
    place = [choice.name for choice in SPACE.choices()[N_MACRO:]].index("relation_activation")

    controller = run_shared_round(supernet, start(macro), n_epochs=2, rng=np.random.default_rng(0))

    alike = [
        Architecture(macro, Micro(relation_activation=activation)) for activation in Activation
    ]
    scores = supernet.judge(alike, np.random.default_rng(0))
    theta = controller.theta[place]
    assert theta.index(max(theta)) == scores.index(max(scores))
    assert max(theta) > 0.6


def test_a_round_learns_a_planted_preference(monkeypatch: pytest.MonkeyPatch) -> None:
    def prefer_trained_W_4(  # noqa: N802
        _: Supernet, architectures: list[Architecture], __: object
    ) -> list[float]:
        return [float(4 in architecture.micro.trained) for architecture in architectures]

    monkeypatch.setattr(Supernet, "judge", prefer_trained_W_4)
    supernet = build(macro=GATED, batch_size=128)

    controller = run_shared_round(supernet, start(GATED), n_epochs=1, rng=np.random.default_rng(0))

    theta_by_name = dict(
        zip((c.name for c in SPACE.choices()[N_MACRO:]), controller.theta, strict=True)
    )
    assert theta_by_name["W_4"][1] > 0.8


def test_training_uniformly_lowers_the_loss_of_architectures_on_average() -> None:
    supernet = build(learning_rate=0.01)
    rng = np.random.default_rng(1)
    architectures = [SPACE.sample(rng) for _ in range(10)]
    before = supernet.judge(architectures, np.random.default_rng(0))

    train_uniformly(supernet, n_epochs=2, rng=rng)

    after = supernet.judge(architectures, np.random.default_rng(0))
    assert sum(after) > sum(before)
    assert 0 <= supernet.score(architectures[0]) <= 1


def test_the_learning_rate_decays_from_epoch_to_epoch() -> None:
    supernet = build(learning_rate=0.1, lr_decay=0.5, batch_size=10_000)
    supernet.set(LITERATURE["TransE"])
    rates = []

    for _ in range(3):
        supernet.train_step()
        rates.append(float(supernet.step.optimizer.learning_rate))

    assert rates == pytest.approx([0.1, 0.05, 0.025])


def test_a_loss_that_is_not_finite_is_an_error_with_a_reason() -> None:
    supernet = build(batch_size=10_000)
    supernet.set(LITERATURE["TransE"])
    supernet.network.entities.data[0, 0] = torch.nan

    with pytest.raises(TrainingError, match=r"not a finite number at step 1 of epoch 1"):
        supernet.train_step()


@pytest.mark.parametrize("data", ["geography-S3", ALIGNMENT_DATA])
def test_the_relaxed_supernet_learns_weights_that_sum_to_one(data: str) -> None:
    def run() -> tuple[tuple[float, ...], ...]:
        return run_relaxed(build(data, reading=Reading.GRADIENT, learning_rate=0.01), n_epochs=1)

    weights = run()

    assert [len(w) for w in weights] == [len(choice.options) for choice in SPACE.choices()]
    assert [sum(w) for w in weights] == pytest.approx([1.0] * N_CHOICES)
    assert max(max(w) - min(w) for w in weights) > 1e-3
    assert run() == weights


def test_the_gradient_of_the_mixture_is_that_of_the_training_loss() -> None:
    supernet = build(reading=Reading.GRADIENT, batch_size=8, weight_decay=0.0)
    mixture, step = supernet.cell.mixture, supernet.step
    mixture.weights.data.fill_(0.3)
    assert mixture.weights.grad is not None
    mixture.weights.grad.zero_()
    values = step.parameters.values.clone()
    supernet.train_step()
    found = mixture.weights.grad.clone()
    step.parameters.values.copy_(values)

    step.n_done.zero_()
    subjects, relations, objects = step.gather()
    weights = mixture.weights.detach()
    logits = supernet.network.outputs(subjects, relations, None) @ supernet.network.entities.T
    loss = functional.cross_entropy(logits, objects.flatten().long(), reduction="sum")
    [expected] = torch.autograd.grad(loss, mixture.weights)

    assert weights.shape == found.shape
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_a_subspace_that_never_reads_O_s_has_equal_weights_there() -> None:  # noqa: N802
    task, paths, settings = prepare("geography-S3")
    space = SearchSpace(Subspace.P1)
    supernet = Supernet(task, space, None, settings, paths, seed=0, reading=Reading.GRADIENT)

    weights = run_relaxed(supernet, n_epochs=1)

    assert weights[0] == (0.25,) * 4
    assert len(weights[1]) == len(space.choices()[1].options)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    ("data", "reading"),
    [("geography-S3", Reading.LOSS), ("geography-S3", Reading.MRR), (ALIGNMENT_DATA, Reading.LOSS)],
)
def test_on_cuda_captured_steps_and_judgements_follow_the_architecture_that_is_set(
    data: str, reading: Reading
) -> None:
    ours, reference = (build(data, device="cuda", reading=reading), build(data, reading=reading))
    architectures = [
        LITERATURE["TransE"],
        LITERATURE["RSN"],
        SPACE.sample(np.random.default_rng(5)),
    ]

    found = ours.judge(architectures, np.random.default_rng(0))
    expected = reference.judge(architectures, np.random.default_rng(0))
    for architecture in architectures:
        ours.set(architecture)
        ours.train_step()

    assert found == pytest.approx(expected, rel=5e-3 if reading is Reading.MRR else 1e-3)
    assert ours.judge(architectures, np.random.default_rng(0)) != found


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_the_relaxed_supernet_learns_what_it_does_on_the_cpu() -> None:
    weights = run_relaxed(build(reading=Reading.GRADIENT, device="cuda", dropout=0.0), n_epochs=1)

    assert [sum(w) for w in weights] == pytest.approx([1.0] * N_CHOICES)
    assert max(max(w) - min(w) for w in weights) > 1e-3
