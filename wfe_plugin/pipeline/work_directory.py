"""A directory for work that is not finished yet."""

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


def resolved(name: str) -> Path:
    """Where the directory is, or will be: the end of symbolic links, also of those that lead to nothing yet."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(name)  # fails for links in a circle, which realpath does not mind
    return Path(os.path.realpath(name))


@contextmanager
def work_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """A new directory in `parent`, removed in the end.

    A run that was killed leaves its directory behind, and the next one removes it. A directory
    that is in use is locked, as long as the process lives.
    """
    for left in parent.glob(glob.escape(prefix) + "*"):
        with suppress(OSError):  # in use, just gone, or on a file system without locks
            with locked(left):
                shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    with ExitStack() as held:
        held.callback(shutil.rmtree, work, ignore_errors=True)
        with suppress(OSError):
            held.enter_context(locked(work))
        yield work


@contextmanager
def locked(directory: Path) -> Iterator[int]:
    """Hold a directory, as long as a process has the descriptor. Raises BlockingIOError if another one does."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)
