"""Everything that a user can get wrong, for every command: each time a clear line, a failure, nothing half-written.

    python tests/stress/bad_input.py [--only PATTERN] [--real] [--verbose]

Commands are the functions of the scripts and of fairseq, each call in a forked process, which
saves loading torch and fairseq some hundred times; what they start are real processes. With
--real, the commands themselves are started. As root, full and read-only disks are mounted,
and unreadable files are tried without root's rights; otherwise these are left out.
"""

import argparse
import ctypes
import importlib
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

import torch  # noqa: E402
from bad_world import Hostile, binarize, checkpoint, state_of  # noqa: E402
from tiny_training import ROOT, TINY, options, script_environment, write_text  # noqa: E402

import wfe_plugin  # noqa: E402
from wfe_plugin import plain_errors  # noqa: E402
from wfe_plugin.pipeline import train  # noqa: E402

MEMORY = 8 * 2**30  # bytes of a process: a case that goes wrong must not take the machine down
PLUGIN = str(Path(wfe_plugin.__file__).parent)
MODULES = {
    "preprocess.sh": "wfe_plugin.pipeline.preprocess",
    "train.sh": "wfe_plugin.pipeline.train",
    "generate.sh": "wfe_plugin.pipeline.generate",
    "treat": "wfe_plugin.pipeline.treat",
    "wfe-evaluate": "wfe_plugin.cli.evaluate",
    "wfe-experiment": "wfe_plugin.cli.experiment",
    "wfe-frequencies": "wfe_plugin.cli.frequencies",
}
FAIRSEQ = ["fairseq-train", "fairseq-generate", "fairseq-interactive", "fairseq-validate"]
TASK = ["--user-dir", PLUGIN, "--task", "summarization_wfe", "-s", "source", "-t", "target"]
TRAINING = ["--arch", "wfe_lstm_tiny", "--criterion", "nll_wfe", "--optimizer", "adam", "--batch-size", 16]
TRAINING += ["--max-epoch", 1, "--cpu", "--no-save"]


@dataclass
class Case:
    """A call; it is to fail and say `mentions`, or, if that is None, to succeed."""

    command: str
    kind: str
    arguments: Sequence
    mentions: Optional[str]
    stdin: Optional[bytes] = None
    out: Optional[Path] = None  # of which nothing may be there afterwards, but for logs and hidden or unfinished files
    as_user: bool = False
    before: Callable[[], None] = field(default=lambda: None)


@dataclass
class World:
    folder: Path

    def __getattr__(self, name: str) -> Path:
        return self.folder / name


# Starting


def give_up_rights() -> None:
    """Root as any other user, here and in what is started from here: modes of files count (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    set_secure_bits, no_root = 28, 0b11
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.prctl(set_secure_bits, no_root, 0, 0, 0) or libc.capset(version, none):
        raise OSError(ctypes.get_errno(), "cannot give up root's rights")


def call(command: str, arguments: List[str]) -> int:
    """In a process of its own: what the command would do."""
    sys.argv = [command, *arguments]
    try:
        if command in MODULES:
            return importlib.import_module(MODULES[command]).main(arguments) or 0
        sys.excepthook = sys.__excepthook__
        plain_errors.install()
        return importlib.import_module("fairseq_cli." + command.split("-")[1]).cli_main() or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


def forked(case: Case, log: Path, directory: Path) -> int:
    sys.stdout.flush()
    with open(log, "wb") as output, tempfile.TemporaryFile() as given:
        given.write(case.stdin or b"")
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            status = 99
            try:
                os.dup2(given.fileno(), 0)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                os.chdir(directory)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                if case.as_user:
                    give_up_rights()
                sys.stdin = open(0, encoding="utf-8", closefd=False)
                sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
                status = call(case.command, [str(word) for word in case.arguments])
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def really(case: Case, log: Path, directory: Path) -> int:
    if case.command == "treat":
        command = [sys.executable, "-m", MODULES["treat"]]
    else:
        inside = ROOT / case.command
        command = [inside if inside.exists() else Path(sys.executable).with_name(case.command)]
    environment = {**script_environment(), "PYTHONPATH": str(ROOT)}
    with open(log, "wb") as output:
        return subprocess.run(
            [str(word) for word in [*command, *case.arguments]], input=case.stdin or b"", stdout=output,
            stderr=subprocess.STDOUT, cwd=directory, env=environment, preexec_fn=give_up_rights if case.as_user else None,
        ).returncode  # fmt: skip


def left_behind(out: Path) -> List[str]:
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return [str(path) for path in files if not path.name.endswith((".log", ".tmp"))]


def faults(case: Case, status: int, told: str) -> List[str]:
    """What is wrong with how the command took it."""
    found = []
    if "Traceback (most recent" in told:
        found.append("a traceback")
    if case.mentions is None:
        return found + ([f"exit status {status}"] if status else [])
    if status == 0:
        found.append("accepted")
    if status < 0 or status == 99:
        found.append(f"ended by {status}")
    if case.mentions not in told:
        found.append(f"does not say {case.mentions!r}")
    if case.out and case.out.exists() and left_behind(case.out):
        found.append(f"left {left_behind(case.out)}")
    return found


# What there is to work with


def make_world(folder: Path) -> World:
    """Text, data, and models that have learnt nothing."""
    make(folder / "open")  # for outputs
    write_text(folder, (("train", 200), ("valid", 12), ("test", 11)))
    with quiet(folder / "preparing.log"):
        binarize(folder / "data", "a b c d e f g h i j")
        binarize(folder / "other", "x y z u")
        for split, side in itertools.product(("train", "valid", "test"), ("source", "target")):
            (folder / "data" / "text").mkdir(exist_ok=True)
            shutil.copy(folder / "data-text" / f"all.{side}", folder / "data" / "text" / f"{split}.{side}")
        torch.save(checkpoint(folder / "data"), folder / "good.pt")
        torch.save(checkpoint(folder / "data", "--without-wfe"), folder / "no-head.pt")
        torch.save(transformer(folder / "data"), folder / "transformer.pt")
    shutil.copy(folder / "good.pt", make(folder / "model") / "checkpoint_best.pt")
    world = World(folder)
    spoil_checkpoints(world)
    spoil_data(world)
    spoil_text(world)
    return world


def transformer(data: Path) -> dict:
    """A stock model of fairseq's own task."""
    sizes = [f"--{side}-{name}={value}" for side in ("encoder", "decoder")
             for name, value in (("embed-dim", 8), ("ffn-embed-dim", 8), ("attention-heads", 1), ("layers", 1))]  # fmt: skip
    return state_of([str(data), "--task", "translation", "--arch", "transformer", "-s", "source", "-t", "target", *sizes])


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


