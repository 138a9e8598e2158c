"""One run at a time in an experiment's directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.work_directory import locked


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold the directory, as long as we or a command that we have started lives: also one that outlives us.

    If we are killed, it still writes to the logs and the unfinished directories that the next run uses.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            os.set_inheritable(held.enter_context(locked(directory)), True)
        except BlockingIOError:
            raise UserError(
                f"{directory}: an experiment, or a command that it started, is running in this directory; "
                "wait until it ends, or choose another 'out' in [experiment]"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
