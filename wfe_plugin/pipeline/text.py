"""Read text files line by line and refuse, with file and line, what would spoil training."""

import gzip
import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from wfe_plugin.errors import UserError
from wfe_plugin.whole_files import named

# A line this long is a file without line breaks, not a sentence; BPE on it would take minutes.
MAX_CHARACTERS = 20_000

# Control characters that str.split() does not already take for white space.
_CONTROL = {code: None for code in [*range(32), *range(127, 160)] if not chr(code).isspace()}


def clean_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of `stream`, decoded, with single spaces and no control characters.

    Only "\\n" ends a line, as for fairseq; the "\\r" of Windows line ends and a leading
    byte-order mark vanish. Every other Unicode space counts as a blank, because fairseq
    splits words there too.
    """
    for number, raw in enumerate(_raw_lines(stream, name), start=1):
        if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UserError(f"{name}:1: looks like UTF-16; convert the file to UTF-8")
        if b"\0" in raw:
            raise UserError(f"{name}:{number}: contains a NUL byte: is this a text file?")
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}:{number}: not UTF-8 (byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line)"
            ) from None
        yield clean(line)


def clean(text: str) -> str:
    """With single spaces and no control characters."""
    return " ".join(text.translate(_CONTROL).split())


def _raw_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    with named(name):
        yield from stream


def open_text(path: str) -> BinaryIO:
    """Open `path` for `clean_lines`, uncompressed, turning every failure into a UserError."""
    try:
        stream = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
        first = stream.peek(1)
    except (OSError, EOFError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not first:
        stream.close()
        raise UserError(f"{path}: the file is empty")
    return stream


def refuse_pipe(path: str) -> None:
    """For what is read twice. What the shell makes of <(...) is a pipe, too."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UserError(f"{path}: can be read only once; save it to a file first")


def sha256(path: str) -> str:
    """Fingerprint of a file's content, to notice that an input has changed."""
    with open_text(path) as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()
