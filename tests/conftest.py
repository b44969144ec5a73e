"""Settings for all tests."""

from hypothesis import settings

settings.register_profile("interstellar", deadline=None)  # the first torch call takes a second
settings.load_profile("interstellar")
