"""Checkpoints and options that no command can work with, above all those of fairseq: one clear line, and no code is run."""

import json
import shutil

import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import generate as fairseq_generate
from fairseq_cli import train as fairseq_train
from fairseq_cli import validate as fairseq_validate

from helpers.bad_world import BAD_CHECKPOINTS, HOSTILE, TASK, refused
from wfe_plugin.cli import frequencies, generate, train
from wfe_plugin.fairseq_fixes.error_line import user_error
from wfe_plugin.pipeline import decode, treat
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.pipeline.train import planned

# Checkpoints


@pytest.mark.parametrize("name, message", BAD_CHECKPOINTS)
def test_checkpoints_for_generate(world, capsys, name, message):
    told = refused(generate.main, ["--model", name, "--data", "data", "--out", "out"], message, capsys)
    assert name in told


def test_checkpoints_for_frequencies(world, capsys):
    refused(frequencies.main, ["--model", "cut.pt", "--data", "data"], "damaged, cut short", capsys)


@pytest.mark.parametrize("name", [HOSTILE[0], "cut.pt"])
def test_checkpoints_for_resumed_training(world, tmp_path, capsys, name):
    """The first thing that a resumed training does is to read where it was."""
    model = tmp_path / "model"
    model.mkdir()
    shutil.copy(name, model / "checkpoint1.pt")
    arguments = ["--data", "data", "--out", str(model), "--preset", "small", "--baseline"]
    (model / RECORD).write_text(json.dumps(planned(train.parse(arguments)).record))
    refused(train.main, arguments, "checkpoint1.pt: not a checkpoint that can be loaded", capsys)


def test_a_checkpoint_without_score_for_resumed_training(world, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    torch.save({**torch.load("good.pt"), "extra_state": {}}, model / "checkpoint1.pt")
    arguments = ["--data", "data", "--out", str(model), "--preset", "small", "--baseline"]
    (model / RECORD).write_text(json.dumps(planned(train.parse(arguments)).record))
    refused(train.main, arguments, "checkpoint1.pt: has no epoch or no validation score", capsys)


def fairseq(main, parser, *arguments, data="data"):
    """The line that one of fairseq's commands would print."""
    args = options.parse_args_and_arch(parser, [data, *TASK, "--batch-size", "4", *arguments])
    with pytest.raises(Exception) as raised:
        main(convert_namespace_to_omegaconf(args))
    return str(user_error(raised.value))


@pytest.mark.parametrize(
    "arguments, message",
    [
        *((["--path", name], f"{name}: the checkpoint cannot be loaded: ") for name in HOSTILE),
        *((["--path", f"{name}.pt"], "damaged, cut short") for name in ("cut", "empty", "text")),
        *((["--path", f"{name}.pt"], "holds no model of fairseq") for name in ("list", "bare", "no-cfg")),
        (["--path", "no-head.pt", "--wfe-decoding", "full"], "use auto or off"),
        (["--path", "good.pt:no-head.pt"], "model 2 of 2 has no word-frequency estimate"),
        (["--path", "diverged.pt"], "the model's weights are not finite (encoder.embed_tokens.weight)"),
        (["--path", "good.pt", "--min-len", "9", "--max-len-b", "5"], "--min-len 9 is larger than the maximum"),
    ],
)
def test_fairseq_generate(world, arguments, message):
    assert message in fairseq(fairseq_generate.main, options.get_generation_parser(), *arguments)
    assert not (world / "VICTIM").exists()


def test_data_with_another_vocabulary(world):
    told = fairseq(fairseq_generate.main, options.get_generation_parser(), "--path", "good.pt", data="other")
    assert "the model was trained with 7 source words, but the data have 8" in told


SMALL = "--arch wfe_lstm_tiny --criterion nll_wfe --optimizer adam --max-epoch 1 --cpu --no-save".split()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--restore-file", "list.pt"], "list.pt: the checkpoint cannot be loaded"),
        (["--criterion", "mrt", "--mrt-bounded", "--without-wfe"], "--mrt-bounded: the model has no"),
        (["--wfe-only"], "--wfe-only: name the trained model with --finetune-from-model"),
        (["--wfe-epsilon", "-1"], "--wfe-epsilon is -1.0; it must be 0 or more"),
        (["--encoder-layers", "0"], "--encoder-layers is 0; it must be 1 or more"),
        (["--wfe-estimator", "none"], "--wfe-estimator none: choose one of"),
    ],
)
def test_fairseq_train(world, tmp_path, arguments, message):
    out = ["--save-dir", str(tmp_path)]
    assert message in fairseq(fairseq_train.main, options.get_training_parser(), *SMALL, *out, *arguments)
    assert not list(tmp_path.iterdir())


def test_a_hostile_checkpoint_for_fairseq_validate(world):
    told = fairseq(fairseq_validate.main, options.get_validation_parser(), "--path", HOSTILE[0])
    assert "the checkpoint cannot be loaded" in told
    assert not (world / "VICTIM").exists()


def test_the_longest_line_can_be_decoded():
    """At worst each character is a word, once lower-cased: this one becomes two. The last word is the end."""
    line = treat.Treatment(treat.Settings(lowercase=True)).normalize("\u0130" * MAX_CHARACTERS)
    assert len(line) + 1 == decode.ANY_LENGTH
