"""From text pairs to binarised fairseq data, step by step."""

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
from contextlib import contextmanager, redirect_stderr
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Callable

from subword_nmt.learn_bpe import learn_bpe

import wfe_plugin
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.child import failure
from wfe_plugin.pipeline.inputs import read_pairs
from wfe_plugin.pipeline.preprocess_options import Pairs, PreprocessOptions
from wfe_plugin.pipeline.progress import Progress
from wfe_plugin.pipeline.text import MAX_CHARACTERS, open_text
from wfe_plugin.pipeline.treat import (
    SETTINGS_FILE,
    SIDES,
    UNKNOWN,
    Settings,
    Treatment,
    codes_file,
    load_segmenters,
    model_files,
    pieces_file,
)
from wfe_plugin.whole_files import named

CHUNK = 1000  # line pairs that a worker treats at a time


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
    """The steps from text files to a complete data directory `data` below `work`.

    Args:
        options: what to do
        description: what is noted beside the data
        work: an empty directory
        say: shows a line of progress
    """

    def __init__(self, options: PreprocessOptions, description: dict, work: Path, say: Callable[[str], None]):
        self.options, self.description, self.work, self.say = options, description, work, say
        self.sets, self.settings = options.sets(), options.settings
        self.data = work / "data"
        self.data.mkdir()
        self.report = {}

    def run(self) -> None:
        """All steps in turn."""
        with named(self.options.out):  # which people know, unlike the files below
            self.warn()
            for pairs in self.sets:
                self.normalize(pairs)
            if self.options.like:
                for path in model_files(Path(self.options.like), self.settings):
                    shutil.copyfile(path, self.data / path.name)
            elif self.settings.bpe != "none":
                self.learn()
            for pairs in self.sets:
                self.segment(pairs)
            if self.options.fairseq_options:
                self.binarize_by_fairseq()
            else:
                self.binarize()
            self.refuse_empty_vocabularies()
            self.keep_plain_text()
            with open(self.data / SETTINGS_FILE, "w", encoding="utf-8") as file:
                json.dump({**self.description, "report": self.report}, file, indent=2)
                file.write("\n")

    def warn(self) -> None:
        """Of what is likely a mistake."""
        digests = self.description["text"]
        for name in ("source", "target"):
            if digests.get(f"train.{name}", 0) == digests.get(f"valid.{name}", 1):
                self.say(f"warning: the validation set has the same {name} text as the training set")
        for pairs in self.sets:
            same = len(set(pairs.fields)) == 1 if pairs.fields else pairs.source == pairs.target
            if same or (not pairs.fields and digests[f"{pairs.name}.source"] == digests[f"{pairs.name}.target"]):
                self.say(f"warning: {pairs.name}: source and target are the same text")
        if self.settings.tokenize and self.sets:
            first = self.sets[0]
            lines = [source for source, _ in islice(read_pairs(first.source, first.target, first.fields), CHUNK)]
            if looks_tokenized(lines):
                self.say(f"warning: {first.source} looks tokenised already: leave out --tokenize")

    def normalize(self, pairs: Pairs) -> None:
        """Tokenise and so on; every line keeps its place, dropped ones as blanks."""
        too_long = []

        def checked(progress: Progress):
            for number, pair in enumerate(read_pairs(pairs.source, pairs.target, pairs.fields), start=1):
                progress(1)
                if any(len(line) > MAX_CHARACTERS for line in pair):
                    too_long.append(number)
                    cut = pair[0][:MAX_CHARACTERS], pair[1][:MAX_CHARACTERS]
                    pair = ("", "") if pairs.name == "train" else cut
                yield pair

        with Progress(lines_of(pairs.source), f"pairs of {pairs.name}", self.say) as progress:
            self.write(f"normal.{pairs.name}", self.treat(_normalize, "normalize", checked(progress)))
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
            self.say(f"learning {self.settings.merges} BPE merges ({side})")
            del words[UNKNOWN]
            # In order of frequency, then alphabet, so that equal text gives equal codes.
            lines = [f"{word} {count}" for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0]))]
            with open(codes_file(self.data, self.settings, side), "w", encoding="utf-8") as codes:
                try:
                    with bar_on_terminals():
                        learn_bpe(lines, codes, self.settings.merges, is_dict=True)
                except ValueError:
                    raise UserError("too little training text to learn BPE; use --bpe none") from None

    def segment(self, pairs: Pairs) -> None:
        """Apply BPE; then drop (training) or report (other sets) empty and over-long pairs."""
        training = pairs.name == "train"
        report = self.report[pairs.name]
        beyond_reading = set(report["too_long"])
        pieces = {side: Counter() for side in SIDES}
        kept = 0

        def selected():
            nonlocal kept
            stage = "train" if training and not self.options.like else "new"
            lines = self.treat(_segment, stage, self.read(f"normal.{pairs.name}"))
            for number, pair in enumerate(lines, start=1):
                report["lines"] = number
                words = [line.split() for line in pair]
                if training and number in beyond_reading:
                    continue
                if not all(words):
                    report["empty"].append(number)
                elif any(len(w) > getattr(self.options, f"max_{side}_length") for side, w in zip(SIDES, words)):
                    if number not in beyond_reading:
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
        self.tell(pairs, report, kept, pieces)
        if training and not kept:
            raise UserError(f"{pairs.source}: all training pairs were dropped")
        if training:
            self.words = pieces
        if training and self.settings.bpe != "none" and not self.options.like:
            for side in SIDES:
                pieces_file(self.data, side).write_text("\n".join(sorted(pieces[side])) + "\n", encoding="utf-8")
        # The line numbers have been told; the settings file keeps the totals.
        self.report[pairs.name] = {
            "lines": report["lines"],
            "empty": len(report["empty"]),
            "too_long": len(report["too_long"]),
            **{f"{side}_words": sum(pieces[side].values()) for side in SIDES},
        }

    def tell(self, pairs: Pairs, report: dict, kept: int, pieces: dict) -> None:
        """One set's numbers, and which pairs were dropped or are odd."""
        means = ", ".join(f"{side} {sum(pieces[side].values()) / max(kept, 1):.1f}" for side in SIDES)
        self.say(f"{pairs.name}: {report['lines']} pairs read, {kept} usable; mean length {means}")
        fate = "dropped" if pairs.name == "train" else "kept, so that lines stay aligned"
        for key, problem in (("empty", "with an empty side"), ("too_long", "over-long")):
            numbers = report[key]
            if numbers:
                shown = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
                self.say(f"  {len(numbers)} {problem}, {fate}: line {shown} of {pairs.source}")

    def binarize(self) -> None:
        """The dictionaries, and all sets as numbers."""
        wfe_plugin.register()  # which imports fairseq without its advice on packages
        from wfe_plugin.pipeline.binarize import Dictionary, binarize, dictionary_of

        self.say("binarising")
        for side in SIDES:
            path = str(self.data / f"dict.{side}.txt")
            if self.options.like:
                dictionary = Dictionary.load(path)
            else:
                threshold, size = (getattr(self.options, f"{side}_{name}") for name in ("threshold", "vocab_size"))
                dictionary = dictionary_of(self.words[side], threshold, size or -1)
                dictionary.save(path)
            self.say(f"  [{side}] Dictionary: {len(dictionary)} types")
            for pairs in self.sets:
                prefix = self.data / f"{pairs.name}.{'-'.join(SIDES)}.{side}"
                told = binarize(self.work / f"ready.{pairs.name}.{side}", dictionary, str(prefix))
                self.say(f"  [{side}] {pairs.name}: {told}")

    def binarize_by_fairseq(self) -> None:
        """Hand over to fairseq-preprocess, which knows the options that it was given."""
        options = self.options
        prefixes = {
            kind: ",".join(str(self.work / f"ready.{pairs.name}") for pairs in self.sets if pairs.name.startswith(kind))
            for kind in ("train", "valid", "test")
        }
        command = [fairseq_preprocess(), "--source-lang", SIDES[0], "--target-lang", SIDES[1]]
        command += ["--destdir", str(self.data), "--workers", str(options.workers)]
        for kind, joined in prefixes.items():
            if joined:
                command += [f"--{kind}pref", joined]
        for side, short in zip(SIDES, ("src", "tgt")):
            if options.like:
                command += [f"--{short}dict", str(self.data / f"dict.{side}.txt")]
                continue
            command += [f"--threshold{short}", str(getattr(options, f"{side}_threshold"))]
            if getattr(options, f"{side}_vocab_size"):
                command += [f"--nwords{short}", str(getattr(options, f"{side}_vocab_size"))]
        self.say("binarising with fairseq-preprocess")
        done = subprocess.run(
            [*command, *options.fairseq_options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode:
            raise UserError(failure("fairseq-preprocess", done.returncode, done.stdout))
        # What people want from its log: vocabulary sizes, and how much text is unknown.
        for message in dict.fromkeys(re.findall(r"\[\w+\] .*(?:types|replaced.*)", done.stdout)):
            self.say("  " + message.replace(f"{self.work}/ready.", ""))
        if not (self.data / f"dict.{SIDES[1]}.txt").exists():
            raise UserError("fairseq-preprocess wrote no vocabulary: do the options after -- move its output?")

    def refuse_empty_vocabularies(self) -> None:
        for side in SIDES:
            lines = (self.data / f"dict.{side}.txt").read_text(encoding="utf-8").splitlines()
            if all(line.startswith("madeupword") for line in lines):  # with which fairseq fills up
                raise UserError(f"no {side} word is frequent enough for the vocabulary: lower --{side}-threshold")

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
        if self.options.workers == 1:
            _load_tools(*setup)
            for chunk in _chunks(pairs):
                yield from function(chunk)
        else:
            # Workers must not inherit our handler of SIGTERM: it would make one that is ended in
            # its first moments clean up and wait instead of ending.
            handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                pool = get_context("fork").Pool(self.options.workers, _start_worker, setup)
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


def looks_tokenized(lines: Iterable[str]) -> bool:
    """Whether most punctuation is separated by blanks."""
    text = "\n".join(lines)
    apart, attached = re.findall(r" [.,;:?!](?=\s|$)", text), re.findall(r"\w[.,;:?!](?=\s|$)", text)
    return len(apart) > len(attached)


def lines_of(path: str) -> int:
    with open_text(path) as stream:
        return sum(1 for _ in stream)


@contextmanager
def bar_on_terminals() -> Iterator[None]:
    """learn_bpe draws a progress bar; elsewhere it would fill a log."""
    if sys.stderr is not None and sys.stderr.isatty():
        yield
        return
    with open(os.devnull, "w") as quiet, redirect_stderr(quiet):
        yield


def fairseq_preprocess() -> str:
    """The command of the Python that is running, else the one on the path."""
    beside = Path(sysconfig.get_path("scripts"), "fairseq-preprocess")
    command = str(beside) if beside.exists() else shutil.which("fairseq-preprocess")
    if not command:
        raise UserError("fairseq-preprocess not found: is fairseq installed for this Python?")
    return command
