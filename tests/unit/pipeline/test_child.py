"""What fairseq's commands say through ours when they fail."""

import pytest

from wfe_plugin.pipeline import child


@pytest.mark.parametrize(
    "output, expected",
    [
        ("INFO: x\nusage: fairseq-train\nfairseq-train: error: unrecognized arguments: --foo\n",
         "it failed (exit status 2): unrecognized arguments: --foo"),
        ("fairseq-train: error: no GPU\n" + "[0]:\n" * 30 + "traceback : To enable traceback see: http\n",
         "it failed (exit status 2): no GPU"),
        ("traceback : Signal 15 (SIGTERM) received by PID 3\ntraceback : Signal 9 (SIGKILL) received by PID 4\n====\n",
         "it failed (exit status 2): one of its processes was ended by signal 9: is there enough memory?"),
        ("Traceback (most recent call last):\n  raise\nOSError: [Errno 28] No space left on device\n",
         "it failed (exit status 2): No space left on device"),
        ("Traceback (most recent call last):\n  raise\nFileNotFoundError: [Errno 2] No such file or directory: 'a b'\n",
         "it failed (exit status 2): a b: No such file or directory"),
        ("one\ntwo\n", "it failed (exit status 2):\none\ntwo"),
        ("", "it failed (exit status 2):"),
    ],
)  # fmt: skip
def test_last_words(output, expected):
    assert child.failure("it", 2, output) == expected


def test_a_command_that_was_ended():
    assert child.failure("it", -9, "one\n") == "it was ended by signal 9: is there enough memory?"
    assert child.failure("it", -11, "one\n") == "it was ended by signal 11:\none"
