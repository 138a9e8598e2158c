"""Checkpoints and options that no command can work with, above all those of fairseq: one clear line, and no code is run."""

import fileinput
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import generate as fairseq_generate
from fairseq_cli import interactive as fairseq_interactive
from fairseq_cli import train as fairseq_train
from fairseq_cli import validate as fairseq_validate

from helpers.bad_world import BAD_CHECKPOINTS, HOSTILE, TASK, refused
from wfe_plugin import plain_errors
from wfe_plugin.cli import frequencies, generate, train
from wfe_plugin.pipeline import decode, treat
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.pipeline.train import planned
from wfe_plugin.tasks.summarization_wfe import SummarizationWFETask

# Checkpoints


@pytest.mark.parametrize("name, message", BAD_CHECKPOINTS)
def test_checkpoints_for_generate(world, capsys, name, message):
    told = refused(generate.main, ["--model", name, "--data", "data", "--out", "out"], message, capsys)
    assert name in told


@pytest.mark.parametrize("name, message", BAD_CHECKPOINTS)
def test_checkpoints_for_frequencies(world, capsys, name, message):
    refused(frequencies.main, ["--model", name, "--data", "data"], message, capsys)


@pytest.mark.parametrize("name", [*HOSTILE, "cut.pt"])
def test_checkpoints_for_resumed_training(world, tmp_path, capsys, name):
    """The first thing that a resumed training does is to read where it was."""
    model = tmp_path / "model"
    model.mkdir()
    shutil.copy(name, model / "checkpoint1.pt")
    arguments = ["--data", "data", "--out", str(model), "--preset", "small"]
    (model / RECORD).write_text(json.dumps(planned(train.parse(arguments)).record))
    refused(train.main, arguments, "checkpoint1.pt: not a checkpoint that can be loaded", capsys)


