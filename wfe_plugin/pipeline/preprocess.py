"""Text pairs to binarised fairseq data: what preprocess.sh runs."""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from subword_nmt.learn_bpe import learn_bpe

from wfe_plugin import standard_streams
from wfe_plugin.pipeline.child import failure
from wfe_plugin.pipeline.data_directory import already_done, put_in_place, settle
from wfe_plugin.pipeline.errors import told
from wfe_plugin.pipeline.text import MAX_CHARACTERS, TextError, read_pairs, refuse_pipe, sha256
from wfe_plugin.pipeline.treat import (
    SETTINGS_FILE,
    SIDES,
    UNKNOWN,
    Settings,
    Treatment,
    codes_file,
    load_segmenters,
    pieces_file,
)
from wfe_plugin.pipeline.work_directory import resolved, work_directory
from wfe_plugin.whole_files import named

CHUNK = 1000  # line pairs that a worker treats at a time

EPILOG = f"""\
examples:
  preprocess.sh --train data/train --valid data/valid --test data/test --out prepared \\
                --tokenize --lowercase --bpe joint --merges 8000
  preprocess.sh --train-files train.article.txt train.title.txt \\
                --valid-files valid.article.filter.txt valid.title.filter.txt \\
                --test-files input.txt task1_ref0.txt --out gigaword --gigaword \\
                --source-threshold 5 --target-threshold 5 -- --dataset-impl mmap

What comes out: fairseq data with the languages "source" and "target" (several test sets are
called test, test1, test2, ...), the BPE codes, {SETTINGS_FILE} with everything that was done,
and text/ with the validation and test text as a perfect output would look: compare summaries
with text/test.target. The same treatment for new text, and the way back:
  python -m wfe_plugin.pipeline.treat --help

Training pairs with an empty or over-long side are dropped and reported. Pairs of the validation
and test sets are only reported, so that line N of the output stays line N of the input.
Windows line ends and byte-order marks are accepted. Nothing appears under --out before
everything has succeeded.
"""


