"""Text in files, line by line."""

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.text_files import read_lines, read_parallel


def test_files_are_read_line_by_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufefffirst\u2028still first\r\n\n caf\u00e9 ".encode())
    assert read_lines(path) == ["first\u2028still first", "", " caf\u00e9 "]


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "bad.txt: no such file"),
        (b"", "bad.txt: is empty"),
        (b"fine\ncaf\xe9\n", "bad.txt, line 2: not UTF-8 .byte 0xe9 at position 4.*iconv"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_lines(path)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(UserError, match="is a directory"):
        read_lines(tmp_path)


@pytest.mark.parametrize("counts", [(3, 2), (2, 3)])
def test_files_of_different_lengths(tmp_path, counts):
    paths = [tmp_path / f"{count}.txt" for count in counts]
    for path, count in zip(paths, counts):
        path.write_text("line\n" * count)
    expected = "2.txt has 2 lines but .*3.txt has 3: line 3 of .*3.txt has no partner"
    with pytest.raises(UserError, match=expected):
        read_parallel(paths)
