"""Batch normalisation against torch's own."""

import torch
from torch import nn

from interstellar.rivals.batch_norm import BatchNorm


def test_batches_and_answers_are_normalised_as_torch_does() -> None:
    ours, theirs = BatchNorm(3), nn.BatchNorm1d(3)
    x = torch.randn(3, 5, 3, generator=torch.Generator().manual_seed(0))

    for batch in x:
        torch.testing.assert_close(ours.normalise(batch, is_training=True), theirs(batch))

    theirs.eval()
    torch.testing.assert_close(ours.normalise(x[0], is_training=False), theirs(x[0]))


def test_a_batch_of_one_is_normalised_as_in_an_answer() -> None:
    norm = BatchNorm(3)
    x = torch.randn(1, 3)

    found = norm.normalise(x, is_training=True)

    assert torch.equal(found, norm.normalise(x, is_training=False))
    assert not norm.mean.any()


def test_statistics_are_saved_with_the_weights_and_learn_nothing() -> None:
    norm = BatchNorm(3)

    assert {name for name, p in norm.named_parameters() if not p.requires_grad} == {
        "mean",
        "variance",
    }
    norm.normalise(torch.randn(4, 3), is_training=True)
    with torch.no_grad():
        norm.initialise()
    assert not norm.mean.any()
    assert (norm.variance == 1).all()
