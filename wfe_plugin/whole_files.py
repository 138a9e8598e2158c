"""Files that are there as a whole, or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def named(name) -> Iterator[None]:
    """Errors of writing, such as that the disk is full, tell the name: they do not by themselves."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(name)
        raise


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write to, which becomes *path* in the end. If anything goes wrong, nothing is left.

    It is that of fairseq's unfinished checkpoints. A process that is killed leaves it behind, for
    the next one to write over. A symbolic link stays one.
    """
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with named(path):
            yield unfinished
        unfinished.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(unfinished):
            error.filename = str(path)
        with suppress(OSError):
            unfinished.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    with written_whole(path) as unfinished:
        # A file's name that is not UTF-8 itself may be part of the text.
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, content) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
