"""What a user can do wrong, command by command: one clear line, a failure, and nothing half-written.

Commands are called in this process. What stays in the files of a command's own tests is not
repeated here.
"""

import argparse
import json
import logging
import os
import re
import resource
import shutil
import sys
from pathlib import Path

import pytest
import torch

from helpers.bad_world import checkpoint, refused
from helpers.text_sets import write_sets
from wfe_plugin.cli import evaluate, frequencies, generate, preprocess, train, treat
from wfe_plugin.cli import experiment as experiment_cli
from wfe_plugin.pipeline import training
from wfe_plugin.pipeline.decode import Decoder
from wfe_plugin.pipeline.generate import NBEST, SCORES, SUMMARIES
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.train import planned

# What wfe-generate checks before it decodes


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--model", "good.pt", "--data", "same-size"], "dict.source.txt: differs from the vocabulary that"),
        (["--model", "good.pt:no-head.pt", "--decoding", "full"], "model 2 of 2 has no word-frequency estimate"),
        (["--model", "good.pt:"], "contains neither checkpoint_best.pt"),
        (["--model", "good.pt", "--out", "good.pt/below"], "good.pt: not a directory; choose another --out"),
        (["--model", "good.pt", "--input", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
    ],
)
def test_generate(world, capsys, arguments, message):
    refused(generate.main, ["--out", "out", *arguments], message, capsys)


def test_data_prepared_anew(world, tmp_path, capsys):
    """Since the training, in the same place, with other words of the same number."""
    data, model = tmp_path / "data", tmp_path / "model.pt"
    shutil.copytree("data", data)
    torch.save(checkpoint(data), model)
    record = planned(train.parse(["--data", str(data), "--out", "new", "--preset", "small"])).record
    (tmp_path / RECORD).write_text(json.dumps(record))
    generation = ["--model", str(model), "--out", str(tmp_path / "out"), "--overwrite"]
    measurement = ["--model", str(model), "--data", str(data)]
    assert generate.main(generation) == frequencies.main(measurement) == 0

    # One more test set changes no words.
    treatment = json.loads((data / "treatment.json").read_text())
    (data / "treatment.json").write_text(json.dumps({**treatment, "text": {"test1.source": "another"}}))
    assert generate.main(generation) == frequencies.main(measurement) == 0

    data.rename(tmp_path / "kept")
    shutil.copytree("same-size", data)
    capsys.readouterr()
    message = f"{data}/dict.source.txt: differs from the vocabulary that {model} was trained with"
    refused(generate.main, generation, message, capsys)
    refused(frequencies.main, measurement, message, capsys)
    assert generate.main([*generation, "--data", str(tmp_path / "kept")]) == 0
    (tmp_path / RECORD).unlink()  # a bare checkpoint
    assert generate.main(generation) == 0


def test_separators_in_names(world, tmp_path, capsys):
    (tmp_path / "c:d").mkdir()
    for name in ("good.pt", "data"):
        (tmp_path / "c:d" / name).symlink_to(world / name)
    arguments = ["--out", "out", "--model", str(world / "good.pt"), "--data", str(tmp_path / "c:d" / "data")]
    message = "in the name as a separator; rename it"
    refused(generate.main, arguments, f"{tmp_path}/c:d/data: fairseq takes ':' {message}", capsys)


def test_links_as_output(world, tmp_path, capsys):
    (tmp_path / "link").symlink_to("nowhere yet")
    assert generate.main(["--model", "good.pt", "--out", str(tmp_path / "link")]) == 0
    assert (tmp_path / "nowhere yet" / "summaries.txt").exists() and (tmp_path / "link").is_symlink()
    (tmp_path / "circle").symlink_to("circle")
    arguments = ["--model", "good.pt", "--out", str(tmp_path / "circle")]
    refused(generate.main, arguments, "circle: Too many levels of symbolic links", capsys)


