"""The cases of bad_input.py: what a user can get wrong, by command, and what is to be said."""

import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

from bad_input_world import ACCEPTED, TEXT, World, clear, make
from helpers.bad_world import TASK
from helpers.tiny_training import TINY, options
from wfe_plugin.cli import train
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.train import planned

MODULES = {
    "wfe-preprocess": "wfe_plugin.cli.preprocess",
    "wfe-train": "wfe_plugin.cli.train",
    "wfe-generate": "wfe_plugin.cli.generate",
    "wfe-treat": "wfe_plugin.cli.treat",
    "wfe-evaluate": "wfe_plugin.cli.evaluate",
    "wfe-experiment": "wfe_plugin.cli.experiment",
    "wfe-frequencies": "wfe_plugin.cli.frequencies",
}
FAIRSEQ = ["fairseq-train", "fairseq-generate", "fairseq-interactive", "fairseq-validate"]
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


def text_cases(w: World):
    good = w.bad / "good"
    for kind in [*TEXT, "directory"]:
        path = w.bad / kind
        user = kind == "unreadable"
        fault = None if kind in ACCEPTED else str(path)
        # wfe-preprocess: each place that takes a file
        sides = {"source": (path, good), "target": (good, path)}
        for place in ("train", "valid", "test"):
            for side, files in sides.items():
                sets = {"train": (good, good), "valid": (good, good), place: files}
                arguments = [word for name, pair in sets.items() for word in (f"--{name}-files", *pair)]
                out = w.open / "new"
                dropped = place == "train" and kind == "long"  # which is told
                told = None if dropped else fault
                yield Case(
                    "wfe-preprocess", f"{place} {side} {kind}", [*arguments, "--out", out], told, out=out, as_user=user
                )
        # wfe-generate; blank lines have blank summaries, and any number of lines is right
        out = w.open / "new"
        told = None if kind in ("blank", "short") else fault
        arguments = ["--model", w.model, "--out", out, "--threads", 1, "--input"]
        yield Case("wfe-generate", f"input {kind}", [*arguments, path], told, out=out, as_user=user)
        told = None if kind in ("blank", "long") else fault
        yield Case(
            "wfe-generate", f"references {kind}", [*arguments, good, "--references", path], told, out=out, as_user=user
        )
        # wfe-evaluate
        arguments = ["--protocol", "gigaword", "--rouge", "python", "--json", out]
        for references, hypotheses in ((path, good), (good, path)):
            files = ["--references", references, "--hypotheses", hypotheses]
            yield Case(
                "wfe-evaluate",
                f"{references.name} {hypotheses.name}",
                [*arguments, *files],
                told,
                out=out,
                as_user=user,
            )
        if TEXT.get(kind) is not None and not user:
            wrong = kind in ("latin-1", "utf-16", "NUL", "long")
            yield Case("wfe-treat", f"stdin {kind}", ["apply", w.data], "<stdin>" if wrong else None, stdin=TEXT[kind])
        # wfe-experiment; what is right goes on to trainings, which are no business of this
        if fault:
            config = w.folder / f"text-{kind}.ini"
            config.write_text(
                f"[experiment]\nout = open/new\n[data]\ntrain = {good} {good}\nvalid = {good} {path}\ntest = {good} {good}\n"
            )
            yield Case("wfe-experiment", f"valid {kind}", [config], fault, out=out, as_user=user)


def checkpoint_cases(w: World):
    damaged = {"cut": "damaged", "empty": "damaged", "text": "damaged", "list": "no model of fairseq", "bare": "no model of fairseq",
               "no-cfg": "no model of fairseq", "hostile": "would call", "hostile-state": "would call", "hostile-old": "would call",
               "hostile-options": "without running code", "missing": "no such", "directory": ""}  # fmt: skip
    out = w.open / "new"
    for kind, message in {**damaged, "diverged": "not finite"}.items():
        path = w.folder / f"{kind}.pt"
        yield Case(
            "wfe-generate",
            f"model {kind}",
            ["--model", path, "--data", w.data, "--out", out, "--threads", 1],
            message,
            out=out,
        )
        yield Case(
            "wfe-frequencies", f"model {kind}", ["--model", path, "--data", w.data, "--json", out], message, out=out
        )
        if kind not in ("diverged", "hostile-options"):  # which do not matter to it
            arguments = options(w.data, out, "--add-wfe", path, "--epochs", "1", preset="small")
            told = "empty" if kind == "empty" else message
            yield Case(
                "wfe-train", f"--add-wfe {kind}", [*arguments, "--", "--cpu", *TINY], told, out=out / "checkpoint1.pt"
            )
        for command in FAIRSEQ[1:] if kind not in ("missing", "directory") else ():
            arguments = [w.data, *TASK, "--path", path, "--cpu"]
            more = ["--max-len-b", 9] if command != "fairseq-validate" else ["--batch-size", 4]
            yield Case(command, f"path {kind}", [*arguments, *more], message, stdin=b"a b\n")
        if kind in ("cut", "empty", "text", "hostile", "hostile-state", "hostile-old", "list"):
            for option in ("--restore-file", "--finetune-from-model"):
                arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, option, path]
                yield Case("fairseq-train", f"{option} {kind}", arguments, message if kind != "list" else "", out=out)
    for kind in ("cut", "hostile", "text"):
        yield from resumed(w, kind, damaged[kind])
    yield from estimate_cases(w)