class Pairs(NamedTuple):
    """One set of text pairs: its fairseq name and its two files."""

    name: str
    source: str
    target: str


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and those after "--", which belong to fairseq-preprocess."""
    extra = []
    if "--" in argv:
        cut = argv.index("--")
        argv, extra = argv[:cut], argv[cut + 1 :]
    parser = argparse.ArgumentParser(
        prog="preprocess.sh",
        usage="%(prog)s --train PREFIX --valid PREFIX [--test PREFIX ...] --out DIR [options] [-- fairseq options]",
        description="Prepare text pairs, one text a line, for training and generation with fairseq.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    files = parser.add_argument_group("text")
    for name, several in (("train", None), ("valid", None), ("test", "+")):
        files.add_argument(
            f"--{name}",
            metavar="PREFIX",
            nargs=several,
            default=[] if several else None,
            help=f"{name} set{'s' if several else ''}: PREFIX.article and PREFIX.title",
        )
        files.add_argument(
            f"--{name}-files",
            metavar=("SOURCE", "TARGET"),
            nargs=2,
            action="append",
            default=[],
            help="the same with any two file names" + ("; can be repeated" if several else ""),
        )
    files.add_argument("--source-suffix", default="article", metavar="S", help="default: %(default)s")
    files.add_argument("--target-suffix", default="title", metavar="S", help="default: %(default)s")
    files.add_argument("--out", required=True, metavar="DIR", help="directory to make")

    treatment = parser.add_argument_group("treatment (default: the text is taken as tokenised and left as it is)")
    treatment.add_argument("--tokenize", action="store_true", help="tokenise raw text (sacremoses, English)")
    treatment.add_argument("--lowercase", action="store_true", help="lower-case")
    treatment.add_argument("--digits", action="store_true", help="each digit becomes #")
    treatment.add_argument(
        "--gigaword",
        action="store_true",
        help="Gigaword conventions: --lowercase --digits, and the word UNK becomes <unk>; "
        "with --tokenize if the text is raw",
    )
    treatment.add_argument(
        "--bpe",
        choices=("none", "joint", "separate"),
        default="none",
        help="learn BPE on the training text, for both sides together or each by itself (default: none)",
    )
    treatment.add_argument("--merges", type=_positive, metavar="N", help="BPE merges (default: 8000)")

    vocabulary = parser.add_argument_group("vocabulary and length")
    for side in SIDES:
        vocabulary.add_argument(
            f"--{side}-threshold",
            type=_positive,
            default=1,
            metavar="N",
            help=f"{side} words (or BPE pieces) with fewer than N occurrences are unknown (default: 1)",
        )
        vocabulary.add_argument(
            f"--{side}-vocab-size", type=_positive, metavar="N", help=f"keep the N most frequent {side} words"
        )
    for side in SIDES:
        vocabulary.add_argument(
            f"--max-{side}-length",
            type=_positive,
            default=1024,
            metavar="N",
            help=f"longest {side} text, in words or BPE pieces (default: %(default)s)",
        )

    running = parser.add_argument_group("running")
    running.add_argument("--workers", type=_positive, default=1, metavar="N", help="parallel processes (default: 1)")
    running.add_argument("--overwrite", action="store_true", help="make DIR anew even if it is there already")
    args = parser.parse_args(argv)

    for name in ("train", "valid"):
        if bool(getattr(args, name)) + len(getattr(args, f"{name}_files")) != 1:
            parser.error(f"exactly one of --{name} and --{name}-files is needed, once")
    if args.merges and args.bpe == "none":
        parser.error("--merges needs --bpe joint or --bpe separate")
    return args, extra


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_positive.__name__ = "positive number"  # what argparse calls it in its message


def list_sets(args: argparse.Namespace) -> list[Pairs]:
    """All sets of pairs, under the names that fairseq gives them."""
    sets = []
    for name, prefixes in (("train", [args.train]), ("valid", [args.valid]), ("test", args.test)):
        files = [(f"{prefix}.{args.source_suffix}", f"{prefix}.{args.target_suffix}") for prefix in prefixes if prefix]
        for number, (source, target) in enumerate(files + getattr(args, f"{name}_files")):
            sets.append(Pairs(f"{name}{number or ''}", source, target))
    return sets


def describe(args: argparse.Namespace, extra: list[str], sets: list[Pairs]) -> dict:
    """All that determines the result; equal descriptions mean that there is nothing to do."""
    settings = Settings(
        tokenize=args.tokenize,
        unk=args.gigaword,
        lowercase=args.lowercase or args.gigaword,
        digits=args.digits or args.gigaword,
        bpe=args.bpe,
        merges=0 if args.bpe == "none" else args.merges or 8000,
    )
    return {
        "settings": {
            **asdict(settings),
            **{
                f"{side}_{key}": value
                for side in SIDES
                for key, value in (
                    ("threshold", getattr(args, f"{side}_threshold")),
                    ("vocab_size", getattr(args, f"{side}_vocab_size")),
                    ("max_length", getattr(args, f"max_{side}_length")),
                )
            },
            "fairseq_options": extra,
        },
        "text": {
            f"{pairs.name}.{side}": sha256(path)
            for pairs in sets
            for side, path in zip(SIDES, (pairs.source, pairs.target))
        },
    }


# Each worker process builds its tools once, here, instead of receiving them with every chunk.
_treatment: Treatment


def _start_worker(*setup) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # cleaning up is the parent's business
    _load_tools(*setup)


def _load_tools(settings: Settings, directory: str, stage: str) -> None:
    global _treatment
    segmenters = {} if stage == "normalize" else load_segmenters(Path(directory), settings, pieces=stage == "new")
    _treatment = Treatment(settings, segmenters)


def _normalize(chunk: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(_treatment.normalize(source), _treatment.normalize(target)) for source, target in chunk]


def _segment(chunk: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(_treatment.segment(source, "source"), _treatment.segment(target, "target")) for source, target in chunk]


def _chunks(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


class Preparation:
    """The steps from text files to a complete data directory `data` below `work`."""

    def __init__(self, args: argparse.Namespace, sets: list[Pairs], description: dict, work: Path):
        self.args, self.sets, self.description, self.work = args, sets, description, work
        names = Settings.__dataclass_fields__
        self.settings = Settings(**{key: value for key, value in description["settings"].items() if key in names})
        self.data = work / "data"
        self.data.mkdir()
        self.report = {}

    def run(self, extra: list[str]) -> None:
        """All steps in turn."""
        with named(self.args.out):  # which people know, unlike the files below
            for pairs in self.sets:
                self.normalize(pairs)
            if self.settings.bpe != "none":
                self.learn()
            for pairs in self.sets:
                self.segment(pairs)
            self.binarize(extra)
            self.keep_plain_text()
            with open(self.data / SETTINGS_FILE, "w", encoding="utf-8") as file:
                json.dump({**self.description, "report": self.report}, file, indent=2)
                file.write("\n")

    def normalize(self, pairs: Pairs) -> None:
        """Tokenise and so on; every line keeps its place, dropped ones as blanks."""
        too_long = []

        def checked():
            for number, pair in enumerate(read_pairs(pairs.source, pairs.target), start=1):
                for path, line in zip((pairs.source, pairs.target), pair):
                    if len(line) > MAX_CHARACTERS:
                        if pairs.name != "train":
                            raise TextError(
                                f"{path}:{number}: {len(line)} characters; at most {MAX_CHARACTERS} are allowed"
                            )
                        too_long.append(number)
                        pair = ("", "")
                        break
                yield pair

        self.write(f"normal.{pairs.name}", self.treat(_normalize, "normalize", checked()))
        self.report[pairs.name] = {"lines": 0, "too_long": too_long, "empty": []}

    def learn(self) -> None:
        """Learn BPE from the normalised training text."""
        counts = {side: Counter() for side in SIDES}
        for source, target in self.read("normal.train"):
            counts["source"].update(source.split())
            counts["target"].update(target.split())
        if self.settings.bpe == "joint":
            counts = {"joint": counts["source"] + counts["target"]}
        for side, words in counts.items():
            say(f"learning {self.settings.merges} BPE merges ({side})")
            del words[UNKNOWN]
            # In order of frequency, then alphabet, so that equal text gives equal codes.
            lines = [f"{word} {count}" for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0]))]
            with open(codes_file(self.data, self.settings, side), "w", encoding="utf-8") as codes:
                with open(os.devnull, "w") as quiet:
                    stderr, sys.stderr = sys.stderr, quiet  # learn_bpe draws a progress bar
                    try:
                        learn_bpe(lines, codes, self.settings.merges, is_dict=True)
                    except ValueError:
                        raise TextError("too little training text to learn BPE from; use --bpe none") from None
                    finally:
                        sys.stderr = stderr

    def segment(self, pairs: Pairs) -> None:
        """Apply BPE; then drop (training) or report (other sets) empty and over-long pairs."""
        training = pairs.name == "train"
        report = self.report[pairs.name]
        beyond_reading = set(report["too_long"])
        pieces = {side: Counter() for side in SIDES}
        kept = 0

        def selected():
            nonlocal kept
            lines = self.treat(_segment, "train" if training else "new", self.read(f"normal.{pairs.name}"))
            for number, pair in enumerate(lines, start=1):
                report["lines"] = number
                words = [line.split() for line in pair]
                if number in beyond_reading:
                    continue
                if not all(words):
                    report["empty"].append(number)
                elif any(len(w) > getattr(self.args, f"max_{side}_length") for side, w in zip(SIDES, words)):
                    report["too_long"].append(number)
                else:
                    kept += 1
                    for side, w in zip(SIDES, words):
                        pieces[side].update(w)
                    yield pair
                    continue
                if not training:
                    yield pair

        self.write(f"ready.{pairs.name}", selected())
        report["too_long"].sort()
        tell(pairs, report, kept, pieces)
        if training and not kept:
            raise TextError(f"{pairs.source}: no training pair is left")
        if training and self.settings.bpe != "none":
            for side in SIDES:
                pieces_file(self.data, side).write_text("\n".join(sorted(pieces[side])) + "\n", encoding="utf-8")
        # The line numbers have been told; the settings file keeps the totals.
        self.report[pairs.name] = {
            "lines": report["lines"],
            "empty": len(report["empty"]),
            "too_long": len(report["too_long"]),
            **{f"{side}_words": sum(pieces[side].values()) for side in SIDES},
        }

    def binarize(self, extra: list[str]) -> None:
        """Hand over to fairseq-preprocess."""
        args = self.args
        prefixes = {
            kind: ",".join(str(self.work / f"ready.{pairs.name}") for pairs in self.sets if pairs.name.startswith(kind))
            for kind in ("train", "valid", "test")
        }
        command = [fairseq_preprocess(), "--source-lang", SIDES[0], "--target-lang", SIDES[1]]
        command += ["--destdir", str(self.data), "--workers", str(args.workers)]
        for kind, joined in prefixes.items():
            if joined:
                command += [f"--{kind}pref", joined]
        for side, short in zip(SIDES, ("src", "tgt")):
            command += [f"--threshold{short}", str(getattr(args, f"{side}_threshold"))]
            if getattr(args, f"{side}_vocab_size"):
                command += [f"--nwords{short}", str(getattr(args, f"{side}_vocab_size"))]
        say("binarising with fairseq-preprocess")
        done = subprocess.run(
            command + extra, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        )
        if done.returncode:
            raise TextError(failure("fairseq-preprocess", done.returncode, done.stdout))
        # What people want from its log: vocabulary sizes, and how much text is unknown.
        for message in dict.fromkeys(re.findall(r"\[\w+\] .*(?:types|replaced.*)", done.stdout)):
            say("  " + message.replace(f"{self.work}/ready.", ""))
        if not (self.data / f"dict.{SIDES[1]}.txt").exists():
            raise TextError("fairseq-preprocess wrote no vocabulary: do the options after -- move its output?")
        for side in SIDES:
            lines = (self.data / f"dict.{side}.txt").read_text(encoding="utf-8").splitlines()
            if all(line.startswith("madeupword") for line in lines):  # with which fairseq fills up
                raise TextError(f"no {side} word is frequent enough for the vocabulary: lower --{side}-threshold")

    def keep_plain_text(self) -> None:
        """Validation and test text in the shape of finished summaries, to compare them with."""
        treatment = Treatment(self.settings)
        (self.data / "text").mkdir()
        for pairs in self.sets:
            if pairs.name != "train":
                for side, lines in zip(SIDES, zip(*self.read(f"normal.{pairs.name}"))):
                    with open(self.data / "text" / f"{pairs.name}.{side}", "w", encoding="utf-8") as file:
                        file.writelines(treatment.undo(line) + "\n" for line in lines)

    def treat(self, function, stage: str, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Map `function` over chunks of pairs, in order, in worker processes if asked for."""
        setup = (self.settings, str(self.data), stage)
        if self.args.workers == 1:
            _load_tools(*setup)
            for chunk in _chunks(pairs):
                yield from function(chunk)
        else:
            # Workers must not inherit our handler of SIGTERM: it would make one that is ended in
            # its first moments clean up and wait instead of ending.
            handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                pool = get_context("fork").Pool(self.args.workers, _start_worker, setup)
            finally:
                signal.signal(signal.SIGTERM, handler)
            with pool:
                for chunk in pool.imap(function, _chunks(pairs)):
                    yield from chunk

    def read(self, name: str) -> Iterator[tuple[str, str]]:
        """Line pairs of an intermediate file. Only "\\n" ends a line here, as everywhere."""
        source, target = (open(self.work / f"{name}.{side}", encoding="utf-8", newline="\n") for side in SIDES)
        with source, target:
            for pair in zip(source, target):
                yield pair[0][:-1], pair[1][:-1]

    def write(self, name: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Write line pairs to an intermediate file."""
        source, target = (open(self.work / f"{name}.{side}", "w", encoding="utf-8", newline="\n") for side in SIDES)
        with source, target:
            for source_line, target_line in pairs:
                source.write(source_line + "\n")
                target.write(target_line + "\n")


def fairseq_preprocess() -> str:
    """The command of the Python that is running, else the one on the path."""
    beside = Path(sysconfig.get_path("scripts"), "fairseq-preprocess")
    command = str(beside) if beside.exists() else shutil.which("fairseq-preprocess")
    if not command:
        raise TextError("fairseq-preprocess not found: is fairseq installed for this Python?")
    return command


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"preprocess: {message}")


def tell(pairs: Pairs, report: dict, kept: int, pieces: dict) -> None:
    """One set's numbers, and which pairs were dropped or are odd."""
    means = ", ".join(f"{side} {sum(pieces[side].values()) / max(kept, 1):.1f}" for side in SIDES)
    say(f"{pairs.name}: {report['lines']} pairs read, {kept} usable; mean length {means}")
    fate = "dropped" if pairs.name == "train" else "kept, so that lines stay aligned"
    for key, problem in (("empty", "with an empty side"), ("too_long", "over-long")):
        numbers = report[key]
        if numbers:
            shown = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
            say(f"  {len(numbers)} {problem}, {fate}: line {shown} of {pairs.source}")


def run(argv: list[str]) -> None:
    """Parse, check whether anything is to do, and do it in a directory beside the final one."""
    args, extra = parse(argv)
    sets = list_sets(args)
    for pairs in sets:
        refuse_pipe(pairs.source)
        refuse_pipe(pairs.target)
    out = resolved(args.out)
    if "," in str(out):
        raise TextError(f"{out}: fairseq-preprocess takes the comma for a separator; please choose another --out")
    settle(out)
    description = describe(args, extra, sets)
    if already_done(out, description, args.overwrite):
        say(f"{args.out}: already there, from the same text and settings (--overwrite makes it anew)")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with work_directory(out.parent, f".{out.name}.unfinished-") as work:
        preparation = Preparation(args, sets, description, work)
        preparation.run(extra)
        # Another run may have been faster.
        if not already_done(out, description, args.overwrite):
            put_in_place(preparation.data, out, args.overwrite)
    say(f"done: {args.out}")


def main(argv=None) -> int:
    # A terminated run must clean up like an interrupted one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(sys.argv[1:] if argv is None else argv)
    except (TextError, OSError) as error:
        print(f"preprocess: error: {told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("preprocess: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
