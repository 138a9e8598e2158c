"""Reading files with one summary per line and that must run in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wfe_plugin.errors import UserError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: str | Path) -> list[str]:
    """Read one summary per line; a line may be empty, the file may not.

    Only a line feed ends a line (and a carriage return before it belongs to it):
    ``str.splitlines`` would also cut at characters such as U+2028 that occur
    inside sentences, and every later line would lose its partner.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file. Check the path; it is relative to the current directory.") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a directory. Name a text file with one summary per line.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None
    content = content.removeprefix(BYTE_ORDER_MARK)
    if not content:
        raise UserError(f"{path}: is empty. Expected one summary per line.")
    raw_lines = content.split(b"\n")
    if not raw_lines[-1]:
        raw_lines.pop()
    return [_decode(line.removesuffix(b"\r"), path, number) for number, line in enumerate(raw_lines, start=1)]


def _decode(line: bytes, path: str | Path, number: int) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at position "
            f"{error.start + 1}). Convert the file, for example: "
            f"iconv -f ISO-8859-1 -t UTF-8 {path} > converted.txt"
        ) from None
    if "\0" in text:
        raise UserError(f"{path}, line {number}: contains a NUL byte. Is this a text file?")
    return text


def read_parallel(paths: Sequence[str | Path]) -> list[list[str]]:
    """Read files whose lines belong together; they must have equally many."""
    files = [read_lines(path) for path in paths]
    for path, lines in zip(paths, files):
        if len(lines) != len(files[0]):
            shorter, longer = sorted([(len(files[0]), str(paths[0])), (len(lines), str(path))])
            raise UserError(
                f"{shorter[1]} has {shorter[0]} lines but {longer[1]} has {longer[0]}: line "
                f"{shorter[0] + 1} of {longer[1]} has no partner. Give one line per sentence in "
                "the same order in every file, and an empty line where a system said nothing."
            )
    return files