def estimate_cases(w: World):
    """Models with an estimate, and without."""
    out = w.open / "new"
    for command, decode in {
        "wfe-generate": "--decoding",
        "fairseq-generate": "--wfe-decoding",
        "fairseq-interactive": "--wfe-decoding",
    }.items():
        for kind, paths in {
            "no head": ["no-head.pt"],
            "mixed": ["good.pt", "no-head.pt"],
            "mixed, turned": ["no-head.pt", "good.pt"],
        }.items():
            path = ":".join(str(w.folder / name) for name in paths)
            if command == "wfe-generate":
                arguments = ["--model", path, "--data", w.data, "--out", out]
            else:
                arguments = [w.data, *TASK, "--path", path, "--cpu"]
            yield Case(
                command,
                f"{kind} {decode} full",
                [*arguments, decode, "full"],
                "word-frequency estimate",
                out=out,
                stdin=b"a b\n",
            )
    yield Case(
        "wfe-frequencies", "no head", ["--model", w.folder / "no-head.pt", "--data", w.data], "estimates no frequencies"
    )
    transformer = w.folder / "transformer.pt"
    yield Case("wfe-generate", "a Transformer", ["--model", transformer, "--out", out, "--threads", 1], None)
    yield Case(
        "wfe-generate",
        "a Transformer, full",
        ["--model", transformer, "--out", out, "--decoding", "full"],
        "word-frequency estimate",
    )
    yield Case(
        "wfe-frequencies", "a Transformer", ["--model", transformer, "--data", w.data], "estimates no frequencies"
    )
    arguments = options(w.data, out, "--add-wfe", transformer, "--epochs", "1", preset="small")
    yield Case(
        "wfe-train", "--add-wfe to a Transformer", [*arguments, "--", "--cpu", *TINY], "", out=out / "checkpoint1.pt"
    )
    for path in (w.folder / "good.pt", w.model):
        yield Case(
            "wfe-train",
            "--add-wfe to WFE",
            [*options(w.data, out, "--add-wfe", path, preset="small"), "--", "--cpu", *TINY],
            "already",
            out=out,
        )


def resumed(w: World, kind: str, message: str):
    """A training whose model was damaged meanwhile."""
    out = w.folder / f"resumed-{kind}"
    arguments = [*options(w.data, out, preset="small"), "--", "--cpu", *TINY]

    def before():
        record = planned(train.parse(arguments)).record
        (make(out) / RECORD).write_text(json.dumps(record))
        shutil.copy(w.folder / f"{kind}.pt", out / "checkpoint1.pt")

    yield Case("wfe-train", f"resumed {kind}", arguments, message, before=before)


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
    # Which sets a command looks at.
    needed = {"wfe-train": ("train", "valid")}
    for kind, message in kinds.items():
        data = w.folder / kind
        treatment = "treatment" in kind
        dictionary = kind.startswith(("dictionary", "without-dict", "other", "nowhere", "file", "empty-directory"))

        def wants(command, kind=kind, treatment=treatment, dictionary=dictionary):
            if treatment:
                return command in ("wfe-train", "wfe-generate") or command == "wfe-experiment"
            return dictionary or any(f"-{split}." in kind for split in needed.get(command, ("test",)))

        calls = {
            "wfe-train": [*options(data, out, "--epochs", "1", preset="small"), "--", "--cpu", *TINY],
            "wfe-generate": ["--model", w.model, "--data", data, "--out", out, "--threads", 1],
            "wfe-frequencies": ["--model", w.model, "--data", data, "--json", out],
            "fairseq-generate": [data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9],
        }
        for command, arguments in calls.items():
            if kind == "other" and command == "wfe-train":
                continue  # all is well
            if command == "fairseq-generate" and kind != "other":
                continue  # fairseq's own words
            if wants(command):
                told = "words" if kind == "other" and command.startswith("fairseq") else message
                result = out / "checkpoint1.pt" if "train" in command else out
                yield Case(command, f"data {kind}", arguments, told, out=result, stdin=b"a b\n")
        if wants("wfe-experiment"):
            config = w.folder / f"data-{kind}.ini"
            config.write_text(
                f"[experiment]\nout = open/new\ntraining options = --epochs 1 -- --cpu\n[data]\nprepared = {data}\n"
            )
            if kind != "other":
                told = message
                yield Case("wfe-experiment", f"prepared {kind}", [config], told, out=out / "report.md")


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
            "wfe-preprocess": [*text, "--out", out],
            "wfe-train": [*options(w.data, out, "--epochs", "1", preset="small"), "--", "--cpu", *TINY],
            "wfe-generate": ["--model", w.model, "--out", out, "--threads", 1],
            "wfe-evaluate": ["--protocol", "gigaword", "--rouge", "python", "--json", out, *references],
            "wfe-frequencies": ["--model", w.model, "--data", w.data, "--json", out],
            "wfe-experiment": [config],
        }
        for command, arguments in calls.items():
            # A training that has no epoch yet leaves its settings.
            result = out / "checkpoint1.pt" if command == "wfe-train" else out
            told = "not writable" if command == "wfe-generate" and kind == "read-only" else said
            yield Case(command, f"output {kind}", arguments, told, out=result, before=lambda: fill(w.full))
    for command, arguments in calls.items():
        out = w.file if command not in ("wfe-evaluate", "wfe-frequencies") else w.data
        arguments = [
            out if word == place / "out" else str(out) if word == str(place / "out") else word for word in arguments
        ]
        if command != "wfe-experiment":
            yield Case(command, f"output is a {'file' if out == w.file else 'directory'}", arguments, out.name)


def fill(disk: Path) -> None:
    """Leave next to no room on it, whatever the case before has left there."""
    clear(disk / "out")
    with suppress(OSError), open(disk / "filler", "wb") as file:
        file.write(b"x" * 2**13)
