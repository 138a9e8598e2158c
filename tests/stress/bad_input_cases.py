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

from bad_input_world import ACCEPTED, TEXT, World, clear, make  # noqa: E402
from helpers.bad_world import PLUGIN, TASK  # noqa: E402
from helpers.tiny_training import TINY, options  # noqa: E402
from wfe_plugin.cli import train
from wfe_plugin.pipeline.record import RECORD  # noqa: E402
from wfe_plugin.pipeline.train import planned  # noqa: E402

MODULES = {
    "preprocess.sh": "wfe_plugin.pipeline.preprocess",
    "train.sh": "wfe_plugin.cli.train",
    "generate.sh": "wfe_plugin.pipeline.generate",
    "treat": "wfe_plugin.pipeline.treat",
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
        # preprocess.sh: each place that takes a file
        sides = {"source": (path, good), "target": (good, path)}
        for place in ("train", "valid", "test"):
            for side, files in sides.items():
                sets = {"train": (good, good), "valid": (good, good), place: files}
                arguments = [word for name, pair in sets.items() for word in (f"--{name}-files", *pair)]
                out = w.open / "new"
                dropped = place == "train" and kind == "long"  # which is told
                told = None if dropped else fault
                yield Case(
                    "preprocess.sh", f"{place} {side} {kind}", [*arguments, "--out", out], told, out=out, as_user=user
                )
        # generate.sh; blank lines have blank summaries, and any number of lines is right
        out = w.open / "new"
        told = None if kind in ("blank", "short") else fault
        arguments = ["--model", w.model, "--out", out, "--threads", 1, "--input"]
        yield Case("generate.sh", f"input {kind}", [*arguments, path], told, out=out, as_user=user)
        told = None if kind in ("blank", "long") else fault
        yield Case(
            "generate.sh", f"references {kind}", [*arguments, good, "--references", path], told, out=out, as_user=user
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
            config.write_text(
                f"[experiment]\nout = open/new\n[data]\ntrain = {good} {good}\nvalid = {good} {path}\ntest = {good} {good}\n"
            )
            yield Case("wfe-experiment", f"valid {kind}", [config], fault, out=out, as_user=user)


def checkpoint_cases(w: World):
    damaged = {"cut": "damaged", "empty": "damaged", "text": "damaged", "list": "no model of fairseq", "bare": "no model of fairseq",
               "no-cfg": "no model of fairseq", "hostile": "would call", "hostile-state": "would call", "hostile-old": "would call",
               "hostile-options": "without running code", "missing": "no such", "directory": "", "unknown-arch": "no model that can be used"}  # fmt: skip
    out = w.open / "new"
    for kind, message in {**damaged, "diverged": "not finite"}.items():
        path = w.folder / f"{kind}.pt"
        yield Case(
            "generate.sh",
            f"model {kind}",
            ["--model", path, "--data", w.data, "--out", out, "--threads", 1],
            message,
            out=out,
        )
        yield Case(
            "wfe-frequencies", f"model {kind}", ["--model", path, "--data", w.data, "--json", out], message, out=out
        )
        if kind not in ("diverged", "unknown-arch", "hostile-options"):  # which do not matter to it
            arguments = options(w.data, out, "--add-wfe", path, "--epochs", "1", preset="small")
            told = "empty" if kind == "empty" else message
            yield Case(
                "train.sh", f"--add-wfe {kind}", [*arguments, "--", "--cpu", *TINY], told, out=out / "checkpoint1.pt"
            )
        told = {"missing": "not found", "no-cfg": "", "bare": "", "list": ""}.get(kind, message)
        for command in FAIRSEQ[1:]:
            arguments = [w.data, *TASK, "--path", path, "--cpu"]
            more = ["--max-len-b", 9] if command != "fairseq-validate" else ["--batch-size", 4]
            yield Case(command, f"path {kind}", [*arguments, *more], told, stdin=b"a b\n")
        if kind in ("cut", "empty", "text", "hostile", "hostile-state", "hostile-old", "list"):
            for option in ("--restore-file", "--finetune-from-model"):
                arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, option, path]
                yield Case("fairseq-train", f"{option} {kind}", arguments, message if kind != "list" else "", out=out)
    for command, decode in {
        "generate.sh": "--decoding",
        "fairseq-generate": "--wfe-decoding",
        "fairseq-interactive": "--wfe-decoding",
    }.items():
        for kind, paths in {
            "no head": ["no-head.pt"],
            "mixed": ["good.pt", "no-head.pt"],
            "mixed, turned": ["no-head.pt", "good.pt"],
        }.items():
            path = ":".join(str(w.folder / name) for name in paths)
            if command == "generate.sh":
                arguments = ["--model", path, "--data", w.data, "--out", out]
            else:
                arguments = [w.data, *TASK, "--path", path, "--cpu"]
            yield Case(
                command, f"{kind} {decode} full", [*arguments, decode, "full"], f"{decode} off", out=out, stdin=b"a b\n"
            )
    yield Case(
        "wfe-frequencies", "no head", ["--model", w.folder / "no-head.pt", "--data", w.data], "estimates no frequencies"
    )
    unknown = ["--path", w.folder / "unknown-task.pt", "--cpu", "--batch-size", 4]
    yield Case("fairseq-validate", "path unknown-task", [w.data, *TASK, *unknown], "none_such")
    yield Case("wfe-frequencies", "model unknown-task", ["--model", unknown[1], "--data", w.data], "none_such")
    transformer = w.folder / "transformer.pt"
    yield Case("generate.sh", "a Transformer", ["--model", transformer, "--out", out, "--threads", 1], None)
    yield Case(
        "generate.sh",
        "a Transformer, full",
        ["--model", transformer, "--out", out, "--decoding", "full"],
        "estimates no",
    )
    yield Case(
        "wfe-frequencies", "a Transformer", ["--model", transformer, "--data", w.data], "estimates no frequencies"
    )
    arguments = options(w.data, out, "--add-wfe", transformer, "--epochs", "1", preset="small")
    yield Case(
        "train.sh", "--add-wfe to a Transformer", [*arguments, "--", "--cpu", *TINY], "", out=out / "checkpoint1.pt"
    )
    for path in (w.folder / "good.pt", w.model):
        yield Case(
            "train.sh",
            "--add-wfe to WFE",
            [*options(w.data, out, "--add-wfe", path, preset="small"), "--", "--cpu", *TINY],
            "already",
            out=out,
        )
    for kind in ("cut", "hostile", "text"):
        yield from resumed(w, kind, damaged[kind])


def resumed(w: World, kind: str, message: str):
    """A training whose model was damaged meanwhile."""
    out = w.folder / f"resumed-{kind}"
    arguments = [*options(w.data, out, preset="small"), "--", "--cpu", *TINY]

    def before():
        record = planned(train.parse(arguments)).record
        (make(out) / RECORD).write_text(json.dumps(record))
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
    # Which sets a command looks at; without a target, fairseq-generate summarizes all the same.
    needed = {"train.sh": ("train", "valid"), "fairseq-train": ("train", "valid"), "fairseq-validate": ("valid",)}
    for kind, message in kinds.items():
        data = w.folder / kind
        treatment = "treatment" in kind
        dictionary = kind.startswith(("dictionary", "without-dict", "other", "nowhere", "file", "empty-directory"))

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
                told = "words" if kind == "other" and command.startswith("fairseq") else message
                told = "no summaries" if kind.endswith("target.idx") and not command.endswith(".sh") else told
                told = "words" if kind == "dictionary-empty" and command.startswith("fairseq") else told
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
        ("--encoder-layers", "-1"), ("--encoder-ffn-embed-dim", "0"), ("--encoder-layerdrop", "2"),
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
    (["--arch", "ras_elman_small", "--kernel-size", "10000001"], "not enough memory"),
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
                arguments = [
                    *options(w.data, out, "--epochs", "1", preset="small"),
                    "--",
                    "--cpu",
                    *TINY,
                    f"{option}={value}",
                ]
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
        yield Case(
            "fairseq-train",
            f"unlikelihood {value}",
            [*arguments, f"--unlikelihood-weight={value}"],
            "--unlikelihood-weight",
            out=out,
        )
    for option, values in DECODING_VALUES.items():
        for value in values:
            said = option if option != "--none-such" else "unrecognized arguments: --none-such"
            more = (
                ["--sampling", "--nbest", 5]
                if "sampling" in option
                else ["--no-repeat-ngram-size", 2]
                if "ignore" in option
                else []
            )
            arguments = [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu"]
            if option != "--max-len-b":
                arguments += ["--max-len-b", 9]
            for command in ("fairseq-generate", "fairseq-interactive"):
                if command == "fairseq-interactive" and option == "--prefix-size":
                    continue  # which has no references to take prefixes from
                yield Case(command, f"{option} {value}", [*arguments, *more, f"{option}={value}"], said, stdin=b"a b\n")
            if option not in ("--beam", "--nbest", "--wfe-decoding") and value in ("-1", "0", "none_such", "1", "nan"):
                arguments = [
                    "--model",
                    w.model,
                    "--out",
                    out,
                    "--threads",
                    1,
                    "--",
                    "--cpu",
                    *more,
                    f"{option}={value}",
                ]
                yield Case("generate.sh", f"{option} {value}", arguments, said, out=out)
    for option, value in {"--beam": "0", "--nbest": "9", "--decoding": "x", "--threads": "0", "--none-such": "1", "--split": "none_such",
                          "--protocol": "x", "--time-only": "0"}.items():  # fmt: skip
        yield Case(
            "generate.sh",
            f"{option} {value}",
            ["--model", w.model, "--out", out, option, value],
            value if option == "--split" else option,
            out=out,
        )
    for option, value in {"--epochs": "0", "--patience": "-1", "--seed": "-1", "--threads": "x", "--gpus": "0", "--gpus 2": None, "--machine": "2",
                          "--estimator": "x", "--preset": "x", "--best-by": "x", "--none-such": "1", "--add-wfe": "nowhere"}.items():  # fmt: skip
        words = option.split() if value is None else [option, value]
        yield Case("train.sh", f"{option} {value}", [*options(w.data, out, preset="small"), *words], option, out=out)
    files = ["--train", w.train, "--valid", w.valid, "--out", out]
    for option, value in {
        "--merges": "0",
        "--workers": "0",
        "--bpe": "x",
        "--none-such": "1",
        "--train": "nowhere",
    }.items():
        yield Case(
            "preprocess.sh",
            f"{option} {value}",
            [*files, option, value],
            "nowhere" if option == "--train" else option,
            out=out,
        )
    for name, words, said in (("no options", [], "required"), ("unknown", ["--none-such"], "error: ")):
        for command in (*MODULES, *FAIRSEQ):
            known = {"treat": ["apply", w.data], "wfe-experiment": ["config.ini"], "wfe-frequencies": ["--model", "x", "--data", "x"],
                     "wfe-evaluate": ["--references", "x", "--hypotheses", "x"]}.get(command, []) if words else []  # fmt: skip
            if command.startswith("fairseq"):
                known = (
                    [w.data, *TASK, *(TRAINING if command == "fairseq-train" else ["--path", w.folder / "good.pt"])]
                    if words
                    else ["--user-dir", PLUGIN]
                )
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
            "fairseq-generate": [
                w.data,
                *TASK,
                "--path",
                w.folder / "good.pt",
                "--cpu",
                "--max-len-b",
                9,
                "--results-path",
                out,
            ],
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
