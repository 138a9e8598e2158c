"""What is true of every command that is installed."""

import os
import re
import resource
import subprocess
import sys

import pytest

import wfe_plugin
from helpers import ROOT

SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")
COMMANDS = dict(re.findall(r'"(wfe-[a-z-]+) = (wfe_plugin\.cli\.\w+):main"', SETUP))


def test_they_are_there():
    assert {"wfe-evaluate", "wfe-experiment", "wfe-frequencies", "wfe-user-dir"} <= set(COMMANDS)


def called(module, *arguments):
    """Standard output, standard error, and seconds of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", module, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("command, module", COMMANDS.items(), ids=list(COMMANDS))
def test_help_is_free_and_there_is_a_version(command, module):
    out, imports, seconds = called(module, "--help")
    assert out.startswith(f"usage: {command} ") and "--version" in out
    imported = set(re.findall(r"\| +([\w.]+)$", imports, re.MULTILINE))
    assert "argparse" in imported and not imported & {"torch", "fairseq", "numpy", "sacremoses"}
    assert seconds < 0.3
    assert called(module, "--version")[0] == f"{command} {wfe_plugin.__version__}\n"
