"""Options that are mistyped or in the wrong place, and how commands end."""

import sys

import pytest

import wfe_plugin
from wfe_plugin.cli.common import Parser, is_of_fairseq, run
from wfe_plugin.errors import UserError


@pytest.fixture
def parser():
    parser = Parser("wfe-test", fairseq=True)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--data", required=True)
    return parser


@pytest.mark.parametrize(
    "words, said",
    [
        (["--epoch", "3"], "unknown option --epoch; did you mean --epochs?"),
        (["--dta=x"], "unknown option --dta; did you mean --data?"),
        (["--data", "x", "--max-tokens", "5"], "--max-tokens: options of fairseq go after --"),
        (["--data", "x", "--wfe-decoding=off"], "--wfe-decoding: options of fairseq go after --"),
        (["--qwertz"], "unknown option --qwertz"),
        (["--epochs", "3"], "the following arguments are required: --data"),
    ],
)
def test_wrong_options(parser, capsys, words, said):
    with pytest.raises(SystemExit):
        parser.parse_both(words)
    assert capsys.readouterr().err.endswith(f"wfe-test: error: {said}\n")


def test_right_options(parser):
    options, fairseqs = parser.parse_both(["--data", "x", "--", "--max-tokens", "5", "--"])
    assert options.data == "x" and fairseqs == ["--max-tokens", "5", "--"]
    assert parser.parse_both(["--data", "x"])[1] == []


def test_commands_without_fairseq_say_nothing_of_it(capsys):
    with pytest.raises(SystemExit):
        Parser("wfe-test").parse_args(["--max-tokens", "5"])
    assert "fairseq" not in capsys.readouterr().err


def test_subcommands_know_their_own_options():
    parser = Parser("wfe-test")
    parser.add_subparsers(dest="command").add_parser("apply").add_argument("--side")
    assert parser.parse_args(["apply", "--side", "a"]).side == "a"
    with pytest.raises(SystemExit):
        parser.parse_args(["apply", "--sid", "a"])


def test_version(parser, capsys):
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"wfe-test {wfe_plugin.__version__}\n"


@pytest.mark.parametrize("option", ["--max-tokens", "--lr", "--arch", "--word-cap", "--wfe-only", "--average-over"])
def test_options_of_fairseqs_commands(option):
    assert is_of_fairseq(option)


@pytest.mark.parametrize("option", ["--epoch", "--preset", "--json"])
def test_options_that_fairseq_lacks(option):
    assert not is_of_fairseq(option)


@pytest.mark.parametrize(
    "error, status, said",
    [
        (None, 0, ""),
        (UserError("data: not there"), 1, "wfe-test: error: data: not there\n"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), 1, "wfe-test: error: a.txt: No such file or directory\n"),
        (KeyboardInterrupt(), 130, "wfe-test: interrupted; go on\n"),
    ],
)  # fmt: skip
def test_ends(capsys, error, status, said):
    def work():
        if error is not None:
            raise error

    assert run("wfe-test", work, "go on") == status
    assert capsys.readouterr().err == said


def test_a_bug_keeps_its_traceback():
    with pytest.raises(KeyError):
        run("wfe-test", lambda: {}["bug"])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_streams_may_be_closed(monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    assert run("wfe-test", lambda: None) == 0
