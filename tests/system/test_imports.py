"""Importing does nothing; `register` and `--user-dir` make the plugin known to fairseq."""

import os
import shutil
import subprocess
import sys

import pytest

import wfe_plugin
from helpers import ROOT

PLUGIN = ROOT / "wfe_plugin"

CHECK = """
import argparse
from pathlib import Path
if {ours}:  # as in our commands: fairseq does not import a user directory again
    import wfe_plugin
    wfe_plugin.register()
from fairseq import checkpoint_utils, criterions, models, optim, tasks, utils
utils.import_user_module(argparse.Namespace(user_dir={user_dir!r}))
import wfe_plugin
assert Path(wfe_plugin.__file__).parent == Path({user_dir!r}).resolve(), wfe_plugin.__file__
assert "summarization_wfe" in tasks.TASK_REGISTRY
assert "nll_wfe" in criterions.CRITERION_REGISTRY
assert "torch_adam" in optim.OPTIMIZER_REGISTRY
for architecture in ("wfe_lstm", "wfe_lstm_tiny"):
    assert models.ARCH_MODEL_NAME_REGISTRY[architecture] == "wfe_lstm"
assert "wfe_plugin" in checkpoint_utils.load_checkpoint_to_cpu.__module__
assert "wfe_plugin" in checkpoint_utils.torch_persistent_save.__module__
wfe_plugin.register()
utils.import_user_module(argparse.Namespace(user_dir={user_dir!r}))  # again: harmless
"""


@pytest.mark.parametrize("ours", [False, True], ids=["fairseq's command", "our command"])
@pytest.mark.parametrize("place", ["checkout", "copy elsewhere"])
def test_user_dir(tmp_path, place, ours):
    user_dir = PLUGIN
    if place == "copy elsewhere":
        user_dir = tmp_path / "site packages" / "wfe_plugin"
        shutil.copytree(PLUGIN, user_dir)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if ours:
        environment["PYTHONPATH"] = str(user_dir.parent)
    subprocess.run(
        [sys.executable, "-c", CHECK.format(user_dir=str(user_dir), ours=ours)],
        cwd=tmp_path,
        env=environment,
        check=True,
    )


FREE = """
import sys, pkgutil, importlib
hook = sys.excepthook
for name in ("fairseq", *{absent!r}):
    sys.modules[name] = None  # importing it fails
package = importlib.import_module({package!r})
for module in pkgutil.iter_modules(getattr(package, "__path__", []) if {package!r} != "wfe_plugin" else []):
    importlib.import_module({package!r} + "." + module.name)
assert sys.excepthook is hook
"""


@pytest.mark.parametrize(
    "package, absent",
    [
        ("wfe_plugin", ["torch", "numpy"]),
        ("wfe_plugin.errors", ["torch", "numpy"]),
        ("wfe_plugin.evaluation", ["torch"]),
        ("wfe_plugin.method", []),
    ],
)
def test_importing_is_free(package, absent):
    """All modules of a package that needs no fairseq, where there is none."""
    environment = {**os.environ, "PYTHONPATH": str(PLUGIN.parent)}
    code = FREE.format(package=package, absent=absent)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_version():
    done = subprocess.run([sys.executable, "setup.py", "--version"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.stdout.split() == [wfe_plugin.__version__]


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="summarizer"):
        _ = wfe_plugin.summarizer
