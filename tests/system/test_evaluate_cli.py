"""The command wfe-evaluate, from files to table, JSON and error messages."""

import json
import os
import subprocess
import sys

import pytest

from wfe_plugin.cli.evaluate import main
from wfe_plugin.evaluation import rouge_perl

REFERENCES = ["the cat sat on the mat", "dogs bark", "rain in spain"]
ALTERNATIVES = ["a cat is sitting on a mat", "a dog barks", "spanish rain"]
SYSTEM = ["the cat sat", "dogs bark", ""]
OTHER = ["cat cat cat", "bark bark", "rain rain rain rain"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"ref.txt": REFERENCES, "alt.txt": ALTERNATIVES, "sys.txt": SYSTEM, "oth.txt": OTHER}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def run(*arguments):
    return main(["--rouge", "python", *arguments])


def environment(**more):
    return {"PYTHONPATH": ":".join(path for path in sys.path if path), **more}


GIGAWORD = ["--protocol", "gigaword", "--references", "ref.txt", "--hypotheses", "sys.txt"]


def test_letters_that_rouge_does_not_know_are_noted(files, capsys):
    (files / "ref.txt").write_text("köln zürich\nMünchen 5 %\nrain in spain\n", encoding="utf-8")
    assert run(*GIGAWORD) == 0
    assert "38 % of the references' words have letters outside ASCII" in capsys.readouterr().out


def test_table(files, capsys):
    assert run(*GIGAWORD) == 0
    output = capsys.readouterr().out
    assert "full-length F1, options -m -n 2 -w 1.2 -a" in output
    assert "ROUGE by    wfe_plugin's Python implementation of ROUGE-1.5.5" in output
    assert "3 sentences, 1 reference(s) each" in output
    assert "sys.txt has 1 empty line(s), which score 0" in output
    rows = {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}
    assert {"ROUGE-1", "ROUGE-2", "ROUGE-L", "repetition"} <= rows.keys()
    assert rows["repetition"] == ["repetition", "system", "references"]
    assert rows["words"] == ["words", "per", "output", "1.67", "3.67"]


def test_json_by_hand(files, capsys):
    assert run(*GIGAWORD, "--versus", "oth.txt", "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["protocol"] == "gigaword" and result["headline"] == "f1"
    assert result["sentences"] == 3 and result["references"]["files"] == ["ref.txt"]
    system, other = result["systems"]
    assert (system["file"], other["file"]) == ("sys.txt", "oth.txt")
    assert system["repetition"]["any_word"] == 0
    assert other["repetition"]["content_word"] == pytest.approx(100)
    assert result["references"]["repetition"]["any_word"] == pytest.approx(100 / 3)
    # ROUGE-1 F1 by sentence: 66.667, 100, 0 against 22.222, 50, 28.571.
    expected = (66.667 + 100 + 0 - 22.222 - 50 - 28.571) / 3
    difference = result["differences"]["rouge-1"]
    assert difference["difference"] == pytest.approx(expected, abs=0.001)
    assert difference["low"] <= expected <= difference["high"]
    assert 0 < difference["p_value"] <= 1
    estimate = system["rouge"]["rouge-1"]["f1"]
    assert estimate["low"] <= estimate["value"] <= estimate["high"]


def test_several_references_and_byte_limit(files, capsys):
    arguments = ["--protocol", "duc2004", "--references", "ref.txt", "alt.txt"]
    assert run(*arguments, "--hypotheses", "sys.txt", "--json", "out.json") == 0
    assert "recall at 75 bytes, options -m -b 75 -n 2 -w 1.2 -a" in capsys.readouterr().out
    result = json.loads((files / "out.json").read_text())
    assert result["headline"] == "recall"
    assert result["differences"] == {}
    assert result["references"]["repetition"]["outputs"] == 6


def test_table_of_two_systems(files, capsys):
    assert run(*GIGAWORD, "--versus", "oth.txt") == 0
    output = capsys.readouterr().out
    assert "sys.txt minus oth.txt, f1 (paired bootstrap over sentences)" in output
    assert "system       other  references" in output


def test_the_absence_of_perl_is_told(files, capsys, monkeypatch):
    monkeypatch.setattr(rouge_perl, "obstacle", lambda: "perl is not there; install it")
    assert main(GIGAWORD) == 0
    output = capsys.readouterr().out
    assert "Python implementation" in output
    assert "ROUGE-1.5.5 in Perl could not run: perl is not there; install it" in output
    assert main([*GIGAWORD, "--rouge", "perl"]) == 1
    assert "cannot run: perl is not there" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--references", "ref.txt", "--hypotheses", "latin.txt"], "latin.txt, line 2: not UTF-8"),
        (
            ["--references", "ref.txt", "--hypotheses", "two.txt"],
            "line 3 of ref.txt has no partner",
        ),
        (
            ["--references", "ref.txt", "--hypotheses", "sys.txt", "--versus", "two.txt"],
            "two.txt has 2 lines but ref.txt has 3",
        ),
        (
            ["--references", "ref.txt", "--hypotheses", "sys.txt", "--json", "no/dir.json"],
            "no/dir.json: No such file or directory",
        ),
    ],
)
def test_errors_name_the_file_and_leave_no_traceback(files, capsys, arguments, message):
    (files / "latin.txt").write_bytes(b"one\ncaf\xe9\nthree\n")
    (files / "two.txt").write_bytes(b"one\ntwo\n")
    assert run("--protocol", "gigaword", *arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("wfe-evaluate: error: ") and message in error


@pytest.mark.parametrize("name", ["ref.txt", "sys.txt", "oth.txt", "link.txt"])
def test_results_do_not_replace_what_is_read(files, capsys, name):
    (files / "link.txt").symlink_to("sys.txt")
    before = (files / name).read_text()
    assert run(*GIGAWORD, "--versus", "oth.txt", "--json", name) == 1
    assert f"--json {name}: is one of the files to read; name another file" in capsys.readouterr().err
    assert (files / name).read_text() == before


@pytest.mark.parametrize("more", [[], ["--json", "-"]])
def test_output_that_is_closed_or_cannot_be_written(files, capsys, monkeypatch, more):
    with open("/dev/full", "w") as full:
        for stream, message in ((None, "is closed"), (full, "No space left on device")):
            monkeypatch.setattr(sys, "stdout", stream)
            assert run(*GIGAWORD, *more) == 1
            monkeypatch.undo()
            monkeypatch.chdir(files)
            assert capsys.readouterr().err == f"wfe-evaluate: error: standard output: {message}\n"
        full.flush()  # as when Python ends


def test_a_pipe_that_nobody_reads(files):
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "wfe_plugin.cli.evaluate", "--rouge", "python", *GIGAWORD]
    process = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, env=environment())
    os.close(write_end)
    assert process.returncode == 1
    assert process.stderr == "wfe-evaluate: error: standard output: Broken pipe\n"


