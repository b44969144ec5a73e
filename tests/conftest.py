"""Settings for all tests."""

import os

from hypothesis import settings

# Tests run side by side, and threads that wait for each other on a busy core crawl. Before torch is
# imported, and for the programs that tests start too.
os.environ["OMP_NUM_THREADS"] = "1"

settings.register_profile("interstellar", deadline=None)  # the first torch call takes a second
settings.load_profile("interstellar")