@contextmanager
def quiet(log: Path):
    """For commands whose output is of no interest."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        for number, descriptor in enumerate(kept, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)


def spoil_checkpoints(world: World) -> None:
    good = world.folder / "good.pt"
    content, state = good.read_bytes(), torch.load(good)
    (world.folder / "directory.pt").mkdir()
    (world.folder / "cut.pt").write_bytes(content[: len(content) // 2])
    (world.folder / "empty.pt").write_bytes(b"")
    (world.folder / "text.pt").write_text("hello\n" * 100)
    torch.save([1, 2], world.folder / "list.pt")
    torch.save(state["model"], world.folder / "bare.pt")
    torch.save({"model": state["model"]}, world.folder / "no-cfg.pt")
    nan = {name: weights * float("nan") for name, weights in state["model"].items()}
    torch.save({**state, "model": nan}, world.folder / "diverged.pt")
    for name, changes in {
        "unknown-task": {"task": {**state["cfg"]["task"], "_name": "none_such"}},
        "unknown-arch": {"model": {**state["cfg"]["model"], "_name": "none_such", "arch": "none_such"}},
    }.items():
        torch.save({**state, "cfg": {**state["cfg"], **changes}}, world.folder / f"{name}.pt")
    victim = str(world.folder / "VICTIM")
    torch.save({**state, "model": Hostile("open", victim)}, world.folder / "hostile.pt")
    torch.save({**state, "extra_state": Hostile("system", victim)}, world.folder / "hostile-state.pt")
    # fairseq's fconv evaluates these options.
    convolutional = state_of([str(world.data), "--task", "translation", "--arch", "fconv", "-s", "source", "-t", "target",
                              "--encoder-layers", "[(8, 3)]", "--decoder-layers", "[(8, 3)]"])  # fmt: skip
    convolutional["cfg"]["model"].encoder_layers = f"[(8, 3)] if open({victim!r}, 'w') else []"
    torch.save(convolutional, world.folder / "hostile-options.pt")
    old = {"_use_new_zipfile_serialization": False}
    torch.save({**state, "cfg": Hostile("system", victim)}, world.folder / "hostile-old.pt", **old)


def spoil_data(world: World) -> None:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(world.data, world.folder / name))

    for file in ("treatment.json", "dict.target.txt", "valid.source-target.target.idx", "test.source-target.target.idx"):
        (copy(f"without-{file}") / file).unlink()
    for split in ("train", "valid", "test"):
        name = f"{split}.source-target.source.bin"
        directory = copy(f"cut-{name}")
        os.truncate(directory / name, 5)
    for name, content in {
        "empty": b"",
        "no-counts": b"a\nb\n",
        "latin-1": b"caf\xe9 3\n",
        "NUL": b"a\0 1 1\n",
    }.items():
        directory = copy(f"dictionary-{name}")
        for side in ("source", "target"):
            (directory / f"dict.{side}.txt").write_bytes(content)
    directory = copy("dictionary-short")
    for side in ("source", "target"):
        path = directory / f"dict.{side}.txt"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    (copy("broken-treatment") / "treatment.json").write_text("{")
    (world.folder / "file").write_text("a file\n")
    make(world.folder / "empty-directory")


TEXT: Dict[str, Optional[bytes]] = {
    "missing": None,
    "empty": b"",
    "latin-1": b"a\nb\xe9\nc\n",
    "utf-16": "a\nb\nc\n".encode("utf-16"),
    "NUL": b"a\nb\0\nc\n",
    "blank": b"\n \n\t\n",
    "long": b"a\n" + b"a " * 100_000 + b"\nb\n",
    "short": b"a\nb\n",
    "unreadable": b"a\nb\nc\n",
    "CRLF": b"a b\r\nb\r\nc\r\n",
    "BOM": b"\xef\xbb\xbfa b\nb\nc\n",
    "unseen": b"never seen\nnothing of it\nat all\n",
    "good": b"a b c\nb\nc\n",
}
ACCEPTED = {"CRLF", "BOM", "unseen", "good"}


def spoil_text(world: World) -> None:
    folder = make(world.folder / "bad")
    for name, content in TEXT.items():
        if content is not None:
            (folder / name).write_bytes(content)
    (folder / "unreadable").chmod(0)
    (folder / "directory").mkdir()


# The cases


def text_cases(w: World):
    good = w.bad / "good"
    for kind in [*TEXT, "directory"]:
        path = w.bad / kind
        user = kind == "unreadable"
        fault = None if kind in ACCEPTED else str(path)
        # preprocess.sh: each place that takes a file
        sides = {"source": (path, good), "target": (good, path)}
        for place in ("train", "valid", "test"):
            for side, files in sides.items():
                sets = {"train": (good, good), "valid": (good, good), place: files}
                arguments = [word for name, pair in sets.items() for word in (f"--{name}-files", *pair)]
                out = w.open / "new"
                dropped = place == "train" and kind == "long"  # which is told
                told = None if dropped else fault
                yield Case("preprocess.sh", f"{place} {side} {kind}", [*arguments, "--out", out], told, out=out, as_user=user)
        # generate.sh; blank lines have blank summaries, and any number of lines is right
        out = w.open / "new"
        told = None if kind in ("blank", "short") else fault
        arguments = ["--model", w.model, "--out", out, "--threads", 1, "--input"]
        yield Case("generate.sh", f"input {kind}", [*arguments, path], told, out=out, as_user=user)
        told = None if kind in ("blank", "long") else fault
        yield Case("generate.sh", f"references {kind}", [*arguments, good, "--references", path], told, out=out, as_user=user)
        # wfe-evaluate
        arguments = ["--protocol", "gigaword", "--rouge", "python", "--json", out]
        for references, hypotheses in ((path, good), (good, path)):
            files = ["--references", references, "--hypotheses", hypotheses]
            yield Case("wfe-evaluate", f"{references.name} {hypotheses.name}", [*arguments, *files], told, out=out, as_user=user)
        # fairseq-interactive
        told = None if kind in ("blank", "short", "empty", "NUL") else fault
        if kind == "long":
            told = "Size of sample"
        arguments = [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9, "--input", path]
        yield Case("fairseq-interactive", f"input {kind}", arguments, told, as_user=user)
        if TEXT.get(kind) is not None and not user:
            told = told and told.replace(str(path), "<stdin>:")
            yield Case("fairseq-interactive", f"stdin {kind}", arguments[:-2], told, stdin=TEXT[kind])
            wrong = kind in ("latin-1", "utf-16", "NUL", "long")
            yield Case("treat", f"stdin {kind}", ["apply", w.data], "<stdin>" if wrong else None, stdin=TEXT[kind])
        # wfe-experiment; what is right goes on to trainings, which are no business of this
        if fault:
            config = w.folder / f"text-{kind}.ini"
            config.write_text(f"[experiment]\nout = open/new\n[data]\ntrain = {good} {good}\nvalid = {good} {path}\ntest = {good} {good}\n")
            yield Case("wfe-experiment", f"valid {kind}", [config], fault, out=out, as_user=user)


def checkpoint_cases(w: World):
    damaged = {"cut": "damaged", "empty": "damaged", "text": "damaged", "list": "no model of fairseq", "bare": "no model of fairseq",
               "no-cfg": "no model of fairseq", "hostile": "would call", "hostile-state": "would call", "hostile-old": "would call",
               "hostile-options": "without running code", "missing": "no such", "directory": "", "unknown-arch": "no model that can be used"}  # fmt: skip
    out = w.open / "new"
    for kind, message in {**damaged, "diverged": "not finite"}.items():
        path = w.folder / f"{kind}.pt"
        yield Case("generate.sh", f"model {kind}", ["--model", path, "--data", w.data, "--out", out, "--threads", 1], message, out=out)
        yield Case("wfe-frequencies", f"model {kind}", ["--model", path, "--data", w.data, "--json", out], message, out=out)
        if kind not in ("diverged", "unknown-arch", "hostile-options"):  # which do not matter to it
            arguments = options(w.data, out, "--add-wfe", path, "--epochs", "1", preset="small")
            told = "empty" if kind == "empty" else message
            yield Case("train.sh", f"--add-wfe {kind}", [*arguments, "--", "--cpu", *TINY], told, out=out / "checkpoint1.pt")
        told = {"missing": "not found", "no-cfg": "", "bare": "", "list": ""}.get(kind, message)
        for command in FAIRSEQ[1:]:
            arguments = [w.data, *TASK, "--path", path, "--cpu"]
            more = ["--max-len-b", 9] if command != "fairseq-validate" else ["--batch-size", 4]
            yield Case(command, f"path {kind}", [*arguments, *more], told, stdin=b"a b\n")
        if kind in ("cut", "empty", "text", "hostile", "hostile-state", "hostile-old", "list"):
            for option in ("--restore-file", "--finetune-from-model"):
                arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, option, path]
                yield Case("fairseq-train", f"{option} {kind}", arguments, message if kind != "list" else "", out=out)
    for command, decode in {"generate.sh": "--decoding", "fairseq-generate": "--wfe-decoding", "fairseq-interactive": "--wfe-decoding"}.items():
        for kind, paths in {"no head": ["no-head.pt"], "mixed": ["good.pt", "no-head.pt"], "mixed, turned": ["no-head.pt", "good.pt"]}.items():
            path = ":".join(str(w.folder / name) for name in paths)
            if command == "generate.sh":
                arguments = ["--model", path, "--data", w.data, "--out", out]
            else:
                arguments = [w.data, *TASK, "--path", path, "--cpu"]
            yield Case(command, f"{kind} {decode} full", [*arguments, decode, "full"], f"{decode} off", out=out, stdin=b"a b\n")
    yield Case("wfe-frequencies", "no head", ["--model", w.folder / "no-head.pt", "--data", w.data], "estimates no frequencies")
    unknown = ["--path", w.folder / "unknown-task.pt", "--cpu", "--batch-size", 4]
    yield Case("fairseq-validate", "path unknown-task", [w.data, *TASK, *unknown], "none_such")
    yield Case("wfe-frequencies", "model unknown-task", ["--model", unknown[1], "--data", w.data], "none_such")
    transformer = w.folder / "transformer.pt"
    yield Case("generate.sh", "a Transformer", ["--model", transformer, "--out", out, "--threads", 1], None)
    yield Case("generate.sh", "a Transformer, full", ["--model", transformer, "--out", out, "--decoding", "full"], "estimates no")
    yield Case("wfe-frequencies", "a Transformer", ["--model", transformer, "--data", w.data], "estimates no frequencies")
    arguments = options(w.data, out, "--add-wfe", transformer, "--epochs", "1", preset="small")
    yield Case("train.sh", "--add-wfe to a Transformer", [*arguments, "--", "--cpu", *TINY], "", out=out / "checkpoint1.pt")
    for path in (w.folder / "good.pt", w.model):
        yield Case("train.sh", "--add-wfe to WFE", [*options(w.data, out, "--add-wfe", path, preset="small"), "--", "--cpu", *TINY], "already", out=out)
    for kind in ("cut", "hostile", "text"):
        yield from resumed(w, kind, damaged[kind])


def resumed(w: World, kind: str, message: str):
    """A training whose model was damaged meanwhile."""
    out = w.folder / f"resumed-{kind}"
    arguments = [*options(w.data, out, preset="small"), "--", "--cpu", *TINY]

    def before():
        record = train.Training(*train.parse(arguments)).record
        (make(out) / train.RECORD).write_text(json.dumps(record))
        shutil.copy(w.folder / f"{kind}.pt", out / "checkpoint1.pt")

    yield Case("train.sh", f"resumed {kind}", arguments, message, before=before)


def data_cases(w: World):
    out = w.open / "new"
    kinds = {
        "nowhere": "nowhere", "file": "file", "empty-directory": "empty-directory", "without-treatment.json": "treatment.json",
        "broken-treatment": "treatment.json", "without-dict.target.txt": "dict.target.txt",
        "without-valid.source-target.target.idx": "valid", "without-test.source-target.target.idx": "test",
        "cut-train.source-target.source.bin": "train", "cut-valid.source-target.source.bin": "valid",
        "cut-test.source-target.source.bin": "test", "dictionary-empty": "dict.", "dictionary-no-counts": "dict.",
        "dictionary-latin-1": "dict.", "dictionary-NUL": "dict.", "other": "other",
    }  # fmt: skip
    for kind, message in kinds.items():
        data = w.folder / kind
        treatment = "treatment" in kind
        dictionary = kind.startswith(("dictionary", "without-dict", "other", "nowhere", "file", "empty-directory"))
        # Which sets a command looks at; without a target, fairseq-generate summarizes all the same.
        needed = {"train.sh": ("train", "valid"), "fairseq-train": ("train", "valid"), "fairseq-validate": ("valid",)}

        def wants(command, kind=kind, treatment=treatment, dictionary=dictionary):
            if treatment:
                return command.endswith(".sh") or command == "wfe-experiment"
            return dictionary or any(f"-{split}." in kind for split in needed.get(command, ("test",)))

        calls = {
            "train.sh": [*options(data, out, "--epochs", "1", preset="small"), "--", "--cpu", *TINY],
            "generate.sh": ["--model", w.model, "--data", data, "--out", out, "--threads", 1],
            "wfe-frequencies": ["--model", w.model, "--data", data, "--json", out],
            "fairseq-train": [data, *TASK, *TRAINING, *TINY, "--save-dir", out],
            "fairseq-generate": [data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9],
            "fairseq-interactive": [data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9],
            "fairseq-validate": [data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--batch-size", 4],
        }
        for command, arguments in calls.items():
            if kind == "other" and "train" in command or command == "fairseq-interactive" and not dictionary:
                continue  # all is well
            if command == "fairseq-generate" and kind.startswith("without-test"):
                continue
            if wants(command):
                told = "words" if kind == "other" and command != "generate.sh" else message
                told = "no summaries" if kind.endswith("target.idx") and not command.endswith(".sh") else told
                told = "words" if kind == "dictionary-empty" and command != "generate.sh" else told
                result = out / "checkpoint1.pt" if "train" in command else out
                yield Case(command, f"data {kind}", arguments, told, out=result, stdin=b"a b\n")
        if wants("wfe-experiment"):
            config = w.folder / f"data-{kind}.ini"
            config.write_text(f"[experiment]\nout = open/new\ntraining options = --epochs 1 -- --cpu\n[data]\nprepared = {data}\n")
            if kind != "other":
                told = "words" if kind == "dictionary-empty" else message
                yield Case("wfe-experiment", f"prepared {kind}", [config], told, out=out / "report.md")


    arguments = [w.folder / "dictionary-short", *TASK, *TRAINING, *TINY, "--save-dir", out]
    yield Case("fairseq-train", "data dictionary-short", arguments, "dict.source.txt", out=out)


TRAINING_VALUES = {
    "--wfe-weight": ["-1", "nan", "inf", "x"],
    "--wfe-over-cost": ["-0.2", "nan"],
    "--wfe-under-cost": ["-1", "nan"],
    "--wfe-epsilon": ["-0.25", "nan"],
    "--wfe-power": ["0.5", "-2", "nan"],
    "--label-smoothing": ["-0.1", "1", "2"],
    "--encoder-hidden-size": ["0", "-3", "x"],
    "--decoder-hidden-size": ["0", "-3"],
    "--encoder-layers": ["0", "-1"],
    "--decoder-layers": ["0", "-1"],
    "--encoder-embed-dim": ["0", "-1"],
    "--decoder-embed-dim": ["0", "-1"],
    "--dropout": ["-0.1", "1.5", "nan"],
    "--encoder-states": ["both"],
    "--average-over": ["words"],
    "--arch": ["none_such"],
    "--criterion": ["none_such"],
    "--none-such": ["1"],
    "--batch-size": ["0", "-1"],
    "--batch-size-valid": ["0"],
    "--max-tokens": ["0", "-1"],
    "--update-freq": ["0", "-1"],
    "--log-interval": ["0"],
    "--num-workers": ["-1"],
    "--seed": ["-1", "99999999999"],
    "--adam-betas": ["x", "(2,3)"],
    "--lr": ["[0.1", "x"],
    "--best-checkpoint-metric": ["none_such"],
    "--finetune-from-model": ["nowhere.pt"],
}
# Of training, with the options that they need; what is said comes last.
TRAINING_WORDS = [
    *((["--arch", "wfe_transformer_small", f"{option}={value}"], option) for option, value in (
        ("--encoder-layers", "-1"), ("--encoder-layers", "0"), ("--encoder-ffn-embed-dim", "0"), ("--encoder-layerdrop", "2"),
        ("--dropout", "nan"), ("--dropout", "1.5"), ("--attention-dropout", "2"), ("--encoder-attention-heads", "3"),
        ("--encoder-attention-heads", "0"), ("--encoder-embed-dim", "0"),
    )),
    *((["--arch", "wfe_fconv_small", f"{option}={value}"], option) for option, value in (
        ("--encoder-layers", "[(512,3"), ("--encoder-layers", "x"), ("--encoder-layers", "[]"), ("--encoder-layers", "3"),
        ("--encoder-layers", "[(0,3)]"), ("--decoder-layers", "[(64,0)]"), ("--decoder-attention", "x"),
        ("--decoder-attention", "[True]"), ("--encoder-embed-dim", "0"), ("--decoder-out-embed-dim", "0"), ("--dropout", "2"),
    )),
    (["--arch", "wfe_transformer_small", "--adaptive-softmax-cutoff", "5"], None),
    (["--arch", "wfe_transformer_small", "--adaptive-softmax-cutoff", "500"], "--arch wfe_transformer_small"),
    (["--arch", "ras_elman_small", "--kernel-size", "10000001"], "--arch ras_elman_small"),
    (["--arch", "abs_small", "--criterion", "mrt", "--mrt-bounded"], "--mrt-bounded"),
    (["--criterion", "mrt", "--mrt-bounded", "--without-wfe"], "--mrt-bounded"),
    (["--criterion", "mrt", "--mrt-alpha", "inf"], "finite"),
    (["--criterion", "mrt", "--mrt-size", "100000000"], "--mrt-size"),
    (["--wfe-only"], "--finetune-from-model"),
    (["--wfe-new-head"], "--finetune-from-model"),
    (["--eval-bleu", "--eval-bleu-args", "{"], "--eval-bleu-args"),
    (["--eval-bleu", "--eval-bleu-args", "[1]"], "--eval-bleu-args"),
    (["--eval-bleu", "--eval-bleu-detok", "none"], "--eval-bleu-detok"),
    (["--arch", "transformer_lm"], "--arch: such a model is for another task"),
    (["--criterion", "ctc"], "--criterion ctc"),
    (["--lr-scheduler", "cosine"], "--lr-period-updates"),
    (["--tpu"], "torch_xla"),
    (["--fp16"], "--fp16"),
]  # fmt: skip
DECODING_VALUES = {
    "--wfe-decoding": ["none_such"],
    "--beam": ["0", "-1", "x"],
    "--nbest": ["0", "9"],
    "--temperature": ["0", "-1", "inf", "nan"],
    "--word-cap": ["-1", "x"],
    "--repetition-penalty": ["0.5", "-1", "nan", "inf"],
    "--frequency-penalty": ["-1", "nan", "inf"],
    "--presence-penalty": ["-1", "nan"],
    "--coverage-penalty": ["-1", "nan"],
    "--gnmt-length-penalty": ["-1", "nan"],
    "--no-repeat-ngram-size": ["-1", "x", "1000"],
    "--ignore-when-blocking": ["none_such"],
    "--min-len": ["300"],
    "--max-len-b": ["-1"],
    "--lenpen": ["nan", "inf"],
    "--unkpen": ["nan"],
    "--sampling-topk": ["-3", "1000000"],
    "--sampling-topp": ["2"],
    "--diverse-beam-groups": ["3"],
    "--none-such": ["1"],
    "--batch-size": ["0"],
    "--prefix-size": ["-1"],
    "--max-len-a": ["nan", "inf", "-1"],
    "--diversity-rate": ["nan"],
    "--seed": ["-1"],
    "--model-overrides": ["5", "{"],
}
# Of fairseq-generate, with what is said.
DECODING_WORDS = [
    (["--retain-iter-history"], "--retain-iter-history"),
    (["--print-step"], "--print-step"),
    (["--post-process", "none_such"], "none_such"),
    (["--num-workers", "-1"], "--num-workers"),
    (["--max-tokens", "2"], "max_tokens"),
    (["--model-overrides", "{'encoder_hidden_size': 5}"], "do not fit the options"),
    (["--print-alignment", "soft"], None),
]


def option_cases(w: World):
    out = w.open / "new"
    for option, values in TRAINING_VALUES.items():
        for value in values:
            said = option if option != "--none-such" else "unrecognized arguments: --none-such"
            arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, f"{option}={value}"]
            yield Case("fairseq-train", f"{option} {value}", arguments, said, out=out)
            if value in ("-1", "-0.25", "0.5", "0", "none_such", "1"):
                arguments = [*options(w.data, out, "--epochs", "1", preset="small"), "--", "--cpu", *TINY, f"{option}={value}"]
                yield Case("train.sh", f"{option} {value}", arguments, said, out=w.open / "new" / "checkpoint1.pt")
    for words, said in TRAINING_WORDS:
        tiny = [] if "--arch" in words else TINY
        arguments = [w.data, *TASK, *TRAINING, *tiny, "--save-dir", out, *words]
        yield Case("fairseq-train", " ".join(words), arguments, said, out=out)
    arguments = [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9]
    for words, said in DECODING_WORDS:
        yield Case("fairseq-generate", " ".join(words), [*arguments, *words], said)
    for words, said in {"--print-alignment soft": "--print-alignment soft", "--bpe subword_nmt": "--bpe-codes"}.items():
        yield Case("fairseq-interactive", words, [*arguments, *words.split()], said, stdin=b"a b\n")
    yield Case("fairseq-generate", "--lm-path", [*arguments, "--lm-path", w.folder / "good.pt"], "--lm-path")
    yield Case("fairseq-validate", "no size of batches", arguments[:-2], "--batch-size")
    for value in ("-1", "nan"):
        arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, "--criterion", "nll_unlikelihood"]
        yield Case("fairseq-train", f"unlikelihood {value}", [*arguments, f"--unlikelihood-weight={value}"], "--unlikelihood-weight", out=out)
    for option, values in DECODING_VALUES.items():
        for value in values:
            said = option if option != "--none-such" else "unrecognized arguments: --none-such"
            more = ["--sampling", "--nbest", 5] if "sampling" in option else ["--no-repeat-ngram-size", 2] if "ignore" in option else []
            arguments = [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu"]
            if option != "--max-len-b":
                arguments += ["--max-len-b", 9]
            for command in ("fairseq-generate", "fairseq-interactive"):
                if command == "fairseq-interactive" and option == "--prefix-size":
                    continue  # which has no references to take prefixes from
                yield Case(command, f"{option} {value}", [*arguments, *more, f"{option}={value}"], said, stdin=b"a b\n")
            if option not in ("--beam", "--nbest", "--wfe-decoding") and value in ("-1", "0", "none_such", "1", "nan"):
                arguments = ["--model", w.model, "--out", out, "--threads", 1, "--", "--cpu", *more, f"{option}={value}"]
                yield Case("generate.sh", f"{option} {value}", arguments, said, out=out)
    for option, value in {"--beam": "0", "--nbest": "9", "--decoding": "x", "--threads": "0", "--none-such": "1", "--split": "none_such",
                          "--protocol": "x", "--time-only": "0"}.items():  # fmt: skip
        yield Case("generate.sh", f"{option} {value}", ["--model", w.model, "--out", out, option, value], value if option == "--split" else option, out=out)
    for option, value in {"--epochs": "0", "--patience": "-1", "--seed": "-1", "--threads": "x", "--gpus": "0", "--gpus 2": None, "--machine": "2",
                          "--estimator": "x", "--preset": "x", "--best-by": "x", "--none-such": "1", "--add-wfe": "nowhere"}.items():  # fmt: skip
        words = option.split() if value is None else [option, value]
        yield Case("train.sh", f"{option} {value}", [*options(w.data, out, preset="small"), *words], option, out=out)
    files = ["--train", w.train, "--valid", w.valid, "--out", out]
    for option, value in {"--merges": "0", "--workers": "0", "--bpe": "x", "--none-such": "1", "--train": "nowhere"}.items():
        yield Case("preprocess.sh", f"{option} {value}", [*files, option, value], "nowhere" if option == "--train" else option, out=out)
    for name, words, said in (("no options", [], "required"), ("unknown", ["--none-such"], "error: ")):
        for command in (*MODULES, *FAIRSEQ):
            known = {"treat": ["apply", w.data], "wfe-experiment": ["config.ini"], "wfe-frequencies": ["--model", "x", "--data", "x"],
                     "wfe-evaluate": ["--references", "x", "--hypotheses", "x"]}.get(command, []) if words else []  # fmt: skip
            if command.startswith("fairseq"):
                known = [w.data, *TASK, *(TRAINING if command == "fairseq-train" else ["--path", w.folder / "good.pt"])] if words else ["--user-dir", PLUGIN]
                said = said if words else ""
            yield Case(command, name, [*known, *words], said if words or not command.startswith("fairseq") else "")
    for name, config in {"none": None, "empty": "", "no section": "a = 1\n", "unknown section": "[nothing]\n", "unknown key": "[experiment]\nnothing = 1\n",
                         "beams": "[experiment]\nbeams = 0\n[data]\nprepared = data\n", "latin-1": "[experiment]\ntitle = caf\xe9\n", "seeds": "[experiment]\nseeds = x\n[data]\nprepared = data\n",
                         "training": "[data]\nprepared = data\n[system a]\ntraining = none_such\n", "tune": "[data]\nprepared = data\n[training E]\n[system a]\ntraining = E\ntune = lenpen\n",
                         "options": "[experiment]\nout = open/new\ntraining options = --none-such 1\n[data]\nprepared = data\n"}.items():  # fmt: skip
        path = w.folder / f"config {name}.ini"
        if config is not None:
            path.write_text(config, encoding="latin-1" if name == "latin-1" else "utf-8")
        said = "--none-such" if name == "options" else path.name
        yield Case("wfe-experiment", f"configuration {name}", [path], said, out=out / "config options.md")


def user_dir_cases(w: World):
    """A directory that is no plugin leaves everything to fairseq, which has its own words, and a traceback, for it."""
    for command in FAIRSEQ:
        more = TRAINING if command == "fairseq-train" else ["--path", w.folder / "good.pt"]
        arguments = [w.data, "--user-dir", w.folder / "nowhere", "--task", "summarization_wfe", *more]
        yield Case(command, "user-dir nowhere", arguments, "nowhere", stdin=b"a\n")


def output_cases(w: World):
    """Disks that are full, or only to be read; names that cannot be made."""
    text = ["--train", w.train, "--valid", w.valid]
    for kind, place in {"full": w.full, "read-only": w.readonly, "below a file": w.file}.items():
        out = place / "out"
        said = {"full": "No space left", "read-only": "ead-only", "below a file": "file"}[kind]
        config = w.folder / f"output {kind}.ini"
        config.write_text(f"[experiment]\nout = {out}\n[data]\ntrain = {w.train}\nvalid = {w.valid}\ntest = {w.test}\n")
        references = ["--references", w.folder / "test.title", "--hypotheses", w.folder / "test.title"]
        calls = {
            "preprocess.sh": [*text, "--out", out],
            "train.sh": [*options(w.data, out, "--epochs", "1", preset="small"), "--", "--cpu", *TINY],
            "generate.sh": ["--model", w.model, "--out", out, "--threads", 1],
            "wfe-evaluate": ["--protocol", "gigaword", "--rouge", "python", "--json", out, *references],
            "wfe-frequencies": ["--model", w.model, "--data", w.data, "--json", out],
            "wfe-experiment": [config],
            "fairseq-train": [w.data, *TASK, *TRAINING[:-1], *TINY, "--save-dir", out],
            "fairseq-generate": [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9, "--results-path", out],
        }
        for command, arguments in calls.items():
            if command.startswith("fairseq") and kind == "full":
                continue  # fairseq writes there itself: half a file, or a traceback before our line
            # A training that has no epoch yet leaves its settings.
            result = out / "checkpoint1.pt" if command == "train.sh" else out
            told = "not writable" if command == "generate.sh" and kind == "read-only" else said
            yield Case(command, f"output {kind}", arguments, told, out=result, before=lambda: fill(w.full))
    for command, arguments in calls.items():
        out = w.file if command not in ("wfe-evaluate", "wfe-frequencies") else w.data
        arguments = [out if word == place / "out" else str(out) if word == str(place / "out") else word for word in arguments]
        if command != "wfe-experiment":
            yield Case(command, f"output is a {'file' if out == w.file else 'directory'}", arguments, out.name)


def fill(disk: Path) -> None:
    """Leave next to no room on it, whatever the case before has left there."""
    clear(disk / "out")
    with suppress(OSError), open(disk / "filler", "wb") as file:
        file.write(b"x" * 2**13)


@contextmanager
def disks(folder: Path):
    """folder/full, with next to no room, and folder/readonly; only root can make them."""
    mounted = []
    try:
        for name, arguments in {"full": ["-t", "tmpfs", "-o", "size=8k", "none"], "readonly": ["-t", "tmpfs", "-o", "ro", "none"]}.items():
            place = make(folder / name)
            if subprocess.run(["mount", *arguments, str(place)], stderr=subprocess.DEVNULL).returncode == 0:
                mounted.append(place)
        yield len(mounted) == 2
    finally:
        for place in mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)  # a process may be about to leave it


def clear(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose command and kind this regular expression finds")
    parser.add_argument("--real", action="store_true", help="see above")
    parser.add_argument("--verbose", action="store_true", help="show all that is said")
    args = parser.parse_args()
    root = os.geteuid() == 0
    counts, failures = Counter(), []
    for module in (*MODULES.values(), *("fairseq_cli." + name.split("-")[1] for name in FAIRSEQ)):
        importlib.import_module(module)
    with tempfile.TemporaryDirectory(prefix="bad-input-") as name, disks(Path(name)) as have_disks:
        world = make_world(Path(name))
        log = world.folder / "log"
        groups = [text_cases, checkpoint_cases, data_cases, option_cases, user_dir_cases, output_cases]
        for case in (case for group in groups for case in group(world)):
            if not re.search(args.only, f"{case.command} {case.kind}"):
                continue
            if case.as_user and not root or not have_disks and case.kind in ("output full", "output read-only"):
                counts["left out: needs root"] += 1
                continue
            case.before()
            status = (really if args.real else forked)(case, log, world.folder)
            told = log.read_text(errors="replace")
            wrong = faults(case, status, told)
            if (world.folder / "VICTIM").exists():
                wrong.append("RAN THE CODE IN THE CHECKPOINT")
                (world.folder / "VICTIM").unlink()
            counts[case.command] += 1
            counts["all"] += 1
            if wrong:
                failures.append(f"{case.command}, {case.kind}")
                print(f"FAILED {case.command}, {case.kind}: {'; '.join(wrong)}\n    " + "\n    ".join(told.splitlines()[-12:]), flush=True)
            elif args.verbose:
                last = [line for line in told.splitlines() if line.strip()][-2:]
                print(f"{case.command}, {case.kind}: status {status}\n    " + "\n    ".join(line[:400] for line in last), flush=True)
            for place in (world.open / "new", case.out):
                if place and place not in (world.file, world.data):
                    clear(place)
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    print(f"{len(failures)} failed" + "".join(f"\n  {name}" for name in failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
