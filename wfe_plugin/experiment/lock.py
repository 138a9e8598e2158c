"""One run at a time in an experiment's directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wfe_plugin.errors import UserError


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold the directory, as long as we or a command that we have started lives: also one that outlives us.

    If we are killed, it still writes to the logs and the unfinished directories that the next run uses.
    """
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{directory}: an experiment, or a command that it started, is running in this directory; "
                "wait until it ends, or choose another 'out' in [experiment]"
            ) from None
        except OSError:
            pass  # a file system without locks
        os.set_inheritable(descriptor, True)
        yield
    finally:
        os.close(descriptor)
