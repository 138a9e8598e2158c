"""What a user can do wrong, command by command: one clear line, a failure, and nothing half-written.

Commands are called in this process. What stays in the files of a command's own tests is not
repeated here.
"""

import argparse
import fileinput
import json
import logging
import os
import pickle
import re
import resource
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import generate as fairseq_generate
from fairseq_cli import interactive as fairseq_interactive
from fairseq_cli import preprocess as fairseq_preprocess
from fairseq_cli import train as fairseq_train
from fairseq_cli import validate as fairseq_validate
from omegaconf import OmegaConf
from test_preprocess import quick, write_sets  # noqa: F401  (quick is a fixture)

import wfe_plugin
from wfe_plugin import plain_errors
from wfe_plugin.cli import evaluate, frequencies
from wfe_plugin.cli import experiment as experiment_cli
from wfe_plugin.pipeline import child, decode, generate, preprocess, train, treat
from wfe_plugin.pipeline.decode import Hypothesis
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.tasks.summarization_wfe import SummarizationWFETask

PLUGIN = str(Path(wfe_plugin.__file__).parent)
TASK = ["--user-dir", PLUGIN, "--task", "summarization_wfe", "-s", "source", "-t", "target"]


class Hostile:
    """Something that makes a file when it is unpickled."""

    def __init__(self, how, path):
        self.how, self.path = how, path

    def __reduce__(self):
        return {"open": (open, (self.path, "w")), "system": (os.system, (f"touch '{self.path}'",))}[self.how]


def binarize(directory, words):
    """Prepared data as far as the commands look at it: 6 pairs in each set."""
    text = directory.with_name(directory.name + "-text")
    text.mkdir()
    for side in ("source", "target"):
        (text / f"all.{side}").write_text(f"{words}\n" * 6)
    prefix = str(text / "all")
    arguments = ["-s", "source", "-t", "target", "--trainpref", prefix, "--validpref", prefix, "--testpref", prefix]
    parser = options.get_preprocessing_parser()
    fairseq_preprocess.main(parser.parse_args([*arguments, "--destdir", str(directory), "--padding-factor", "1"]))
    settings = {**asdict(treat.Settings()), "source_max_length": 19, "target_max_length": 19}
    report = {name: {"lines": 6, "empty": 0, "too_long": 0} for name in ("train", "valid", "test")}
    (directory / "treatment.json").write_text(json.dumps({"settings": settings, "text": {}, "report": report}))


def checkpoint(data, *more):
    """What fairseq-train saves, of a model that has learnt nothing."""
    sizes = [f"--{side}-{name}=3" for side in ("encoder", "decoder") for name in ("embed-dim", "hidden-size")]
    return state_of([str(data), *TASK, "--arch", "wfe_lstm_tiny", "--criterion", "nll_wfe", *sizes, *more])


