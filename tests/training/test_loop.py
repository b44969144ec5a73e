"""The loop: epochs, validation, early stopping, bad losses, resuming."""

import copy
import itertools
import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import ZERO_OUTPUT
from interstellar.architecture.formula import to_formula
from interstellar.architecture.literature import LITERATURE
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.path_network import NetworkForm, PathNetwork
from interstellar.model.softmax_loss import softmax_loss
from interstellar.rivals.network import Network
from interstellar.training import step as step_module
from interstellar.training.loop import (
    MANY_RANKS,
    EarlyStopping,
    EpochReport,
    Measure,
    Progress,
    Training,
    torch_seed,
)
from interstellar.training.settings import Metric
from tests.training.test_step import ONE_WAY, TWO_WAY, build_network, draw_paths, small_settings

N_STEPS = 5
"""Steps an epoch in `build_training`, unless it is told otherwise."""


class Quiet:
    """Watches without a word."""

    def __init__(self, on_epoch: Callable[[Training], None] | None = None) -> None:
        self.steps: list[tuple[int, int]] = []
        self.reports: list[EpochReport] = []
        self._on_epoch = on_epoch

    def on_step(self, n_done: int, n_steps: int) -> None:
        self.steps.append((n_done, n_steps))

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        self.reports.append(report)
        if self._on_epoch is not None:
            self._on_epoch(training)


class Scores:
    """Measures a network by a list of scores, whatever it has learnt."""

    def __init__(self, *scores: float) -> None:
        self._scores = iter(scores)
        self.seen: list[Tensor] = []

    def __call__(self, network: Network) -> dict[str, float]:
        assert isinstance(network, PathNetwork)
        self.seen.append(network.entities.detach().clone())
        return {"mrr": next(self._scores)}


def measure_nothing(_: Network) -> dict[str, float]:
    return {"mrr": 0.5, "hits@1": 0.5}


def entities_of(training: Training) -> Tensor:
    assert isinstance(training.network, PathNetwork)
    return training.network.entities.detach()


def build_training(
    architecture: Architecture = LITERATURE["ComplEx"],
    form: NetworkForm = TWO_WAY,
    measure: Measure = measure_nothing,
    *,
    n_paths: int = 40,
    **changes: Any,
) -> Training:
    chosen: Any = {"max_epochs": 3, "validate_every": 1, "learning_rate": 0.01} | changes
    return Training(
        build_network(architecture, form),
        draw_paths(n_paths),
        small_settings(form, chosen),
        seed=0,
        measure=measure,
    )


def bits_of(tensors: Mapping[str, Tensor]) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def test_every_step_and_every_epoch_is_told() -> None:
    observer = Quiet()

    build_training().run(observer)

    assert observer.steps == 3 * [(n, N_STEPS) for n in range(1, N_STEPS + 1)]
    assert [report.epoch for report in observer.reports] == [1, 2, 3]


def test_the_loss_falls() -> None:
    observer = Quiet()

    build_training(max_epochs=30).run(observer)

    assert observer.reports[-1].loss < observer.reports[0].loss - 0.1


def test_setting_up_tries_a_step_out_and_undoes_it() -> None:
    training = build_training()
    network = build_network(LITERATURE["ComplEx"], TWO_WAY)
    seed = torch_seed(0, "initial weights")
    network.initialise(torch.Generator().manual_seed(seed))

    assert bits_of(training.best_parameters()) == bits_of(network.state_dict())
    assert training.saved_tensors()["adam.m"].abs().max() == 0


@pytest.mark.parametrize(("every", "validated"), [(1, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), (9, [5])])
def test_it_validates_every_so_many_epochs_and_after_the_last(
    every: int, validated: list[int]
) -> None:
    observer = Quiet()

    build_training(max_epochs=5, validate_every=every).run(observer)

    assert [report.epoch for report in observer.reports if report.valid] == validated


def test_the_last_epoch_may_be_the_best_and_its_parameters_are_those_that_were_measured() -> None:
    scores = Scores(0.1, 0.3, 0.2, 0.4)
    training = build_training(measure=scores, max_epochs=4)

    training.run(Quiet())

    assert training.progress.best_epoch == 4
    torch.testing.assert_close(entities_of(training), scores.seen[3], rtol=0, atol=0)


def test_afterwards_the_network_is_its_best_self() -> None:
    scores = Scores(0.1, 0.3, 0.2, 0.2)
    training = build_training(measure=scores, max_epochs=4)

    training.run(Quiet())

    assert (training.progress.best_epoch, training.progress.best_score) == (2, 0.3)
    torch.testing.assert_close(entities_of(training), scores.seen[1], rtol=0, atol=0)
    assert not torch.equal(scores.seen[1], scores.seen[3])


