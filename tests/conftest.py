"""Settings for all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Tests run side by side, and threads that wait for each other on a busy core crawl. Before torch is
# imported, and for the programs that tests start too.
os.environ["OMP_NUM_THREADS"] = "1"

settings.register_profile("interstellar", deadline=None)  # the first torch call takes a second
settings.load_profile("interstellar")


@pytest.fixture(scope="module")
def few_resamples() -> Iterator[None]:
    """Intervals of confidence from few resamples: what they are is tested by themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("interstellar.reproduce.rank_correlation.N_RESAMPLES", 50)
        yield
