"""wfe-preprocess: input checks, and what ends up on disk."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT
from helpers.text_sets import WORDS, options, write_sets
from wfe_plugin.cli import preprocess
from wfe_plugin.cli import treat as treat_cli
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import preparation, preprocess_options, trained_on, treat
from wfe_plugin.pipeline.inputs import read_pairs
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.pipeline.treat import Settings, Treatment

# The whole script, with a stand-in for fairseq-preprocess


def test_result_and_report(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "with space")
    articles = (data / "train.article").read_text().splitlines()
    articles[4], articles[9], articles[11] = "", "word " * 80, "x" * (MAX_CHARACTERS + 1)
    (data / "train.article").write_text("\n".join(articles))
    (data / "valid.title").write_text("\n" + (data / "valid.title").read_text().split("\n", 1)[1])
    out = tmp_path / "deep" / "out dir"
    assert preprocess.main(options(data, out, "--bpe", "joint", "--merges", "30", "--max-source-length", "70")) == 0
    told = capsys.readouterr().out
    assert "train: 60 pairs read, 57 usable" in told
    assert re.search(r"1 with an empty side, dropped: line 5 of .*train\.article", told)
    assert re.search(r"2 over-long, dropped: line 10, 12 of .*train\.article", told)
    assert re.search(r"1 with an empty side, kept, so that lines stay aligned: line 1 of .*valid\.article", told)
    assert json.loads((out / "treatment.json").read_text())["report"]["train"]["too_long"] == 2
    assert sorted(path.name for path in out.iterdir()) == [
        "bpe.codes", "bpe.source.pieces", "bpe.target.pieces",
        "dict.source.txt", "dict.target.txt",
        *(f"{split}.source-target.{side}.{kind}"
          for split in ("test",) for side in treat.SIDES for kind in ("bin", "idx")),
        "text",
        *(f"train.source-target.{side}.{kind}" for side in treat.SIDES for kind in ("bin", "idx")),
        "treatment.json",
        *(f"valid.source-target.{side}.{kind}" for side in treat.SIDES for kind in ("bin", "idx")),
    ]  # fmt: skip
    assert (out / "text" / "test.target").read_text() == (data / "test.title").read_text()
    assert os.listdir(out.parent) == ["out dir"]


def test_new_text_uses_only_pieces_of_the_training_text(quick, tmp_path):
    data = write_sets(tmp_path / "data")
    out = tmp_path / "out"
    assert preprocess.main(options(data, out, "--bpe", "separate", "--merges", "40")) == 0
    treatment = Treatment.load(out)
    for side in treat.SIDES:
        pieces = set((out / f"bpe.{side}.pieces").read_text().split())
        letters = {piece.replace("@@", "") for piece in pieces if len(piece.replace("@@", "")) == 1}
        word = "".join(sorted(letters))
        assert treatment.undo(treatment.apply(word, side)) == word
        for known in WORDS:
            assert set(treatment.apply(known, side).split()) <= pieces


def test_workers_change_nothing(quick, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "CHUNK", 7)
    data = write_sets(tmp_path / "data")
    for workers in ("1", "3"):
        assert (
            preprocess.main(options(data, tmp_path / workers, "--tokenize", "--bpe", "joint", "--workers", workers))
            == 0
        )
    for path in (tmp_path / "1").rglob("*.*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "3" / path.relative_to(tmp_path / "1")).read_bytes(), path


def test_errors_of_workers_name_the_line(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    with open(data / "test.title", "ab") as file:
        file.write(b"\xff\n")
    assert preprocess.main(options(data, tmp_path / "out", "--workers", "2")) == 1
    assert "test.title:8: not UTF-8" in capsys.readouterr().err
    assert os.listdir(tmp_path) and not [name for name in os.listdir(tmp_path) if "out" in name]


def test_text_that_can_be_read_only_once(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    os.mkfifo(tmp_path / "pipe")
    pipe = ["--train-files", str(tmp_path / "pipe"), str(data / "train.title"), "--valid", str(data / "valid")]
    assert preprocess.main([*pipe, "--out", str(tmp_path / "out")]) == 1
    assert "pipe: can be read only once; save it to a file first" in capsys.readouterr().err


def test_an_empty_vocabulary_is_refused(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    assert preprocess.main(options(data, tmp_path / "out", "--", "--rare")) == 1
    assert "no source word is frequent enough for the vocabulary: lower --source-threshold" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--train", "a", "--out", "o"], "--valid"),
        (["--train", "a", "--train-files", "b", "c", "--valid", "v", "--out", "o"], "--train"),
        (["--train", "a", "--valid", "v", "--out", "o", "--merges", "5"], "--merges needs"),
        (["--train", "a", "--valid", "v", "--out", "o", "--workers", "0"], "invalid positive number"),
    ],
)
def test_wrong_options_are_explained(arguments, message, capsys):
    with pytest.raises(SystemExit):
        preprocess.main(arguments)
    assert message in capsys.readouterr().err


# The script with the real fairseq-preprocess, from another directory, with spaces in names


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    directory = tmp_path_factory.mktemp("real run")
    data = write_sets(directory / "my data")
    (data / "more.src").write_text("\nthe bank of japan\n")
    (data / "more.tgt").write_text("nothing\nbonds\n")
    # A trap for scripts that import from the working directory.
    (directory / "json.py").write_text("raise SystemExit('imported from the working directory')")
    arguments = ["--train", "my data/train", "--valid", "my data/valid", "--test", "my data/test"]
    arguments += ["--test-files", "my data/more.src", "my data/more.tgt", "--out", "out dir"]
    arguments += ["--tokenize", "--gigaword", "--bpe", "joint", "--merges", "30", "--workers", "2"]
    environment = {
        **os.environ,
        "VIRTUAL_ENV": sys.prefix,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [str(ROOT / "preprocess.sh"), *arguments, "--", "--padding-factor", "1"],
        cwd=directory, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return directory, data, directory / "out dir"


def test_fairseq_reads_back_what_was_prepared(real):
    from fairseq.data import Dictionary, data_utils

    directory, data, out = real
    treatment = Treatment.load(out)
    for name, files in {
        "train": ("train.article", "train.title"),
        "valid": ("valid.article", "valid.title"),
        "test": ("test.article", "test.title"),
        "test1": ("more.src", "more.tgt"),
    }.items():
        for side, file in zip(treat.SIDES, files):
            words = Dictionary.load(str(out / f"dict.{side}.txt"))
            sentences = data_utils.load_indexed_dataset(str(out / f"{name}.source-target.{side}"), words)
            lines = (data / file).read_text().splitlines()
            assert len(sentences) == len(lines)
            for sentence, line in zip(sentences, lines):
                if "nothing" not in line:
                    assert treatment.undo(words.string(sentence)) == treatment.plain(line)


def test_vocabulary_has_no_padding_when_asked_through(real):
    assert "madeupword" not in (real[2] / "dict.source.txt").read_text()


@pytest.mark.parametrize(
    "more", [["--bpe", "joint", "--merges", "30"], ["--source-threshold", "9", "--target-vocab-size", "10"]]
)
def test_without_options_of_fairseq_the_files_are_those_of_fairseq(tmp_path, more):
    data = write_sets(tmp_path / "data")
    (data / "valid.article").write_text("the <unk> qqq\n\n" + (data / "valid.article").read_text().split("\n", 2)[2])
    assert preprocess.main(options(data, tmp_path / "own", *more)) == 0
    assert preprocess.main(options(data, tmp_path / "fairseq", *more, "--", "--padding-factor", "8")) == 0
    files = [path.name for path in (tmp_path / "own").iterdir() if re.search(r"\.(bin|idx|txt)$", path.name)]
    assert len(files) == 14
    for name in files:
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "fairseq" / name).read_bytes(), name


def test_treat_on_the_command_line(real):
    run = [sys.executable, "-m", "wfe_plugin.cli.treat"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    text = "The bank\u2019s 12 bonds.\n\nBuy more!\n"

    def treat_text(command, text, *more):
        return subprocess.run(
            [*run, command, str(real[2]), *more], input=text.encode(), env=environment, capture_output=True, check=True
        ).stdout.decode()

    treated = treat_text("apply", text, "--side", "source")
    assert "@@" in treated
    assert treat_text("undo", treated) == treat_text("plain", text) == "the bank's ## bonds.\n\nbuy more!\n"


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_treated_text_is_utf8_in_any_locale(real, environment):
    command = [sys.executable, "-m", "wfe_plugin.cli.treat", "plain", str(real[2])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, input="caf\u00e9\n".encode(), env=environment, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "caf\u00e9\n".encode(), b"")


@pytest.mark.parametrize("name", ["input", "output"])
def test_treat_without_streams(real, monkeypatch, capsys, name):
    monkeypatch.setattr(sys, "stdin" if name == "input" else "stdout", None)
    assert treat_cli.main(["apply", str(real[2])]) == 1
    assert capsys.readouterr().err == f"wfe-treat: error: standard {name}: is closed\n"


def test_progress_that_cannot_be_written(quick, tmp_path, monkeypatch, capsys):
    data = write_sets(tmp_path / "data")
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert preprocess.main(options(data, tmp_path / "out")) == 1
        full.flush()  # as when Python ends
    assert capsys.readouterr().err == "wfe-preprocess: error: standard output: No space left on device\n"


def test_one_over_long_line_is_cut_and_reported(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    (data / "test.article").write_text("x" * (MAX_CHARACTERS + 9) + "\n" + "the bank\n" * 6)
    assert preprocess.main(options(data, tmp_path / "out")) == 0
    assert "1 over-long, kept, so that lines stay aligned: line 1" in capsys.readouterr().out
    lines = (tmp_path / "out/text/test.source").read_text().splitlines()
    assert lines == ["x" * MAX_CHARACTERS, *["the bank"] * 6]


def test_json_lines_and_compressed_files(quick, tmp_path):
    data = write_sets(tmp_path / "data")
    assert preprocess.main(options(data, tmp_path / "plain")) == 0
    for name in ("train", "valid", "test"):
        pairs = read_pairs(str(data / f"{name}.article"), str(data / f"{name}.title"))
        lines = "".join(json.dumps({"body": source, "head": target}) + "\n" for source, target in pairs)
        with gzip.open(data / f"{name}.jsonl.gz", "wt") as file:
            file.write(lines)
        for suffix in ("article", "title"):
            with gzip.open(data / f"{name}.{suffix}.gz", "wt") as file:
                file.write((data / f"{name}.{suffix}").read_text())
            (data / f"{name}.{suffix}").unlink()
    assert preprocess.main(options(data, tmp_path / "gz")) == 0
    sets = [item for name in ("train", "valid", "test") for item in (f"--{name}", str(data / f"{name}.jsonl.gz"))]
    fields = ["--source-field", "body", "--target-field", "head"]
    assert preprocess.main([*sets, *fields, "--out", str(tmp_path / "json")]) == 0
    for side in treat.SIDES:
        expected = (tmp_path / f"plain/text/test.{side}").read_text()
        assert (tmp_path / f"gz/text/test.{side}").read_text() == expected
        assert (tmp_path / f"json/text/test.{side}").read_text() == expected


def test_new_sets_like_those_of_a_model(tmp_path, capsys):
    """The same lines give the same words; what was learnt anew instead is refused before decoding."""
    data = write_sets(tmp_path / "data")
    bpe = ["--tokenize", "--lowercase", "--bpe", "joint", "--merges"]
    assert preprocess.main(options(data, tmp_path / "first", *bpe, "30")) == 0
    like = ["--like", str(tmp_path / "first"), "--test", str(data / "test"), "--out", str(tmp_path / "second")]
    assert preprocess.main(like) == 0
    for name in ("test.source-target.source.bin", "test.source-target.target.bin", "dict.source.txt", "bpe.codes"):
        assert (tmp_path / "second" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()
    assert Treatment.load(tmp_path / "second").settings == Treatment.load(tmp_path / "first").settings
    check = trained_on.check_vocabularies
    check(tmp_path / "model.pt", tmp_path / "first", tmp_path / "second")
    assert preprocess.main(options(data, tmp_path / "anew", *bpe, "20")) == 0
    for name in ("dict.source.txt", "dict.target.txt"):
        shutil.copyfile(tmp_path / "first" / name, tmp_path / "anew" / name)
    with pytest.raises(UserError, match="has another treatment or other BPE codes"):
        check(tmp_path / "model.pt", tmp_path / "first", tmp_path / "anew")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        preprocess.main([*like, "--tokenize"])
    assert "--tokenize: with --like" in capsys.readouterr().err


def test_likely_mistakes(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    shutil.copyfile(data / "train.article", data / "valid.article")
    shutil.copyfile(data / "train.title", data / "valid.title")
    shutil.copyfile(data / "test.article", data / "test.title")
    (data / "train.article").write_text("the bank , it said , will help .\n" * 60)
    assert preprocess.main(options(data, tmp_path / "out", "--tokenize")) == 0
    warned = [line for line in capsys.readouterr().out.splitlines() if "warning:" in line]
    assert [re.sub(f"{tmp_path}/", "", line) for line in warned] == [
        "preprocess: warning: the validation set has the same target text as the training set",
        "preprocess: warning: test: source and target are the same text",
        "preprocess: warning: data/train.article looks tokenised already: leave out --tokenize",
    ]


def test_no_warning_without_a_cause(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    (data / "train.article").write_text("The bank, it said, will help.\n" * 60)
    assert preprocess.main(options(data, tmp_path / "out", "--tokenize")) == 0
    assert "warning:" not in capsys.readouterr().out


def test_german():
    """ "z.B." and "Dr." are no ends of sentences there; umlauts and compounds come back as they were."""
    german, english = (Treatment(Settings(tokenize=True, lang=lang)) for lang in ("de", "en"))
    line = "Die Stra\u00dfenbahn f\u00e4hrt am 3. Mai ca. 8 Minuten, sagt die \u00dcSTRA."
    assert german.undo(german.normalize(line)) == line
    assert "ca." in german.normalize(line) and "ca." not in english.normalize(line)
    with pytest.raises(UserError, match="--lang xx: Moses does not know"):
        preprocess_options.PreprocessOptions(out="o", train="t", valid="v", lang="xx").validate()


def test_pieces_of_sentencepiece_are_left_as_they_are(quick, tmp_path):
    data = write_sets(tmp_path / "data")
    pieces = ["\u2581Die \u2581Bank \u2581von \u2581Jap an", "\u2581\u6771\u4eac \u2581 \U0001f600 <0xE2>"]
    (data / "test.article").write_text("\n".join(pieces * 4)[:-1] + "\n", encoding="utf-8")
    (data / "test.title").write_text("\n".join(pieces * 4) + "\n", encoding="utf-8")
    assert preprocess.main(options(data, tmp_path / "out")) == 0
    found = (tmp_path / "out/text/test.target").read_text(encoding="utf-8").splitlines()
    assert found == pieces * 4
    assert Treatment.load(tmp_path / "out").apply(pieces[1], "source") == pieces[1]
