"""What does not fit the memory is refused before it begins."""

from dataclasses import replace

import pytest

from interstellar.errors import SettingsError
from interstellar.training.defaults import LINK_PREDICTION, PROPAGATION
from interstellar.training.memory import embedding_bytes, refuse_too_large
from interstellar.training.settings import Optimizer

GIB = 2**30


def test_the_copies_of_the_embeddings_are_those_that_exist_at_the_end_of_an_epoch() -> None:
    adagrad = replace(LINK_PREDICTION, dim=32)
    adam = replace(adagrad, optimizer=Optimizer.ADAM)

    assert embedding_bytes(1000, adagrad) == 8 * 4 * 2 * 32 * 1000
    assert embedding_bytes(1000, adam) == 11 * 4 * 2 * 32 * 1000
    assert embedding_bytes(10**9, PROPAGATION) == 0  # it has none


def test_too_many_entities_are_refused_with_the_dimension_that_fits() -> None:
    settings = replace(LINK_PREDICTION, dim=512)

    with pytest.raises(SettingsError, match=r"5,000,000 entities.* 152\.6 GiB.*dim to 46") as found:
        refuse_too_large(5_000_000, settings, 14 * GIB)
    assert "14.0 GiB are free" in str(found.value)
    refuse_too_large(5_000_000, replace(settings, dim=46), 14 * GIB)


def test_where_no_dimension_fits_it_says_so() -> None:
    with pytest.raises(SettingsError, match="Train a smaller graph"):
        refuse_too_large(10**9, LINK_PREDICTION, GIB)
