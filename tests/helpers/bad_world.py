"""Data, and models that have learnt nothing, good and spoilt, for the tests and the stress scripts."""

import json
import os
import pickle
from dataclasses import asdict
from pathlib import Path

import torch
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import preprocess as fairseq_preprocess
from omegaconf import OmegaConf

import wfe_plugin
from wfe_plugin.pipeline import treat

wfe_plugin.register()  # fairseq passes over a --user-dir that is imported already
PLUGIN = str(Path(wfe_plugin.__file__).parent)
TASK = ["--user-dir", PLUGIN, "--task", "summarization_wfe", "-s", "source", "-t", "target"]


class Hostile:
    """Something that makes a file when it is unpickled."""

    def __init__(self, how, path):
        self.how, self.path = how, path

    def __reduce__(self):
        return {"open": (open, (self.path, "w")), "system": (os.system, (f"touch '{self.path}'",))}[self.how]


def binarize_text(directory, source, target):
    """The same pairs as training, validation and test set, by fairseq-preprocess."""
    text = directory.with_name(directory.name + "-text")
    text.mkdir()
    for side, lines in (("source", source), ("target", target)):
        (text / f"all.{side}").write_text(lines)
    prefix = str(text / "all")
    arguments = ["-s", "source", "-t", "target", "--trainpref", prefix, "--validpref", prefix, "--testpref", prefix]
    parser = options.get_preprocessing_parser()
    fairseq_preprocess.main(parser.parse_args([*arguments, "--destdir", str(directory), "--padding-factor", "1"]))


def binarize(directory, words):
    """Prepared data as far as the commands look at it: 6 pairs in each set."""
    binarize_text(directory, f"{words}\n" * 6, f"{words}\n" * 6)
    settings = {**asdict(treat.Settings()), "source_max_length": 19, "target_max_length": 19}
    report = {name: {"lines": 6, "empty": 0, "too_long": 0} for name in ("train", "valid", "test")}
    (directory / "treatment.json").write_text(json.dumps({"settings": settings, "text": {}, "report": report}))


def checkpoint(data, *more):
    """What fairseq-train saves, of a model that has learnt nothing."""
    sizes = [f"--{side}-{name}=3" for side in ("encoder", "decoder") for name in ("embed-dim", "hidden-size")]
    return state_of([str(data), *TASK, "--arch", "wfe_lstm_tiny", "--criterion", "nll_wfe", *sizes, *more])


def state_of(arguments):
    wfe_plugin.register()
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


def make_world(world):
    """Fill a directory."""
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
    assert message in told and "Traceback" not in told and "[Errno" not in told, told
    assert sorted(os.listdir()) == before  # in particular, no VICTIM and no output
    return told
