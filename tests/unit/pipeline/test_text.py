"""Reading text: what is cleaned, and what is refused with file and line."""

from pathlib import Path

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.inputs import read_pairs
from wfe_plugin.pipeline.text import clean_lines, open_text


def lines_of(data, tmp_path):
    path = tmp_path / "some file.txt"
    path.write_bytes(data)
    with open_text(str(path)) as stream:
        return list(clean_lines(stream, str(path)))


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"a  b\tc \n\nd", ["a b c", "", "d"]),
        (b"\xef\xbb\xbfa\r\nb\r\n", ["a", "b"]),
        ("a\u2028b\u00a0c\u0085d\x0ce\n".encode(), ["a b c d e"]),
        (b"a\x03b\x1b\x7f\n", ["ab"]),
    ],
)
def test_lines_are_cleaned(data, expected, tmp_path):
    assert lines_of(data, tmp_path) == expected


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "some file.txt: the file is empty"),
        (b"good\nb\xe4d\n", r"some file.txt:2: not UTF-8 \(byte 0xe4 at byte 2"),
        (b"good\ngood\nx\0y\n", "some file.txt:3: contains a NUL byte"),
        ("text".encode("utf-16"), "some file.txt:1: looks like UTF-16"),
    ],
)
def test_bad_text_is_refused_with_file_and_line(data, message, tmp_path):
    with pytest.raises(UserError, match=message):
        lines_of(data, tmp_path)


def test_missing_file_and_directory_are_refused(tmp_path):
    with pytest.raises(UserError, match="nothing: No such file"):
        open_text(str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="Is a directory"):
        open_text(str(tmp_path))


def test_an_error_of_reading_names_the_file():
    def failing():
        yield b"good\n"
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError) as raised:
        list(clean_lines(failing(), "some file.txt"))
    assert raised.value.filename == "some file.txt"


def test_pairs_need_partners(tmp_path):
    long, short = str(tmp_path / "long"), str(tmp_path / "short")
    Path(long).write_text("a\nb\nc\nd\n")
    Path(short).write_text("a\nb\n")
    for files in ((long, short), (short, long)):
        with pytest.raises(UserError, match=r"long:3: no partner line: .*long has 4 lines, .*short has 2"):
            list(read_pairs(*files))


def test_only_blank_lines_are_refused(tmp_path):
    text, blank = str(tmp_path / "text"), str(tmp_path / "blank")
    Path(text).write_text("a\nb\n")
    Path(blank).write_text("\n \t\n")
    with pytest.raises(UserError, match="blank: all of its 2 lines are blank"):
        list(read_pairs(text, blank))
