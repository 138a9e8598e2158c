"""The plugin registers wherever it is imported from; the method needs no fairseq."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT

PLUGIN = ROOT / "wfe_plugin"

CHECK = """
import argparse
from pathlib import Path
from fairseq import criterions, models, tasks, utils
utils.import_user_module(argparse.Namespace(user_dir={user_dir!r}))
import wfe_plugin
assert Path(wfe_plugin.__file__).parent == Path({user_dir!r}).resolve(), wfe_plugin.__file__
assert "summarization_wfe" in tasks.TASK_REGISTRY
assert "nll_wfe" in criterions.CRITERION_REGISTRY
for architecture in ("wfe_lstm", "wfe_lstm_tiny"):
    assert models.ARCH_MODEL_NAME_REGISTRY[architecture] == "wfe_lstm"
utils.import_user_module(argparse.Namespace(user_dir={user_dir!r}))  # again: harmless
"""


@pytest.mark.parametrize("place", ["checkout", "copy elsewhere"])
def test_user_dir(tmp_path, place):
    user_dir = PLUGIN
    if place == "copy elsewhere":
        user_dir = tmp_path / "site packages" / "wfe_plugin"
        shutil.copytree(PLUGIN, user_dir)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [sys.executable, "-c", CHECK.format(user_dir=str(user_dir))],
        cwd=tmp_path,
        env=environment,
        check=True,
    )


WITHOUT_FAIRSEQ = """
import sys
sys.modules["fairseq"] = None
from wfe_plugin.evaluation import repetition
from wfe_plugin.method import bound, estimator, loss, ngram_blocking
"""


def test_method_and_evaluation_work_where_there_is_no_fairseq():
    environment = {**os.environ, "PYTHONPATH": str(PLUGIN.parent)}
    subprocess.run([sys.executable, "-c", WITHOUT_FAIRSEQ], env=environment, check=True)


def imported_modules(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_the_method_does_not_import_fairseq():
    """Nor any part of the plugin that does."""
    files = sorted((PLUGIN / "method").glob("*.py"))
    assert len(files) >= 4
    for path in files:
        for module in imported_modules(path):
            top = module.split(".")[0]
            assert top in ("collections", "dataclasses", "functools", "math", "torch", "typing", "wfe_plugin"), (
                path,
                module,
            )
            if top == "wfe_plugin":
                assert module.startswith(("wfe_plugin.method", "wfe_plugin.errors")), (path, module)
