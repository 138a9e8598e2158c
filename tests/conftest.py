"""Settings for all tests."""

import os

# Before torch is imported: the tests' models are too small for several threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings  # noqa: E402

# The same examples in every run: a failure can be repeated, and a green run is
# not luck.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