def test_a_checkpoint_without_score_for_resumed_training(world, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    torch.save({**torch.load("good.pt"), "extra_state": {}}, model / "checkpoint1.pt")
    arguments = ["--data", "data", "--out", str(model), "--preset", "small"]
    (model / RECORD).write_text(json.dumps(planned(train.parse(arguments)).record))
    refused(train.main, arguments, "checkpoint1.pt: tells no epoch or no validation score", capsys)


def fairseq(main, parser, *arguments):
    """What one of fairseq's commands would print as its last line, and alone."""
    args = options.parse_args_and_arch(parser, ["data", *TASK, "--batch-size", "4", *arguments])
    with pytest.raises(Exception) as raised:
        main(convert_namespace_to_omegaconf(args))
    return plain_errors.message(raised.value)


@pytest.mark.parametrize(
    "arguments, message",
    [
        *((["--path", name], "the checkpoint cannot be loaded: ") for name in HOSTILE),
        *((["--path", f"{name}.pt"], "damaged, cut short") for name in ("cut", "empty", "text")),
        *((["--path", f"{name}.pt"], "holds no model that can be used here") for name in ("list", "bare", "no-cfg")),
        (["--path", "nowhere.pt"], "Model file not found: nowhere.pt"),
        (["--path", "good.pt", "--gen-subset", "tset"], "Dataset not found: tset (data)"),
        (["--path", "no-head.pt", "--wfe-decoding", "full"], "use auto or off"),
        (["--path", "good.pt:no-head.pt"], "model 2 of 2 has no word-frequency estimate"),
        (["--path", "diverged.pt"], "the model's weights are not finite (encoder.embed_tokens.weight)"),
        (["--path", "good.pt", "--temperature", "0"], "--temperature must be greater than 0"),
        (["--path", "good.pt", "--max-source-positions", "2"], "Size of sample #0 is invalid"),
        (["--path", "good.pt", "--min-len", "9", "--max-len-b", "5"], "--min-len 9 is larger than the maximum"),
        (["--path", "good.pt", "--seed", "-1"], "--seed is -1; it must be from 0 to 4294967295"),
        (["--path", "good.pt", "--max-tokens", "2"], "Sentences lengths should not exceed max_tokens=2"),
        (["--path", "good.pt", "--post-process", "none_such"], "Unknown post_process option: none_such"),
        (["--path", "good.pt", "--lm-path", "good.pt"], "--lm-path: is no language model"),
        (["--path", "good.pt", "--model-overrides", "5"], "--model-overrides is '5'; it must be a dictionary"),
        (["--path", "good.pt", "--model-overrides", "{"], "--model-overrides is '{'; it must be a dictionary"),
        (
            ["--path", "good.pt", "--model-overrides", "{'encoder_layers': 2}"],
            "weights do not fit the options of the model",
        ),
        (
            ["--path", "good.pt", "--wfe-decoding", "off", "--min-len", "9", "--max-len-b", "5"],
            "min_len cannot be larger",
        ),
    ],
)
def test_fairseq_generate(world, arguments, message):
    assert message in fairseq(fairseq_generate.main, options.get_generation_parser(), *arguments)
    assert not (world / "VICTIM").exists()


@pytest.mark.parametrize(
    "data, message",
    [
        ("nowhere", "nowhere/dict.source.txt: No such file"),
        ("other", "the model was trained with 7 source words, but the data have 8"),
        ("no-vocabulary", "dict.target.txt: not a vocabulary of fairseq-preprocess"),
        ("no-words", "dict.target.txt: the vocabulary has no words"),
        ("cut-short", "cut-short: the set 'test' is empty, damaged or cut short"),
    ],
)
def test_data_for_fairseq_generate(world, monkeypatch, data, message):
    if data not in ("nowhere", "other"):
        shutil.copytree("data", data, dirs_exist_ok=True)
    if data in ("no-vocabulary", "no-words"):
        Path(data, "dict.target.txt").write_text("a\n" if data == "no-vocabulary" else "")
    if data == "cut-short":
        os.truncate("cut-short/test.source-target.source.bin", 5)
    arguments = ["--path", "good.pt"]
    args = options.parse_args_and_arch(options.get_generation_parser(), [data, *TASK, *arguments])
    with pytest.raises(Exception) as raised:
        fairseq_generate.main(convert_namespace_to_omegaconf(args))
    assert message in plain_errors.message(raised.value)


SMALL = [
    "--arch",
    "wfe_lstm_tiny",
    "--criterion",
    "nll_wfe",
    "--optimizer",
    "adam",
    "--max-epoch",
    "1",
    "--cpu",
    "--no-save",
]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--seed", "-1"], "--seed is -1; it must be from 0 to 4294967295"),
        (["--adam-betas", "x"], "--adam-betas is 'x'; it must be two numbers"),
        (["--update-freq", "0"], "--update-freq is 0; it must be 1 or more"),
        (["--log-interval", "0"], "--log-interval is 0; it must be 1 or more"),
        (["--lr-scheduler", "cosine"], "Either --max_update or --lr-period-updates must be set"),
        (["--finetune-from-model", "nowhere.pt"], "--finetune-from-model nowhere.pt does not exist"),
        (["--restore-file", "list.pt"], "holds no model that can be used here"),
        (
            ["--best-checkpoint-metric", "none_such"],
            "it must be one of what validation tells: loss, nll_loss, wfe_loss",
        ),
        (["--criterion", "ctc"], "--criterion ctc cannot be used with this task"),
        (
            ["--criterion", "mrt", "--mrt-size", "3", "--mrt-bounded", "--without-wfe"],
            "--mrt-bounded: the model has no",
        ),
        (["--wfe-only"], "--wfe-only: name the trained model by --finetune-from-model"),
        (
            ["--arch", "transformer_lm"],
            "--arch: such a model is for another task, which has the option --tokens-per-sample",
        ),
        (["--arch", "ras_elman", "--kernel-size", "100000000001"], "not enough memory: "),
        (
            ["--arch", "fconv", "--encoder-layers", "x"],
            "an option is 'x'; it must be a value that can be read without running code",
        ),
        (["--arch", "transformer", "--encoder-attention-heads", "3"], "--arch transformer cannot be built"),
    ],
)
def test_fairseq_train(world, tmp_path, arguments, message):
    out = ["--save-dir", str(tmp_path)]
    assert message in fairseq(fairseq_train.main, options.get_training_parser(), *SMALL, *out, *arguments)
    assert not list(tmp_path.iterdir())


def test_text_of_options_that_fairseq_evaluates():
    with pytest.raises(SyntaxError) as raised:
        options.parse_args_and_arch(options.get_training_parser(), ["data", "--arch", "transformer", "--lr", "[0.1"])
    assert plain_errors.message(raised.value) == "argument --lr: invalid value: '[0.1'"


def test_what_is_missing_on_the_machine():
    def told(error):
        with pytest.raises(type(error)) as raised:
            raise error
        return plain_errors.message(raised.value)

    assert told(AssertionError("Torch not compiled with CUDA enabled")).startswith(
        "no GPU can be used here: leave out --fp16"
    )
    assert told(RuntimeError("DefaultCPUAllocator: can't allocate memory")).startswith(
        "not enough memory: use a smaller"
    )


def test_what_a_tokenizer_lacks(world):
    given = ["--path", "good.pt", "--bpe", "subword_nmt", "--batch-size", "1"]
    assert (
        fairseq(fairseq_interactive.main, options.get_interactive_generation_parser(), *given)
        == "--bpe-codes is missing: give it"
    )


