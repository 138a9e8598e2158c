"""Settings for all tests."""

import os

# Before torch is imported: the tests' models are too small for several threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest  # noqa: E402
from bad_world import make_world  # noqa: E402
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


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


@pytest.fixture
def world(original, monkeypatch):
    """A directory with data and models, good and spoilt: the working directory of a test."""
    monkeypatch.chdir(original)
    return original