def test_references_that_can_be_read_only_once(world, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    arguments = ["--model", "good.pt", "--out", "out", "--references", str(tmp_path / "pipe")]
    refused(generate.main, arguments, "pipe: can be read only once; save it to a file first", capsys)


@pytest.mark.parametrize("option", ["--input", "--references"])
def test_what_comes_out_does_not_replace_what_goes_in(world, tmp_path, capsys, monkeypatch, option):
    text = tmp_path / "summaries.txt"
    text.write_text("a\n" * 6)
    (tmp_path / "link").symlink_to(tmp_path)
    arguments = ["--model", "good.pt", option, str(text), "--out", str(tmp_path / "link")]
    refused(generate.main, arguments, "summaries.txt: the summaries would replace this input", capsys)


def test_an_end_among_the_last_renames(world, tmp_path, monkeypatch):
    """No file of other summaries is beside those that are there, at any moment."""
    replace = Path.replace
    for renames in range(6):
        out = tmp_path / str(renames)
        out.mkdir()
        for name in (SUMMARIES, NBEST, SCORES):
            (out / name).write_text("old")
        calls = []

        def ends(path, target, calls=calls, renames=renames):
            calls.append(path)
            if len(calls) > renames:
                raise KeyboardInterrupt
            return replace(path, target)

        references = tmp_path / "references"
        references.write_text("new\n" * 6)
        monkeypatch.setattr(Path, "replace", ends)
        # The first two are of record and scores, in the directory of unfinished work.
        arguments = ["--model", "good.pt", "--references", str(references), "--out", str(out), "--overwrite"]
        assert generate.main(arguments) == 130
        monkeypatch.setattr(Path, "replace", replace)
        assert len({"old" in path.read_text() for path in out.iterdir()}) == 1
        assert (out / SUMMARIES).exists()


@pytest.mark.parametrize("task", [{}, {"data": None}, argparse.Namespace()])
def test_a_checkpoint_that_names_no_data(world, tmp_path, capsys, task):
    state = torch.load("good.pt")
    state["cfg"]["task"] = task
    torch.save(state, tmp_path / "odd.pt")
    arguments = ["--model", str(tmp_path / "odd.pt"), "--out", str(tmp_path / "out")]
    refused(generate.main, arguments, "odd.pt: the data that it was trained on are not recorded", capsys)
    assert generate.main([*arguments, "--data", "data"]) == 0


def test_a_checkpoint_whose_task_is_a_namespace(world, tmp_path):
    state = torch.load("good.pt")
    state["cfg"]["task"] = argparse.Namespace(**state["cfg"]["task"])
    torch.save(state, tmp_path / "odd.pt")
    assert generate.main(["--model", str(tmp_path / "odd.pt"), "--out", str(tmp_path / "out")]) == 0


def test_read_only_output(world, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    refused(generate.main, ["--model", "good.pt", "--out", "out"], "not writable; choose another --out", capsys)


# Text, for every command that reads some


@pytest.mark.parametrize(
    "command, content, message",
    [
        ("preprocess", b"a\nb\xe9\nc\n", "bad:2: not UTF-8"),
        ("preprocess", b"a\nb\n", "bad has 2"),
        ("preprocess", None, "bad: No such file"),
        ("generate", b"a\nb\xe9\nc\n", "bad:2: not UTF-8"),
        ("generate", None, "bad: No such file"),
        ("treat", b"a\nb\xe9\nc\n", "<stdin>:2: not UTF-8"),
        ("treat", b"a " * 100_000 + b"\nb\nc\n", "199999 characters"),
        ("evaluate", b"a\nb\0\nc\n", "bad, line 2: contains a NUL byte"),
    ],
)
def test_text(quick, world, tmp_path, capsys, monkeypatch, command, content, message):
    """What else can be wrong with it: tests/unit/pipeline/test_text.py, tests/unit/evaluation/test_text_files.py."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    good.write_text("a\nb\nc\n")
    if content is not None:
        bad.write_bytes(content)
    main, arguments = {
        "preprocess": (preprocess.main, ["--train-files", good, good, "--valid-files", bad, good, "--out", "out"]),
        "generate": (generate.main, ["--model", "good.pt", "--input", bad, "--out", "out"]),
        "treat": (treat.main, ["apply", "data"]),
        "evaluate": (evaluate.main, ["--protocol", "gigaword", "--rouge=python", "--references", good, "--hypotheses", bad]),
    }[command]  # fmt: skip
    if command == "treat":
        monkeypatch.setattr("sys.stdin", open(bad))
    refused(main, [str(word) for word in arguments], message, capsys)


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbfa b\r\nc\r\n", b"a b\nc", b"a b\n\nc zebra\n", b"a " * 50_000 + b"\nb"]
)
def test_text_that_is_accepted(world, tmp_path, content):
    """Byte-order mark, Windows line ends, no last line end, an empty line, a word never seen, a line without end."""
    (tmp_path / "text").write_bytes(content)
    assert generate.main(["--model", "good.pt", "--input", str(tmp_path / "text"), "--out", str(tmp_path / "out")]) == 0
    lines = content.decode("utf-8-sig").replace("\r", "").rstrip("\n").split("\n")
    summaries = (tmp_path / "out" / SUMMARIES).read_text().splitlines()
    assert [bool(line) for line in lines] == [bool(line) for line in summaries]


# Data directories


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"settings": {"bpe": "none"}}'])
def test_a_broken_record_of_the_treatment(world, tmp_path, capsys, content):
    shutil.copytree("data", tmp_path / "data")
    (tmp_path / "data" / "treatment.json").write_text(content)
    data = str(tmp_path / "data")
    message = "data: not a data directory made by wfe-preprocess (treatment.json: "
    refused(generate.main, ["--model", "good.pt", "--data", data, "--out", "out"], message, capsys)
    refused(train.main, ["--data", data, "--out", "out", "--preset", "small"], message, capsys)
    refused(treat.main, ["apply", data], message, capsys)


@pytest.mark.parametrize("suffix", ["bin", "idx"])
@pytest.mark.parametrize("kept", [0, 20])
def test_binarised_sets_that_were_cut_short(world, tmp_path, capsys, suffix, kept):
    shutil.copytree("data", tmp_path / "data")
    for split in ("train", "test"):
        os.truncate(tmp_path / "data" / f"{split}.source-target.target.{suffix}", kept)
    data = str(tmp_path / "data")
    message = "source-target.target: missing, damaged or cut short: run wfe-preprocess again"
    refused(train.main, ["--data", data, "--out", "out", "--preset", "small"], message, capsys)
    refused(generate.main, ["--model", "good.pt", "--data", data, "--out", "out"], message, capsys)


def test_a_log_that_cannot_grow(world, tmp_path, capsys, monkeypatch):
    """Writing to a full disk does not say which file it was."""

    def run(command, name, on_line, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "run", run)
    out = tmp_path / "out"
    refused(
        train.main, ["--data", "data", "--out", str(out), "--preset", "small", "--baseline"],
        f"{out / 'train.log'}: No space left on device", capsys,
    )  # fmt: skip


def test_lost_bpe_codes(world, tmp_path, capsys):
    shutil.copytree("data", tmp_path / "data")
    path = tmp_path / "data" / "treatment.json"
    path.write_text(path.read_text().replace('"bpe": "none"', '"bpe": "joint"'))
    refused(treat.main, ["apply", str(tmp_path / "data")], "bpe.source.pieces: No such file", capsys)


# Disks that are full


def with_small_files(limit, main, arguments, output):
    """Exit status of a command for which no file can grow beyond the limit, in a process of its own."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            logging.disable()  # pytest keeps the log in a file, which could not grow either
            sys.dont_write_bytecode = True  # Python would keep half a file of a module that is imported here
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            with open(os.devnull, "w") as quiet:
                read_end, write_end = output
                os.close(read_end)
                sys.stdout, sys.stderr = quiet, os.fdopen(write_end, "w")
                status = main(arguments)
                sys.stderr.flush()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("command", ["preprocess", "generate", "evaluate", "train", "experiment"])
def test_a_full_disk(quick, world, tmp_path, monkeypatch, command):
    """The command says so, and leaves nothing but what was there."""
    text = write_sets(tmp_path / "text", sizes=(("train", 200), ("valid", 200)))
    out = tmp_path / "out"
    monkeypatch.setattr(Decoder, "text", lambda *_: "a long summary " * 5)
    article = str(text / "train.article")
    (tmp_path / "config.ini").write_text(
        f"[experiment]\nout = {out}\n[data]\ntrain = text/train\nvalid = text/valid\ntest = text/valid\n"
    )
    main, arguments = {
        "preprocess": (preprocess.main, ["--train", str(text / "train"), "--valid", str(text / "valid"), "--out", str(out)]),
        "generate": (generate.main, ["--model", "good.pt", "--out", str(out)]),
        "evaluate": (
            evaluate.main,
            ["--protocol", "gigaword", "--rouge", "python", "--references", article, "--hypotheses", article, "--json", str(out)],
        ),
        "train": (train.main, ["--data", "data", "--out", str(out), "--preset", "small"]),
        "experiment": (experiment_cli.main, [str(tmp_path / "config.ini")]),
    }[command]  # fmt: skip
    read_end, write_end = os.pipe()
    status = with_small_files(100, main, arguments, (read_end, write_end))
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        told = stream.read()
    assert status == 1 and "File too large" in told and "Traceback" not in told
    assert re.search(r"error: \S+: (cannot be written \()?File too large", told)
    left = [path for path in tmp_path.rglob("*") if path.is_file() and (out == path or out in path.parents)]
    assert not [path for path in left if not path.name.endswith((".tmp", ".log"))]
