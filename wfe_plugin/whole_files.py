"""Files that are there as a whole, or not at all."""

import json
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Let errors name *path* that name no file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write to, which becomes *path* in the end. If anything goes wrong, nothing is left.

    It is that of fairseq's unfinished checkpoints. A process that is killed leaves it behind, for
    the next one to write over.
    """
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with named(path):
            yield unfinished
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    with written_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def write_json(path: Path, content) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