def test_it_stops_early_when_the_patience_is_used_up() -> None:
    training = build_training(measure=Scores(0.1, 0.3, 0.2, 0.1), max_epochs=50, patience=2)

    training.run(Quiet())

    assert (training.progress.n_epochs, training.progress.best_epoch) == (4, 2)


def test_the_learning_rate_decays_after_every_epoch() -> None:
    seen: list[Tensor] = []
    training = build_training(learning_rate=0.01, lr_decay=0.01)
    seen.append(entities_of(training).clone())

    training.run(Quiet(lambda at: seen.append(entities_of(at).clone())))

    moved = [float((after - before).norm()) for before, after in itertools.pairwise(seen)]
    for before, after in itertools.pairwise(moved):
        assert 0.003 < after / before < 0.03  # Adam's steps are as long as the rate


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
@pytest.mark.parametrize("n_epochs", [1, 3, 5])
def test_a_training_resumed_after_any_epoch_is_the_one_that_went_on(
    form: NetworkForm, n_epochs: int
) -> None:
    saved: dict[int, tuple[dict[str, Tensor], Progress]] = {}
    scores = (0.1, 0.4, 0.2, 0.3, 0.5)

    def save(training: Training) -> None:
        tensors = {name: tensor.clone() for name, tensor in training.saved_tensors().items()}
        saved[training.progress.n_epochs] = tensors, copy.deepcopy(training.progress)

    whole = build_training(form=form, measure=Both(*scores), max_epochs=5, dropout=0.3)
    whole.run(Quiet(save))
    tensors, progress = saved[n_epochs]

    resumed = build_training(form=form, measure=Both(*scores[n_epochs:]), max_epochs=5, dropout=0.3)
    resumed.resume(tensors, Progress.from_dict(progress.as_dict()))
    resumed.run(Quiet())

    assert bits_of(resumed.saved_tensors()) == bits_of(whole.saved_tensors())
    assert bits_of(resumed.network.state_dict()) == bits_of(whole.network.state_dict())
    assert resumed.progress.best_epoch == whole.progress.best_epoch


class Both:
    """As `Scores`, for whichever metric selects."""

    def __init__(self, *scores: float) -> None:
        self._scores = iter(scores)

    def __call__(self, _: Network) -> dict[str, float]:
        score = next(self._scores)
        return {"mrr": score, "hits@1": score}


