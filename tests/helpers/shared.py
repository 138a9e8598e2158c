"""What is expensive to make, made once for all processes that run tests."""

import fcntl
import os
from pathlib import Path


def made_once(tmp_path_factory, name, make) -> Path:
    """A directory that make(directory) has filled, here or in another worker of pytest-xdist. To be read only."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # that of the run
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
