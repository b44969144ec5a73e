"""Partners found without all products: nearly the same, and exactly as far."""

import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.approximate import find_nearest_nearly, require_usearch
from interstellar.evaluation.similarity import Decoding, find_nearest
from interstellar.watching import watching

pytest.importorskip("usearch")

N, DIM, K = 2000, 16, 10


def draw_views(noise: float = 0.3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(N, DIM, generator=generator)
    return common, common + noise * torch.randn(N, DIM, generator=generator)


def find_nearly(
    source: Tensor, target: Tensor, decoding: Decoding, k: int = K
) -> tuple[Tensor, Tensor]:
    cosine = rescore(source, target, Decoding.COSINE)
    return find_nearest_nearly(cosine, decoding, k, np.random.default_rng(0))


@pytest.mark.parametrize("decoding", [Decoding.COSINE, Decoding.CSLS])
def test_nearly_all_of_the_nearest_are_found(decoding: Decoding) -> None:
    source, target = draw_views()

    values, columns = find_nearly(source, target, decoding)

    exact = rescore(source, target, decoding)
    exact_values, exact_columns = find_nearest(exact, K)
    is_first = columns[:, 0] == exact_columns[:, 0]
    n_found = (columns.unsqueeze(2) == exact_columns.unsqueeze(1)).sum()
    assert is_first.float().mean() > 0.98
    assert n_found > 0.95 * N * K
    torch.testing.assert_close(values[is_first, 0], exact_values[is_first, 0], atol=2e-3, rtol=0)


def test_how_far_it_is_is_said() -> None:
    told: list[tuple[str, int, int, str]] = []

    with watching(lambda *work: told.append(work)):
        find_nearly(*draw_views(), Decoding.COSINE)

    assert ("linking neighbours", 0, N, "entities") in told
    assert told[-1] == ("searching neighbours", N, N, "entities")


def test_scores_by_cosine_are_those_of_the_pairs() -> None:
    source, target = draw_views()

    values, columns = find_nearly(source, target, Decoding.COSINE)

    rows = torch.arange(N).repeat_interleave(K)
    expected = rescore(source, target, Decoding.COSINE).of_pairs(rows, columns.flatten())
    torch.testing.assert_close(values.flatten(), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("n_sources", "n_targets"), [(0, 3), (1, 1), (3, 2), (1, 200)])
@pytest.mark.parametrize("decoding", [Decoding.COSINE, Decoding.CSLS])
def test_a_few_entities_have_as_many_partners_as_there_are(
    n_sources: int, n_targets: int, decoding: Decoding
) -> None:
    source, target = draw_views()

    values, columns = find_nearly(source[:n_sources], target[:n_targets], decoding)

    assert columns.shape == values.shape == (n_sources, min(K, n_targets))
    assert all(len(set(row)) == len(row) for row in columns.tolist())


def test_among_equals_the_order_of_ids_does_not_help() -> None:
    alike = torch.ones(500, DIM)

    _, columns = find_nearly(alike, alike, Decoding.COSINE, k=1)

    assert (columns[:, 0] == torch.arange(500)).float().mean() < 0.05


def test_without_usearch_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[ann\]"):
        require_usearch()