def test_names_that_the_terminal_cannot_show(files):
    """They are shown in other words; JSON is UTF-8 anyway, also with a name that is not."""
    command = [sys.executable, "-m", "wfe_plugin.cli.evaluate", "--rouge", "python", "--protocol", "gigaword"]
    for name in ("caf\u00e9.txt", os.fsdecode(b"caf\xe9.txt")):
        os.rename("sys.txt", name)
        options = ["--references", "ref.txt", "--hypotheses", name]
        ascii_only = environment(PYTHONIOENCODING="ascii")
        shown = subprocess.run([*command, *options], env=ascii_only, capture_output=True, check=True).stdout
        assert ascii(name)[1:-1].encode() in shown
        for target in ("-", "out.json"):
            process = subprocess.run(
                [*command, *options, "--json", target], env=ascii_only, capture_output=True, check=True
            )
            content = process.stdout if target == "-" else (files / target).read_bytes()
            assert json.loads(content.decode("utf-8"))["systems"][0]["file"] == name
        os.rename(name, "sys.txt")


@pytest.mark.parametrize("arguments", [[], ["--protocol", "cnn"], [*GIGAWORD, "--rouge", "ruby"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: wfe-evaluate" in capsys.readouterr().err


def test_sources_show_where_words_come_from(files, capsys):
    (files / "src.txt").write_text("the cat sat down\ndogs howl\nno rain\n")
    assert run(*GIGAWORD, "--versus", "oth.txt", "--sources", "src.txt", "--json", "out.json") == 0
    output = capsys.readouterr().out
    # "the cat sat", "dogs" of five words; "cat cat cat" and four times "rain" of nine. "bark" is in the reference.
    assert "words copied from the source, %       80.00       77.78" in output
    assert "words in neither text, %               0.00        0.00        0.00" in output
    result = json.loads((files / "out.json").read_text())
    assert result["systems"][0]["grounding"] == {"copied": pytest.approx(80), "invented": 0}
    # "the cat sat the", "dogs", "rain" of eleven words.
    assert result["references"]["grounding"]["copied"] == pytest.approx(100 * 6 / 11)
    (files / "two.txt").write_text("one\ntwo\n")
    assert run(*GIGAWORD, "--sources", "two.txt") == 1
    assert "two.txt has 2 lines but ref.txt has 3" in capsys.readouterr().err