def test_validation_without_a_size_of_batches(world):
    args = options.parse_args_and_arch(options.get_validation_parser(), ["data", *TASK, "--path", "good.pt"])
    with pytest.raises(AssertionError) as raised:
        fairseq_validate.main(convert_namespace_to_omegaconf(args))
    assert plain_errors.message(raised.value) == "Must specify batch size either with --max-tokens or --batch-size"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_checkpoints_for_fairseq_validate(world, name):
    told = fairseq(fairseq_validate.main, options.get_validation_parser(), "--path", name)
    assert told.startswith("the checkpoint cannot be loaded")
    assert not (world / "VICTIM").exists()


def test_data_without_summaries(world, tmp_path, capsys):
    data = shutil.copytree("data", tmp_path / "data")
    (data / "test.source-target.target.idx").unlink()
    refused(frequencies.main, ["--model", "good.pt", "--data", str(data)], "the 'test' set has no summaries", capsys)


def test_the_longest_line_can_be_decoded():
    """At worst each character is a word, once lower-cased: this one becomes two. The last word is the end."""
    line = treat.Treatment(treat.Settings(lowercase=True)).normalize("\u0130" * MAX_CHARACTERS)
    assert len(line) + 1 == decode.ANY_LENGTH


def raised_by(error, *code):
    """The error as it comes out of that code."""
    try:
        exec(*code)
    except BaseException as found:
        assert found is error
        return found


def test_memory_is_not_blamed_on_anything_else():
    """Neither on a criterion nor on a checkpoint."""
    error = RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
    code = compile("raise error", "site-packages/fairseq/criterions/label_smoothed_cross_entropy.py", "exec")
    assert plain_errors.message(raised_by(error, code, {"error": error})).startswith("not enough memory: use a smaller")
    error = MemoryError()
    code = compile("def load():\n    raise error\nload()", "site-packages/torch/serialization.py", "exec")
    assert plain_errors.message(raised_by(error, code, {"error": error})).startswith("not enough memory: use a smaller")


def test_an_interruption_is_no_damage():
    error = KeyboardInterrupt()
    code = compile("def load():\n    raise error\nload()", "site-packages/torch/serialization.py", "exec")
    assert plain_errors.message(raised_by(error, code, {"error": error})) is None


def test_mistakes_of_the_plugin_keep_their_traceback():
    """Only what is raised on purpose is addressed to users."""
    with pytest.raises(ValueError) as raised:
        treat.Settings(tokenize=float("mistake"))
    assert plain_errors.message(raised.value) is None
    with pytest.raises(KeyError) as raised:
        {}["mistake"]
    assert plain_errors.message(raised.value) is None


def test_text_in_another_encoding():
    with pytest.raises(ValueError) as raised:
        b"caf\xe9 au lait".decode("utf-8")
    assert plain_errors.message(raised.value).startswith("a text: not UTF-8 (byte 0xe9): convert it")


@pytest.mark.parametrize("before", [0, 1, 5000])
def test_text_in_another_encoding_for_fairseq_interactive(tmp_path, monkeypatch, before):
    path = tmp_path / "text"
    path.write_bytes(b"a line\n" * before + b"caf\xe9 au lait\nanother line\n")
    monkeypatch.setattr(fileinput, "_state", None)
    with pytest.raises(ValueError) as raised:
        with fileinput.input([str(path)], openhook=fileinput.hook_encoded("utf-8")) as lines:  # as it does
            list(lines)
    assert plain_errors.message(raised.value).startswith(f"{path}:{before + 1}: not UTF-8 (byte 0xe9)")


@pytest.mark.parametrize(
    "program, expected",
    [("/bin/fairseq-generate", "fairseq-generate: error: nowhere"), ("fairseq_cli/train.py", "fairseq-train: error: nowhere"),
     ("my_program.py", None)],
)  # fmt: skip
def test_one_line_in_the_commands_of_fairseq_alone(monkeypatch, capsys, program, expected):
    stock = []
    monkeypatch.setattr("sys.excepthook", lambda *error: stock.append(error))
    monkeypatch.setattr("sys.argv", [program])
    plain_errors.install()
    for error in (OSError("nowhere"), KeyError("mistake")):
        sys.excepthook(type(error), error, None)
    assert capsys.readouterr().err == (f"{expected}\n" if expected else "")
    assert len(stock) == (1 if expected else 2)


def test_errors_behind_errors_are_found():
    """As where fairseq's trainer says no more than that a checkpoint cannot be loaded."""
    with pytest.raises(RuntimeError) as raised:
        try:
            SummarizationWFETask.load_dictionary(__file__)
        except Exception as error:
            raise RuntimeError("architectures must match") from error
    assert "not a vocabulary of fairseq-preprocess" in plain_errors.message(raised.value)
