"""A step of a propagation against the loss computed query by query, and in parts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.architecture.notation import read_architecture
from interstellar.architecture.propagation import LeftOut, RelationVectors
from interstellar.data.graph import KnowledgeGraph, Task
from interstellar.data.loading import load
from interstellar.data.triplets import with_inverses
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.propagation_graph import PropagationGraph
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.tasks.task import network_for
from interstellar.training import propagation_step
from interstellar.training.autograd_step import AutogradStep
from interstellar.training.defaults import PROPAGATION, GraphSize, default_settings
from interstellar.training.loop import Progress, SilentObserver, Training
from interstellar.training.optimizers import FlatParameters
from interstellar.training.propagation_step import ready_propagation_step
from interstellar.training.settings import (
    ModelKind,
    PropagationSettings,
    TrainingSettings,
)
from interstellar.training.settings_changes import replace_settings, with_changes

CPU = torch.device("cpu")
SMALL = replace(
    PROPAGATION,
    dim=4,
    batch_size=6,
    max_epochs=3,
    propagation=PropagationSettings(depth=2, queries_per_epoch=30),
)
NBF = read_architecture("O_r = h ⊙ r; v = O_r")


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    loaded = load("synthetic:entities=20")
    assert isinstance(loaded, KnowledgeGraph)
    return loaded


def build(graph: KnowledgeGraph, settings: TrainingSettings = SMALL) -> PropagationNetwork:
    network = network_for(LinkPrediction(graph), NBF, settings)
    assert isinstance(network, PropagationNetwork)
    network.initialise(torch.Generator().manual_seed(1))
    return network


def queries_of(graph: KnowledgeGraph) -> Tensor:
    return torch.from_numpy(with_inverses(graph.train, len(graph.relations)))


def build_step(graph: KnowledgeGraph, settings: TrainingSettings = SMALL) -> AutogradStep:
    network = build(graph, settings)
    given = queries_of(graph), settings, FlatParameters(network, CPU)
    step = propagation_step.propagation_step(network, *given)
    step.begin_epoch(torch.arange(len(step.paths)), settings.learning_rate, 0)
    return step


def loss_by_hand(graph: KnowledgeGraph, rule: LeftOut, n: int) -> float:
    """One query at a time in float64, on the graph without what gives the first n away."""
    queries = queries_of(graph).tolist()
    batch, n_relations = queries[:n], len(graph.relations)
    ends = {(s, o) for s, _, o in batch} | {(o, s) for s, _, o in batch}
    asked = {tuple(q) for q in batch}
    asked |= {(o, (r + n_relations) % (2 * n_relations), s) for s, r, o in batch}

    def is_left(s: int, r: int, o: int) -> bool:
        return (s, r, o) not in asked if rule is LeftOut.TRIPLETS else (s, o) not in ends

    left = np.array([t for t in graph.train.tolist() if is_left(*t)], dtype=np.int32)
    network = build(graph).double()
    edges = PropagationGraph(
        left.reshape(-1, 3), n_entities=len(graph.entities), n_relations=n_relations
    ).all_edges()
    losses = []
    for s, r, o in batch:
        [logits] = network.logits_over(edges, torch.tensor([s]), torch.tensor([r]))
        others = [x for a, b, x in queries if (a, b) == (s, r) and x != o]
        rivals = [e for e in range(len(graph.entities)) if e not in others]
        losses.append(-torch.log_softmax(logits[rivals], 0)[rivals.index(o)].item())
    return sum(losses) / n


@pytest.mark.parametrize("rule", LeftOut)
def test_the_loss_is_that_of_the_true_answer_where_nothing_gives_it_away(
    graph: KnowledgeGraph, rule: LeftOut
) -> None:
    step = build_step(graph, replace_settings(SMALL, {"left_out": rule}))

    step.compute()

    assert step.loss_sum.item() == pytest.approx(loss_by_hand(graph, rule, 6), rel=1e-5)


def test_a_batch_in_parts_is_the_same_step(graph: KnowledgeGraph) -> None:
    whole, parts = build_step(graph), build_step(graph)
    parts.loss.n_parts = 4

    for step in (whole, parts):
        step.compute()

    assert whole.optimizer.m is not None  # a tenth of the first gradient
    torch.testing.assert_close(parts.optimizer.m, whole.optimizer.m)
    assert parts.loss_sum.item() == pytest.approx(whole.loss_sum.item())


def test_dropout_leaves_other_edges_out_of_each_batch(graph: KnowledgeGraph) -> None:
    batch = queries_of(graph)[:6].long()
    losses = []
    for dropout in (0.0, 0.5, 0.5):
        loss = build_step(graph, replace(SMALL, dropout=dropout)).loss
        generator = torch.Generator().manual_seed(7)
        losses.append([loss.add_gradients(batch, generator).item() for _ in range(2)])

    (whole, as_whole), half, again = losses

    assert whole == as_whole
    assert half == again
    assert len({whole, *half}) == 3


def test_an_epoch_has_at_most_so_many_queries_and_other_ones_each_time(
    graph: KnowledgeGraph,
) -> None:
    step = build_step(graph)
    assert (step.n_steps, len(step.order)) == (5, 30)

    few = build_step(graph, replace(SMALL, batch_size=10**6))
    assert (few.n_steps, few.batch_size) == (1, 30)


def test_a_step_on_the_cpu_is_cut_to_the_memory(
    graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = build(graph)
    given: Any = network, queries_of(graph), SMALL, FlatParameters(network, CPU)
    assert ready_propagation_step(*given)[0].loss.n_parts == 1

    monkeypatch.setattr(propagation_step, "CPU_BYTES", 1)
    assert ready_propagation_step(*given)[0].loss.n_parts == 6


def train(graph: KnowledgeGraph, settings: TrainingSettings = SMALL) -> Training:
    task = LinkPrediction(graph)
    return Training(
        build(graph, settings),
        queries_of(graph),
        settings,
        seed=3,
        measure=lambda network: task.measure(network, Split.VALID).as_dict(),
    )


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_resumed_training_is_bit_for_bit_one_that_was_never_stopped(
    graph: KnowledgeGraph, dropout: float
) -> None:
    settings = replace(SMALL, dropout=dropout)
    whole, begun, resumed = (train(graph, settings) for _ in range(3))
    whole.run(SilentObserver())
    begun.run_epoch(SilentObserver())
    saved = {name: tensor.clone() for name, tensor in begun.saved_tensors().items()}
    resumed.resume(saved, Progress.from_dict(begun.progress.as_dict()))
    resumed.run(SilentObserver())

    for name, tensor in whole.saved_tensors().items():
        assert torch.equal(tensor, resumed.saved_tensors()[name]), name
    assert dropout or whole.progress.reports[0].loss > whole.progress.reports[-1].loss


def test_a_loss_that_is_no_number_ends_the_training(graph: KnowledgeGraph) -> None:
    training = train(graph, replace(SMALL, learning_rate=1e6))

    with pytest.raises(TrainingError, match="O_r = h ⊙ r"):
        training.run(SilentObserver())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n3": 0.1}, "n3 is 0.1"),
        ({"max_norm": 1.0}, "max_norm is 1.0"),
        ({"relation_prediction": 0.5}, "relation_prediction is 0.5"),
        ({"path_length": 3}, "all paths"),
        ({"depth": 9}, "depth is 9"),
        ({"aggregation": "median"}, "median"),
        ({"model": "walks"}, "these settings are for propagation"),
    ],
)
def test_what_a_propagation_has_no_use_for_is_refused(changes: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        with_changes(SMALL, **changes)


def test_choices_of_a_propagation_are_refused_for_walks() -> None:
    size = GraphSize(n_entities=100, n_triplets=500)
    walks = default_settings(Task.LINK_PREDICTION, size)

    with pytest.raises(SettingsError, match="depth belongs to a propagation"):
        with_changes(walks, depth=3)
    with pytest.raises(SettingsError, match="there are two"):
        default_settings(Task.ENTITY_ALIGNMENT, size, ModelKind.PROPAGATION)


def with_threads(n: int, compute: Callable[[], Tensor]) -> Tensor:
    n_before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        return compute()
    finally:
        torch.set_num_threads(n_before)


@pytest.mark.parametrize("relations", RelationVectors)
def test_the_number_of_threads_changes_no_weight_with_32_queries_a_step(
    graph: KnowledgeGraph, relations: RelationVectors
) -> None:
    propagation = PropagationSettings(depth=2, relations=relations, queries_per_epoch=96)
    settings = replace(SMALL, dim=16, batch_size=32, propagation=propagation)

    def take_steps() -> Tensor:
        step = build_step(graph, settings)
        for _ in range(3):
            step.compute()
        return step.parameters.values.clone()

    assert torch.equal(with_threads(1, take_steps), with_threads(2, take_steps))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("left_out", list(LeftOut))
def test_steps_that_are_captured_lead_where_those_that_are_not_do(
    graph: KnowledgeGraph, left_out: LeftOut
) -> None:
    settings = with_changes(SMALL, left_out=left_out, precision="float32")
    cuda = torch.device("cuda")
    found = []
    for is_captured in (True, False):
        network = build(graph, settings).to(cuda)
        parameters = FlatParameters(network, cuda)
        step, work = ready_propagation_step(network, queries_of(graph).cuda(), settings, parameters)
        step.begin_epoch(torch.arange(len(step.paths), device=cuda), 0.01, 0)
        for _ in range(step.n_steps):
            work() if is_captured else step.compute()
        found.append((parameters.values.clone(), step.loss_sum.clone()))

    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)
    assert int(step.n_done) == step.n_steps
