"""fairseq's checkpoints, written as a whole or not at all.

fairseq writes a checkpoint under another name first, but copies it to `checkpoint_best.pt` and
`checkpoint_last.pt` in place: killed at that moment, or on a full disk, a training leaves half a file
to continue from. And when writing fails, fairseq tries again behind what it has
written already, and shows a traceback of torch's that does not say why.
"""

import shutil
import time
from pathlib import Path

import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from wfe_plugin.whole_files import written_whole

# As fairseq does: a file system on a network may be back soon.
ATTEMPTS, PAUSE = 3, 2.5

_fairseqs_save, _fairseqs_copy = checkpoint_utils.torch_persistent_save, PathManager.copy


def save(state, filename: str, async_write: bool = False) -> None:
    """In the place of fairseq's `torch_persistent_save`."""
    if async_write or not PathManager.supports_rename(filename):
        return _fairseqs_save(state, filename, async_write)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with written_whole(Path(filename)) as unfinished, open(unfinished, "wb") as file:
                torch.save(state, file)
            return
        except Exception as error:
            if attempt == ATTEMPTS:
                raise cause(error, filename) from error
            time.sleep(PAUSE)


def copy(source: str, target: str, overwrite: bool = False) -> bool:
    """In the place of `PathManager.copy`."""
    if not all(map(PathManager.supports_rename, (source, target))):
        return _fairseqs_copy(source, target, overwrite)
    try:
        with written_whole(Path(target)) as unfinished:
            shutil.copyfile(source, unfinished)
    except OSError as error:
        raise cause(error, target) from error
    return True


def cause(error: BaseException, filename: str) -> BaseException:
    """What the system has said of the file, which torch hides behind an error of its own."""
    hidden = error
    while hidden is not None and not isinstance(hidden, OSError):
        hidden = hidden.__cause__ or hidden.__context__
    if hidden is None or hidden.errno is None:
        return error
    return OSError(hidden.errno, hidden.strerror, filename)


def write_whole_checkpoints() -> None:
    """From here on, for all of fairseq."""
    checkpoint_utils.torch_persistent_save = save
    PathManager.copy = staticmethod(copy)
