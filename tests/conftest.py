"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# The same examples in every run: a failure can be repeated, and a green run is
# not luck.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
