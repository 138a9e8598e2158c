"""Standard input and output that may be closed, or know no more than ASCII."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def show_any_text() -> None:
    """Let progress and errors be shown where not all characters of a file's name can be."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def opened(name: str) -> TextIO:
    """The stream "input" or "output"; raises OSError if there is none, as after >&-."""
    stream = {"input": sys.stdin, "output": sys.stdout}[name]
    if stream is None:
        raise OSError(errno.EBADF, "is closed", f"standard {name}")
    return stream


@contextmanager
def output() -> Iterator[TextIO]:
    """Standard output, written in the end. Errors name it, and do not come again when Python ends."""
    stream = opened("output")
    try:
        yield stream
        stream.flush()
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output"
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


def say(text: str) -> None:
    """Show something at once, if there is a standard output."""
    if sys.stdout is not None:
        with output() as stream:
            print(text, file=stream)
