"""What the top-level scripts have in common: how they start Python."""

import os
import signal
import subprocess

import pytest

from helpers import ROOT
from helpers.tiny_training import script_environment

MODULE = """
import os, signal, sys
if "import" in sys.argv:
    os.kill(os.getpid(), signal.SIGINT)

def work():
    print("caf\\u00e9")
    os.kill(os.getpid(), signal.SIGINT)

def main():
    from wfe_plugin.cli.common import run
    return run("wfe-test", work)
"""


@pytest.fixture
def start(tmp_path):
    """A module whose import or whose main is interrupted."""
    (tmp_path / "interrupted.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    def run(*arguments, interrupts=signal.SIG_DFL):
        command = ["sh", str(ROOT / "scripts" / "run_main.sh"), "interrupted", *arguments]
        environment = {**script_environment(), "PYTHONPATH": path, "PYTHONIOENCODING": "ascii"}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True,
            # The tests themselves may run in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
        )  # fmt: skip

    return run


def test_an_interrupted_import_shows_no_traceback(start):
    done = start("import")
    assert done.returncode == 130 and done.stdout == done.stderr == ""


def test_a_command_tells_of_an_interrupt_and_may_show_any_text(start):
    done = start()
    assert done.returncode == 130 and done.stderr == "wfe-test: interrupted\n"
    assert done.stdout == "caf\\xe9\n"


def test_an_interrupt_that_is_ignored_stays_so(start):
    """As the shell has it for jobs in the background."""
    assert start("import", interrupts=signal.SIG_IGN).returncode == 0