def state_of(arguments):
    config = convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), arguments))
    torch.manual_seed(0)
    model = tasks.setup_task(config.task).build_model(config.model)
    history = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
    return {
        "args": None,
        "cfg": OmegaConf.to_container(config, resolve=True, enum_to_str=True),
        "model": model.state_dict(),
        "criterion": None,
        "optimizer_history": [history],
        "task_state": {},
        "extra_state": {"train_iterator": {"epoch": 1}, "val_loss": 1.0},
        "last_optimizer_state": None,
    }


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    world = tmp_path_factory.mktemp("world")
    binarize(world / "data", "a b c")
    binarize(world / "other", "x y z u")
    binarize(world / "same-size", "x y z")
    state = checkpoint(world / "data")
    torch.save(state, world / "good.pt")
    torch.save(checkpoint(world / "data", "--without-wfe"), world / "no-head.pt")
    content = (world / "good.pt").read_bytes()
    (world / "cut.pt").write_bytes(content[: len(content) // 2])
    weights = state["model"]["encoder.embed_tokens.weight"].numpy().tobytes()
    assert content.count(weights) == 1
    (world / "damaged.pt").write_bytes(content.replace(weights, weights[::-1]))
    (world / "empty.pt").write_bytes(b"")
    (world / "text.pt").write_text("hello\n" * 100)
    torch.save([1, 2], world / "list.pt")
    torch.save({**state, "model": {1: torch.ones(1)}}, world / "numbers.pt")
    torch.save(state["model"], world / "bare.pt")
    torch.save({"model": state["model"]}, world / "no-cfg.pt")
    nan = {name: weights * float("nan") for name, weights in state["model"].items()}
    torch.save({**state, "model": nan}, world / "diverged.pt")
    victim = str(world / "VICTIM")
    torch.save({**state, "model": Hostile("open", victim)}, world / "hostile-open.pt")
    torch.save({**state, "extra_state": Hostile("system", victim)}, world / "hostile-system.pt")
    old = {"_use_new_zipfile_serialization": False}
    torch.save({**state, "model": Hostile("system", victim)}, world / "hostile-old.pt", **old)
    with open(world / "hostile-pickle.pt", "wb") as file:
        pickle.dump({"model": Hostile("system", victim)}, file)
    return world


@pytest.fixture
def world(original, monkeypatch):
    monkeypatch.chdir(original)
    return original


BAD_CHECKPOINTS = [
    ("nowhere.pt", "no such"),
    ("cut.pt", "damaged, cut short"),
    ("damaged.pt", "damaged, cut short"),
    ("empty.pt", "damaged, cut short"),
    ("text.pt", "damaged, cut short"),
    ("list.pt", "holds no model of fairseq"),
    ("numbers.pt", "holds no model of fairseq"),
    ("bare.pt", "holds no model of fairseq"),
    ("no-cfg.pt", "holds no model of fairseq"),
    ("hostile-open.pt", "io.open, which no checkpoint needs"),
    ("hostile-system.pt", "would call posix.system, which no checkpoint needs"),
    ("hostile-old.pt", "would call posix.system, which no checkpoint needs"),
    ("hostile-pickle.pt", "nothing of it was run"),
]
HOSTILE = [name for name, _ in BAD_CHECKPOINTS if name.startswith("hostile")]


def refused(main, arguments, message, capsys):
    """Called as on the command line, a command fails with the message and without a traceback."""
    before = sorted(os.listdir())
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert message in told and "Traceback" not in told and "[Errno" not in told
    assert sorted(os.listdir()) == before  # in particular, no VICTIM and no output
    return told


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
    args, extra = train.parse(arguments)
    (model / train.RECORD).write_text(json.dumps(train.Training(args, extra).record))
    refused(train.main, arguments, "checkpoint1.pt: not a checkpoint that can be loaded", capsys)


def test_a_checkpoint_without_score_for_resumed_training(world, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    torch.save({**torch.load("good.pt"), "extra_state": {}}, model / "checkpoint1.pt")
    arguments = ["--data", "data", "--out", str(model), "--preset", "small"]
    (model / train.RECORD).write_text(json.dumps(train.Training(*train.parse(arguments)).record))
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
        (["--path", "no-head.pt"], "use --wfe-decoding off"),
        (["--path", "good.pt:no-head.pt"], "model 2 of the 2 models has no WFE sub-model"),
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
        (["--path", "good.pt", "--model-overrides", "{'encoder_layers': 2}"], "weights do not fit the options of the model"),
        (["--path", "good.pt", "--wfe-decoding", "off", "--min-len", "9", "--max-len-b", "5"], "min_len cannot be larger"),
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


SMALL = ["--arch", "wfe_lstm_tiny", "--criterion", "nll_wfe", "--optimizer", "adam", "--max-epoch", "1", "--cpu", "--no-save"]


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
        (["--best-checkpoint-metric", "none_such"], "it must be one of what validation tells: loss, nll_loss, wfe_loss"),
        (["--criterion", "ctc"], "--criterion ctc cannot be used with this task"),
        (["--criterion", "mrt", "--mrt-size", "3", "--mrt-bounded", "--without-wfe"], "--mrt-bounded: the model has no"),
        (["--wfe-only"], "--wfe-only: name the trained model by --finetune-from-model"),
        (["--arch", "transformer_lm"], "--arch: such a model is for another task, which has the option --tokens-per-sample"),
        (["--arch", "ras_elman", "--kernel-size", "100000000001"], "--arch ras_elman cannot be built with its options"),
        (["--arch", "fconv", "--encoder-layers", "x"], "an option is 'x'; it must be a value that can be read without running code"),
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

    assert told(AssertionError("Torch not compiled with CUDA enabled")).startswith("no GPU can be used here: leave out --fp16")
    assert told(RuntimeError("DefaultCPUAllocator: can't allocate memory")).startswith("not enough memory: use a smaller")


def test_what_a_tokenizer_lacks(world):
    given = ["--path", "good.pt", "--bpe", "subword_nmt", "--batch-size", "1"]
    assert fairseq(fairseq_interactive.main, options.get_interactive_generation_parser(), *given) == "--bpe-codes is missing: give it"


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
        except Exception:
            raise RuntimeError("architectures must match")
    assert "not a vocabulary of fairseq-preprocess" in plain_errors.message(raised.value)


# What generate.sh checks before it decodes


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--model", "good.pt", "--data", "same-size"], "dict.source.txt: not the vocabulary that"),
        (["--model", "good.pt", "--data", "other"], "dict.source.txt: not the vocabulary that"),
        (["--model", "good.pt:no-head.pt", "--decoding", "full"], "no-head.pt: estimates no word frequencies"),
        (["--model", "good.pt:"], "holds no checkpoint_best.pt"),
        (["--model", "good.pt", "--out", "good.pt"], "good.pt: is no directory; choose another --out"),
        (["--model", "good.pt", "--out", "good.pt/below"], "good.pt: is no directory; choose another --out"),
        (["--model", "good.pt", "--input", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
    ],
)
def test_generate(world, capsys, arguments, message):
    refused(generate.main, ["--out", "out", *arguments], message, capsys)


def train_record(directory, data):
    """What train.sh keeps beside a checkpoint."""
    identity = train.data_identity(json.loads(Path(data, "treatment.json").read_text()))
    (directory / train.RECORD).write_text(json.dumps({"settings": {"preset": "small", "data": identity}}))


def test_data_prepared_anew(world, tmp_path, capsys, monkeypatch):
    """Since the training, in the same place, with other words of the same number."""
    decoded = {number: [Hypothesis(0.0, "a")] for number in range(6)}
    monkeypatch.setattr(decode, "split", lambda *_: decoded)
    data, model = tmp_path / "data", tmp_path / "model.pt"
    shutil.copytree("data", data)
    torch.save(checkpoint(data), model)
    train_record(tmp_path, data)
    generation = ["--model", str(model), "--out", str(tmp_path / "out")]
    measurement = ["--model", str(model), "--data", str(data)]
    assert generate.main(generation) == frequencies.main(measurement) == 0

    data.rename(tmp_path / "kept")
    shutil.copytree("same-size", data)
    record = json.loads((data / "treatment.json").read_text())
    (data / "treatment.json").write_text(json.dumps({**record, "text": {"train.source": "another"}}))
    capsys.readouterr()
    message = f"{data}: prepared anew, from other text or with other settings, since {model} was trained on it"
    refused(generate.main, generation, message, capsys)
    copy = shutil.copytree(data, tmp_path / "copy")
    refused(generate.main, [*generation, "--data", str(copy)], message, capsys)
    refused(frequencies.main, measurement, message, capsys)
    assert generate.main([*generation, "--data", str(tmp_path / "kept")]) == 0
    (tmp_path / train.RECORD).unlink()  # a bare checkpoint
    assert generate.main(generation) == 0


def test_frequencies_of_other_words(world, capsys):
    arguments = ["--model", "good.pt", "--data", "same-size"]
    refused(frequencies.main, arguments, "dict.source.txt: not the vocabulary that", capsys)


def test_separators_in_names(world, tmp_path, capsys, monkeypatch):
    (tmp_path / "c:d").mkdir()
    for name in ("good.pt", "data"):
        (tmp_path / "c:d" / name).symlink_to(world / name)
    arguments = ["--out", "out", "--model", str(world / "good.pt"), "--data", str(tmp_path / "c:d" / "data")]
    message = "in the name for a separator; please rename it"
    refused(generate.main, arguments, f"{tmp_path}/c:d/data: fairseq takes ':' {message}", capsys)
    monkeypatch.chdir(tmp_path / "c:d")
    arguments = ["--out", "out", "--model", "good.pt", "--data", str(world / "data")]
    refused(generate.main, arguments, f"{tmp_path}/c:d/good.pt: fairseq takes ':' {message}", capsys)


def test_links_as_output(world, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(decode, "split", lambda *_: {number: [Hypothesis(0.0, "a")] for number in range(6)})
    (tmp_path / "link").symlink_to("nowhere yet")
    assert generate.main(["--model", "good.pt", "--out", str(tmp_path / "link")]) == 0
    assert (tmp_path / "nowhere yet" / "summaries.txt").exists() and (tmp_path / "link").is_symlink()
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.setattr(decode, "split", None)
    arguments = ["--model", "good.pt", "--out", str(tmp_path / "circle")]
    refused(generate.main, arguments, "circle: Too many levels of symbolic links", capsys)


def test_references_that_can_be_read_only_once(world, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    arguments = ["--model", "good.pt", "--out", "out", "--references", str(tmp_path / "pipe")]
    refused(generate.main, arguments, "pipe: can be read only once; write it to a file first", capsys)


@pytest.mark.parametrize("option", ["--input", "--references"])
def test_what_comes_out_does_not_replace_what_goes_in(world, tmp_path, capsys, monkeypatch, option):
    text = tmp_path / "summaries.txt"
    text.write_text("a\n" * 6)
    (tmp_path / "link").symlink_to(tmp_path)
    arguments = ["--model", "good.pt", option, str(text), "--out", str(tmp_path / "link")]
    refused(generate.main, arguments, "summaries.txt: would be replaced by what comes out", capsys)


def test_an_end_among_the_last_renames(world, tmp_path, monkeypatch):
    """No file of other summaries is beside those that are there, at any moment."""
    monkeypatch.setattr(decode, "split", lambda *_: {number: [Hypothesis(0.0, "new")] for number in range(6)})
    replace = Path.replace
    for renames in range(4):
        out = tmp_path / str(renames)
        out.mkdir()
        for name in (generate.SUMMARIES, generate.NBEST, generate.SCORES):
            (out / name).write_text("old")
        calls = []

        def ends(path, target):
            calls.append(path)
            if len(calls) > renames:
                raise KeyboardInterrupt
            return replace(path, target)

        references = tmp_path / "references"
        references.write_text("new\n" * 6)
        monkeypatch.setattr(Path, "replace", ends)
        # The first one is of the scores, to the directory of unfinished work.
        assert generate.main(["--model", "good.pt", "--references", str(references), "--out", str(out)]) == 130
        monkeypatch.setattr(Path, "replace", replace)
        assert len({"old" in path.read_text() for path in out.iterdir()}) == 1
        assert (out / generate.SUMMARIES).exists()


@pytest.mark.parametrize("words", [["-s", "target"], ["-starget"], ["-t=source"]])
def test_short_forms_of_options_that_the_scripts_set(world, capsys, words):
    message = f"--{'source' if words[0].startswith('-s') else 'target'}-lang after --: "
    refused(generate.main, ["--model", "good.pt", "--out", "out", "--", *words], message, capsys)
    refused(train.main, ["--data", "data", "--out", "out", "--preset", "small", "--", *words], message, capsys)


@pytest.mark.parametrize("task", [None, {}, {"data": None}, argparse.Namespace()])
def test_a_checkpoint_that_names_no_data(world, tmp_path, capsys, monkeypatch, task):
    monkeypatch.setattr(decode, "split", lambda *_: {number: [Hypothesis(0.0, "a")] for number in range(6)})
    state = torch.load("good.pt")
    state["cfg"]["task"] = task
    torch.save(state, tmp_path / "odd.pt")
    arguments = ["--model", str(tmp_path / "odd.pt"), "--out", str(tmp_path / "out")]
    refused(generate.main, arguments, "odd.pt: does not tell which data it was trained on; name them with", capsys)
    assert generate.main([*arguments, "--data", "data"]) == 0


def test_a_checkpoint_whose_task_is_a_namespace(world, tmp_path, monkeypatch):
    monkeypatch.setattr(decode, "split", lambda *_: {number: [Hypothesis(0.0, "a")] for number in range(6)})
    state = torch.load("good.pt")
    state["cfg"]["task"] = argparse.Namespace(**state["cfg"]["task"])
    torch.save(state, tmp_path / "odd.pt")
    assert generate.main(["--model", str(tmp_path / "odd.pt"), "--out", str(tmp_path / "out")]) == 0


def test_read_only_output(world, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    refused(generate.main, ["--model", "good.pt", "--out", "out"], "not writable; choose another --out", capsys)


# Text, for every command that reads some

BAD_TEXT = {
    "missing": (None, "o such file"),
    "directory": ("directory", "s a directory"),
    "empty": (b"", "empty"),
    "latin-1": (b"a\nb\xe9\nc\n", "not UTF-8"),
    "utf-16": ("a\nb\nc\n".encode("utf-16"), "UTF-"),
    "NUL": (b"a\nb\0\nc\n", "NUL"),
    "blank": (b"\n \n\t\n", "blank"),
    "long": (b"a " * 100_000 + b"\nb\nc\n", "199999 characters"),
    "unequal": (b"a\nb\n", "bad has 2"),
}
NOT_FOR = {  # what a command has no reason to refuse
    "generate": {"blank", "unequal"},
    "treat": {"blank", "unequal", "missing", "directory", "empty"},
    "evaluate": {"blank", "long"},
}


@pytest.mark.parametrize(
    "command, kind",
    [(c, k) for c in ("preprocess", "generate", "treat", "evaluate") for k in BAD_TEXT if k not in NOT_FOR.get(c, ())],
)
def test_text(quick, world, tmp_path, capsys, monkeypatch, command, kind):  # noqa: F811
    content, message = BAD_TEXT[kind]
    bad, good = tmp_path / "bad", tmp_path / "good"
    good.write_text("a\nb\nc\n")
    if content == "directory":
        bad.mkdir()
    elif content is not None:
        bad.write_bytes(content)
    arguments = {
        "preprocess": ["--train-files", str(good), str(good), "--valid-files", str(bad), str(good), "--out", "out"],
        "generate": ["--model", "good.pt", "--input", str(bad), "--out", "out"],
        "treat": ["apply", "data"],
        "evaluate": ["--protocol", "gigaword", "--rouge", "python", "--references", str(good), "--hypotheses", str(bad)],
    }[command]
    main = {"preprocess": preprocess, "generate": generate, "treat": treat, "evaluate": evaluate}[command].main
    if command == "treat":
        monkeypatch.setattr("sys.stdin", open(bad))
    refused(main, arguments, message, capsys)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfa b\r\nc\r\n", b"a b\nc", b"a b\n\nc zebra\n"])
def test_text_that_is_accepted(world, tmp_path, monkeypatch, content):
    """Byte-order mark, Windows line ends, no last line end, an empty line, a word never seen."""
    seen = []

    def lines(decoding, treated):
        seen.extend(treated)
        return {number: [Hypothesis(0.0, "summary")] for number in range(len(treated))}

    monkeypatch.setattr(decode, "lines", lines)
    (tmp_path / "text").write_bytes(content)
    assert generate.main(["--model", "good.pt", "--input", str(tmp_path / "text"), "--out", str(tmp_path / "out")]) == 0
    assert seen == [line for line in content.decode("utf-8-sig").replace("\r", "").split("\n") if line]


# Data directories


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"settings": 1}', '{"settings": {"bpe": "none"}}'])
def test_a_broken_record_of_the_treatment(world, tmp_path, capsys, content):
    shutil.copytree("data", tmp_path / "data")
    (tmp_path / "data" / "treatment.json").write_text(content)
    data = str(tmp_path / "data")
    message = "treatment.json: not a data directory made by preprocess.sh"
    refused(generate.main, ["--model", "good.pt", "--data", data, "--out", "out"], message, capsys)
    refused(train.main, ["--data", data, "--out", "out", "--preset", "small"], message, capsys)
    refused(treat.main, ["apply", data], message, capsys)


@pytest.mark.parametrize(
    "keys, value",
    [
        (["report"], None),
        (["report"], 5),
        (["report", "test"], {}),
        (["report", "test", "lines"], "x"),
        (["text"], None),
        (["text"], 5),
        (["settings", "source_max_length"], None),
        (["settings", "target_max_length"], "x"),
        (["settings", "lowercase"], "yes"),
        (["settings", "bpe"], "both"),
    ],
)
def test_a_changed_record_of_the_treatment(world, tmp_path, capsys, keys, value):
    """None: the value is missing."""
    data = shutil.copytree("data", tmp_path / "data")
    record = json.loads((data / "treatment.json").read_text())
    part = record
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    if value is None:
        del part[keys[-1]]
    (data / "treatment.json").write_text(json.dumps(record))
    message = "treatment.json: not a data directory made by preprocess.sh"
    refused(generate.main, ["--model", "good.pt", "--data", str(data), "--out", "out"], message, capsys)
    told = refused(train.main, ["--data", str(data), "--out", "out", "--preset", "small"], message, capsys)
    assert (keys[-1] if keys[-1] != "test" else "lines") in told


@pytest.mark.parametrize("suffix", ["bin", "idx"])
@pytest.mark.parametrize("kept", [0, 20])
def test_binarised_sets_that_were_cut_short(world, tmp_path, capsys, suffix, kept):
    shutil.copytree("data", tmp_path / "data")
    for split in ("train", "test"):
        os.truncate(tmp_path / "data" / f"{split}.source-target.target.{suffix}", kept)
    data = str(tmp_path / "data")
    message = "source-target.target: missing, damaged or cut short: please run preprocess.sh again"
    refused(train.main, ["--data", data, "--out", "out", "--preset", "small"], message, capsys)
    refused(generate.main, ["--model", "good.pt", "--data", data, "--out", "out"], message, capsys)


def test_a_log_that_cannot_grow(world, tmp_path, capsys, monkeypatch):
    """Writing to a full disk does not say which file it was."""

    def run(command, name, on_line, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(train, "run", run)
    out = tmp_path / "out"
    refused(
        train.main, ["--data", "data", "--out", str(out), "--preset", "small"],
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
def test_a_full_disk(quick, world, tmp_path, monkeypatch, command):  # noqa: F811
    """The command says so, and leaves nothing but what was there."""
    text = write_sets(tmp_path / "text", sizes=(("train", 200), ("valid", 200)))
    out = tmp_path / "out"
    found = {number: [Hypothesis(0.0, "a long summary " * 5)] for number in range(6)}
    monkeypatch.setattr(decode, "split", lambda *_: found)
    article = str(text / "train.article")
    (tmp_path / "config.ini").write_text(f"[experiment]\nout = {out}\n[data]\ntrain = text/train\nvalid = text/valid\ntest = text/valid\n")
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


# What fairseq's commands say through our scripts


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
