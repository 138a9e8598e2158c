"""Settings for all tests."""

import os
import stat
import sys

# Before torch is imported: the tests' models are too small for several threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from helpers.shared import made_once

# The same examples in every run: a failure can be repeated, and a green run is
# not luck.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Prepared data in "my data", which tests do not change."""
    from helpers.tiny_training import prepare

    return made_once(tmp_path_factory, "prepared data", prepare) / "my data"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    from helpers.bad_world import make_world  # which imports fairseq

    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


@pytest.fixture
def world(original, monkeypatch):
    """A directory with data and models, good and spoilt: the working directory of a test."""
    monkeypatch.chdir(original)
    return original


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A stand-in for fairseq-preprocess, which takes seconds to start, that only writes vocabularies."""
    script = tmp_path / "stand-in"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "directory = sys.argv[sys.argv.index('--destdir') + 1]\n"
        "assert '--fail' not in sys.argv, 'told to fail'\n"
        "for side in ('source', 'target'):\n"
        "    with open(os.path.join(directory, f'dict.{side}.txt'), 'w') as file:\n"
        "        file.write('madeupword0000 0\\n' if '--rare' in sys.argv else 'word 1\\n')\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    from wfe_plugin.pipeline import preparation

    monkeypatch.setattr(preparation, "fairseq_preprocess", lambda: str(script))


@pytest.fixture
def one_thread(monkeypatch):
    """For the processes that a test starts."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Runs wfe-experiment on stubs of the scripts."""
    from helpers.experiment_stubs import make_lab

    return make_lab(tmp_path, monkeypatch)


def pytest_terminal_summary(terminalreporter):
    """Say at the end what was not tried on this machine, and why."""
    reasons = {report.longrepr[2] for report in terminalreporter.getreports("skipped") if len(report.longrepr) == 3}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"not tested: {reason.removeprefix('Skipped: ')}", yellow=True)
