"""One temperature makes softmax probabilities those with which answers were drawn."""

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets
from interstellar.errors import DataError
from interstellar.evaluation import calibration
from interstellar.evaluation.calibration import (
    MOST_QUERIES,
    TEMPERATURES,
    draw_queries,
    equal_bins,
    expected_error,
    fit_temperature,
    measure_reliability,
)
from interstellar.evaluation.ranks import ComputeLogits

CPU = torch.device("cpu")
N_ENTITIES, N_QUERIES = 40, 3000


def draw_answers(logits: Tensor, seed: int = 0) -> Triplets:
    """Return triplets whose objects are drawn from softmax(logits), one a row."""
    generator = torch.Generator().manual_seed(seed)
    objects = torch.multinomial(logits.softmax(dim=1), 1, generator=generator).squeeze(1)
    rows = np.arange(len(logits))
    # A query names its row by subject and relation.
    return np.column_stack([rows % N_ENTITIES, rows // N_ENTITIES, objects]).astype(np.int32)


def draw_logits(n: int = N_QUERIES, seed: int = 1) -> Tensor:
    return 2 * torch.randn(n, N_ENTITIES, generator=torch.Generator().manual_seed(seed))


def look_up(logits: Tensor) -> ComputeLogits:
    return lambda subjects, relations: logits[relations * N_ENTITIES + subjects]


def known_of(queries: Triplets) -> KnownAnswers:
    n_relations = int(queries[:, 1].max()) + 1
    return KnownAnswers.of_triplets(queries, n_entities=N_ENTITIES, n_relations=n_relations)


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_the_temperature_of_a_known_model_is_found(temperature: float) -> None:
    logits = draw_logits()
    queries = draw_answers(logits)

    found = fit_temperature(look_up(temperature * logits), queries, known_of(queries), device=CPU)

    assert found == pytest.approx(temperature, rel=0.05)


def test_no_other_temperature_makes_the_answers_more_likely() -> None:
    logits = draw_logits(200)
    queries = draw_answers(logits)
    ask, known = look_up(logits), known_of(queries)

    best = fit_temperature(ask, queries, known, device=CPU)

    nll = [
        measure_reliability(ask, queries, known, temperature=best * factor, device=CPU).nll
        for factor in (0.97, 1.0, 1.03)
    ]
    assert nll[1] < min(nll[0], nll[2])


def test_memory_and_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = draw_logits(300)
    queries = draw_answers(logits)
    ask, known = look_up(logits), known_of(queries)
    at_once = fit_temperature(ask, queries, known, device=CPU)

    monkeypatch.setattr(calibration, "KEPT_BYTES", 4 * N_ENTITIES * 100)
    in_chunks = fit_temperature(ask, queries, known, device=CPU, chunk_size=7)

    assert in_chunks == pytest.approx(at_once, rel=1e-4)


@pytest.mark.parametrize(("sign", "bound"), [(1, TEMPERATURES[0]), (-1, TEMPERATURES[1])])
def test_a_network_that_is_always_right_or_wrong_ends_at_a_bound(sign: int, bound: float) -> None:
    logits = draw_logits(50)
    queries = draw_answers(100 * logits)

    found = fit_temperature(look_up(sign * logits), queries, known_of(queries), device=CPU)

    assert found == pytest.approx(bound, rel=0.01)


def test_the_likelihood_is_that_of_scikit_learn_without_other_known_answers() -> None:
    logits = draw_logits(60)
    queries = draw_answers(logits)
    others = queries.copy()
    others[:, 2] = (others[:, 2] + 1) % N_ENTITIES
    known = known_of(np.concatenate([queries, others]))
    masked = logits / 1.7
    masked[torch.arange(60), torch.from_numpy(others[:, 2].astype(np.int64))] = -torch.inf

    measured = measure_reliability(look_up(logits), queries, known, temperature=1.7, device=CPU)

    probabilities = masked.double().softmax(dim=1).numpy()
    expected = log_loss(queries[:, 2], probabilities, labels=np.arange(N_ENTITIES))
    assert measured.nll == pytest.approx(expected, rel=1e-5)


def test_the_right_temperature_is_reliable_and_a_wrong_one_is_not() -> None:
    logits = draw_logits()
    queries = draw_answers(logits)

    measured = measure_reliability(
        look_up(3 * logits), queries, known_of(queries), temperature=3.0, device=CPU
    )

    assert measured.ece < 0.03
    assert measured.ece_uncalibrated > 0.2
    assert measured.nll < measured.nll_uncalibrated
    assert [b.n for b in measured.bins] == [N_QUERIES // 10] * 10
    assert measured.ece == pytest.approx(expected_error(measured.bins))
    confidences = [b.confidence for b in measured.bins]
    assert confidences == sorted(confidences)


def test_bins_of_few_queries_hold_one_each() -> None:
    bins = equal_bins(np.array([0.9, 0.2, 0.5]), np.array([1.0, 0.0, 1.0]))

    assert [(b.confidence, b.accuracy, b.n) for b in bins] == [
        (0.2, 0, 1),
        (0.5, 1, 1),
        (0.9, 1, 1),
    ]
    assert expected_error(bins) == pytest.approx((0.1 + 0.2 + 0.5) / 3)


def test_a_true_answer_level_with_another_is_right_by_half() -> None:
    queries = np.array([[0, 0, 1]], dtype=np.int32)
    logits = torch.tensor([[2.0, 2.0, 0.0]])
    known = KnownAnswers.of_triplets(queries, n_entities=3, n_relations=1)

    measured = measure_reliability(
        lambda _, __: logits.clone(), queries, known, temperature=1.0, device=CPU
    )

    assert measured.bins[0].accuracy == 0.5


def test_a_diverged_network_is_refused() -> None:
    queries = draw_answers(draw_logits(5))
    logits = torch.full((5, N_ENTITIES), torch.nan)

    with pytest.raises(DataError, match="diverged"):
        fit_temperature(look_up(logits), queries, known_of(queries), device=CPU)


def test_nothing_held_out_is_refused() -> None:
    queries = draw_answers(draw_logits(5))

    with pytest.raises(DataError, match="no held-out triplets"):
        fit_temperature(look_up(draw_logits(5)), queries[:0], known_of(queries), device=CPU)


def test_at_most_so_many_queries_are_drawn_the_same_each_time() -> None:
    queries = draw_answers(draw_logits())

    first, second = (draw_queries(queries, 100, np.random.default_rng(0)) for _ in range(2))

    assert len(first) == MOST_QUERIES
    assert np.array_equal(first, second)
    assert len(draw_queries(queries[:10], 100, np.random.default_rng(0))) == 10
    assert len(draw_queries(queries, 10**7, np.random.default_rng(0))) == 50