def spoil(monkeypatch: pytest.MonkeyPatch, *, call: int, what: str, value: float) -> None:
    """Let one call of the loss return a number that is not finite; call 0 is the trial step."""
    n_calls = 0

    def spoilt(*arguments: Any, **others: Any) -> tuple[Tensor, Tensor]:
        nonlocal n_calls
        losses, gradient = softmax_loss(*arguments, **others)
        if n_calls == call:
            (losses if what == "loss" else gradient)[0] = value
        n_calls += 1
        return losses, gradient

    monkeypatch.setattr(step_module, "softmax_loss", spoilt)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_loss_that_is_not_finite_is_an_error_that_keeps_the_last_good_weights(
    monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    spoil(monkeypatch, call=N_STEPS + 3, what="loss", value=value)
    training = build_training()
    saved: list[dict[str, bytes]] = []

    with pytest.raises(TrainingError) as failure:
        training.run(Quiet(lambda at_epoch: saved.append(bits_of(at_epoch.saved_tensors()))))

    assert "step 3 of epoch 2" in str(failure.value)
    assert to_formula(LITERATURE["ComplEx"]) in str(failure.value)
    assert "Lower the learning rate (0.01)" in str(failure.value)
    assert bits_of(training.saved_tensors()) == saved[0]
    assert training.progress.n_epochs == 1


def test_parameters_that_became_infinite_in_the_last_step_are_never_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil(monkeypatch, call=2 * N_STEPS, what="gradient", value=torch.nan)
    training = build_training()

    with pytest.raises(TrainingError, match="step 5 of epoch 2"):
        training.run(Quiet())

    assert training.progress.n_epochs == 1
    for tensor in (*training.saved_tensors().values(), *training.network.parameters()):
        assert torch.isfinite(tensor).all()


def test_a_metric_that_is_not_measured_is_refused() -> None:
    training = build_training(measure=lambda _: {"mrr": 0.1}, metric=Metric.AUC_PR)

    with pytest.raises(SettingsError, match="metric is auc_pr, but on this data there are mrr"):
        training.run(Quiet())


def test_batch_normalisation_needs_two_paths() -> None:
    with pytest.raises(SettingsError, match="batch_size is 8 and there are 1 paths"):
        build_training(form=ONE_WAY, n_paths=1)


def test_a_network_whose_output_is_always_zero_can_be_trained() -> None:
    observer = Quiet()

    build_training(ZERO_OUTPUT).run(observer)

    assert observer.reports[-1].loss == pytest.approx(torch.tensor(11.0).log().item())


def test_progress_comes_back_from_json() -> None:
    training = build_training()
    training.run(Quiet())

    progress = Progress.from_dict(training.progress.as_dict())

    assert progress == training.progress
    assert progress.seconds > 0
    assert progress.step_ms > 0


scores = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(scores=scores)
def test_the_best_epoch_is_the_last_with_the_highest_score(scores: list[float]) -> None:
    stopping = EarlyStopping(patience=0)

    verdicts = [stopping.observe(epoch, score) for epoch, score in enumerate(scores, 1)]

    assert stopping.best_score == max(scores)
    assert stopping.best_epoch == len(scores) - scores[::-1].index(max(scores))
    assert verdicts == [score == max(scores[: i + 1]) for i, score in enumerate(scores)]


@given(scores=scores, patience=st.integers(1, 5))
def test_it_is_over_once_the_patience_for_a_gain_is_used_up(
    scores: list[float], patience: int
) -> None:
    stopping = EarlyStopping(patience)

    for epoch, score in enumerate(scores, 1):
        stopping.observe(epoch, score)

        first_of_best = 1 + scores.index(max(scores[:epoch]))
        assert stopping.is_over is (epoch - first_of_best >= patience)


@given(scores=scores, n_ranks=st.integers(MANY_RANKS, 10**6))
def test_with_many_ranks_their_number_does_not_matter(scores: list[float], n_ranks: int) -> None:
    told, untold = EarlyStopping(patience=2), EarlyStopping(patience=2)

    for epoch, score in enumerate(scores, 1):
        told.observe(epoch, score, n_ranks)
        untold.observe(epoch, score)

        assert told.is_over is untold.is_over


@pytest.mark.parametrize(("n_ranks", "n_validations"), [(1000, 3), (999, 4), (250, 6), (10, 30)])
def test_the_fewer_the_ranks_the_longer_the_patience(n_ranks: int, n_validations: int) -> None:
    stopping = EarlyStopping(patience=3)
    stopping.observe(1, 0.5, n_ranks)

    n_without_gain = 0
    while not stopping.is_over:
        n_without_gain += 1
        stopping.observe(1 + n_without_gain, 0.4, n_ranks)

    assert n_without_gain == n_validations


def learnt_when_stopped(n_ranks: int, n_told: int, *, seed: int) -> float:
    """What a network has truly learnt, of 1, at its best epoch by scores of so many ranks."""
    rng, stopping = np.random.default_rng(seed), EarlyStopping(patience=5)
    learnt = [1 - math.exp(-epoch / 30) for epoch in range(300)]
    for epoch, true in enumerate(learnt):
        stopping.observe(epoch, true + 0.3 * rng.normal() / math.sqrt(n_ranks), n_told)
        if stopping.is_over:
            break
    return learnt[stopping.best_epoch]


@pytest.mark.parametrize("n_ranks", [20, 50, 200])
def test_a_rising_curve_of_few_ranks_is_followed_as_far_as_one_of_many(n_ranks: int) -> None:
    of_few, unstretched, of_many = (
        statistics.mean(learnt_when_stopped(n, told, seed=seed) for seed in range(60))
        for n, told in ((n_ranks, n_ranks), (n_ranks, 1000), (1000, 1000))
    )

    assert of_many > 0.9
    assert of_few > of_many - 0.01
    assert unstretched < of_many - 0.05


def test_a_training_stops_by_the_number_of_ranks_also_when_resumed() -> None:
    def measure(_: Network) -> dict[str, float]:
        return {"mrr": 0.5, "n": 250}

    whole = build_training(measure=measure, max_epochs=50, patience=1)
    whole.run(Quiet())
    first = build_training(measure=measure, max_epochs=2, patience=1)
    first.run(Quiet())
    resumed = build_training(measure=measure, max_epochs=50, patience=1)
    resumed.resume(first.saved_tensors(), first.progress)
    assert not resumed.progress.is_over
    resumed.run(Quiet())

    assert whole.progress.n_epochs == resumed.progress.n_epochs == 3


@given(scores=scores)
def test_without_patience_it_is_never_over(scores: list[float]) -> None:
    stopping = EarlyStopping(patience=0)

    for epoch, score in enumerate(scores, 1):
        stopping.observe(epoch, score)

    assert not stopping.is_over
