"""Errors meant for users are one line in fairseq's programs; all others keep their traceback."""

import sys

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.fairseq_fixes import error_line


def hidden(error):
    """As where fairseq's trainer says no more than that a checkpoint cannot be loaded."""
    try:
        try:
            raise error
        except Exception:
            raise Exception("please ensure that the architectures match")  # noqa: B904
    except Exception as found:
        return found


@pytest.mark.parametrize(
    "program, name",
    [("/bin/fairseq-generate", "fairseq-generate"), ("fairseq_cli/train.py", "fairseq-train"), ("my_program.py", None)],
)
def test_one_line_in_the_commands_of_fairseq_alone(monkeypatch, capsys, program, name):
    stock = []
    monkeypatch.setattr("sys.excepthook", lambda *error: stock.append(error[1]))
    monkeypatch.setattr("sys.argv", [program])
    error_line.show_user_errors()
    ours, bugs = (
        [UserError("nowhere"), hidden(UserError("nowhere"))],
        [KeyError("x"), hidden(KeyError("x")), ValueError()],
    )
    for error in (*ours, *bugs, KeyboardInterrupt()):
        sys.excepthook(type(error), error, None)
    assert capsys.readouterr().err == (f"{name}: error: nowhere\n" * 2 if name else "")
    assert len(stock) == (4 if name else 6)


def test_no_crash_checkpoint_is_left_for_it():
    """fairseq-train writes one for whatever leaves an epoch and is no RuntimeError."""
    assert issubclass(UserError, RuntimeError) and issubclass(UserError, ValueError)
