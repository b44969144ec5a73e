"""Similarities of decodings: one form for all, exact ties for equal embeddings."""

import pytest
import torch

from interstellar.evaluation.rescoring import hash_rows, rescore, share_offsets
from interstellar.evaluation.similarity import Decoding
from tests.evaluation.small_embeddings import noisy_pair


@pytest.mark.parametrize("decoding", Decoding)
def test_turning_around_exchanges_rows_and_columns(decoding: Decoding) -> None:
    first, second = noisy_pair(30)
    similarity = rescore(first[:20], second, decoding)

    turned = similarity.turned()

    torch.testing.assert_close(turned.rows(slice(None)), similarity.rows(slice(None)).T)


@pytest.mark.parametrize("decoding", Decoding)
def test_pairs_and_parts_have_the_similarities_of_the_whole(decoding: Decoding) -> None:
    similarity = rescore(*noisy_pair(30), decoding)
    rows, columns = torch.tensor([3, 1, 29]), torch.tensor([0, 7, 5])
    whole = similarity.rows(slice(None))

    part = similarity.take(rows, columns).rows(slice(None))

    torch.testing.assert_close(part, whole[rows][:, columns])
    torch.testing.assert_close(similarity.of_pairs(rows, columns), whole[rows, columns])


@pytest.mark.parametrize("decoding", [Decoding.CSLS, Decoding.SINKHORN])
def test_equal_embeddings_have_equal_similarities_to_the_last_bit(decoding: Decoding) -> None:
    first, second = noisy_pair(103)
    second[[5, 50, 102]] = second[0].clone()

    values = rescore(first, second, decoding).rows(slice(None))

    assert torch.equal(values[:, 5], values[:, 0])
    assert torch.equal(values[:, 50], values[:, 0])
    assert torch.equal(values[:, 102], values[:, 0])


def test_only_equal_rows_share_an_offset() -> None:
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]])

    offsets = share_offsets(embeddings, torch.tensor([1.0, 2.0, 3.0]))

    assert offsets.tolist() == [3, 2, 3]


def test_hashes_of_different_rows_differ() -> None:
    embeddings = torch.randn(5000, 3, generator=torch.Generator().manual_seed(0))

    assert len(set(hash_rows(embeddings).tolist())) == 5000
