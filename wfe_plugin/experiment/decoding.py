"""Summaries of a set by one system, and what they are worth."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wfe_plugin.experiment.commands import Command, as_text, cores, last_output, run_all, threads_each
from wfe_plugin.experiment.config import System, TestSet, Training
from wfe_plugin.experiment.measure import FACTS, evaluate, read_references
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.steps import Step, fingerprint
from wfe_plugin.experiment.versions import versions
from wfe_plugin.pipeline.generate import SUMMARIES

# What fairseq-generate says of the search alone, without loading and scoring.
TRANSLATED = re.compile(r"Translated ([\d,]+) sentences .* in ([\d.]+)s \(([\d.]+) sentences/s")


@dataclass(frozen=True)
class Decoding:
    """One system, seed and beam on one set; the folder is for what comes out."""

    system: System
    seed: int
    beam: int
    test: TestSet
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.system.name}, beam {self.beam}, seed {self.seed}, {self.test.name}"


@dataclass(frozen=True)
class Decoder:
    """Decodes with generate.sh, and evaluates; what is done already is skipped.

    Args:
        script: generate.sh
        data: directory that preprocess.sh made
        model: where the model of a training and a seed is
        identity: what changes when that model is trained anew
        at_once: how many decodings share the cores
    """

    script: Path
    data: Path
    model: Callable[[Training, int], Path]
    identity: Callable[[Training, int], str]
    at_once: int

    def step(self, decoding: Decoding) -> Step:
        system = decoding.system
        return Step(
            decoding.name,
            decoding.folder / "record.json",
            {
                "model": self.identity(system.training, decoding.seed),
                "split": decoding.test.split,
                "beam": decoding.beam,
                "decoding": system.decoding,
                "options": list(system.options),
            },
        )

    def command(self, system: System, seed: int, beam: int, split: str, *further: str) -> list[str]:
        command = [str(self.script), "--model", str(self.model(system.training, seed))]
        command += ["--data", str(self.data), "--split", split, "--beam", str(beam)]
        return [*command, "--decoding", system.decoding, *further, *system.options]

    def is_decoded(self, decoding: Decoding) -> bool:
        """Whether the summaries are there, as generate.sh wrote them."""
        step = self.step(decoding)
        if not step.is_finished():
            return False
        summaries = decoding.folder / SUMMARIES
        # Older records do not tell of the file's content.
        if summaries.is_file() and step.stored().get("summaries") in (None, fingerprint(summaries)):
            return True
        say(f"{step.name}: {summaries} {'has changed' if summaries.is_file() else 'is gone'}; decoded again")
        return False

    def decode(self, decodings: Sequence[Decoding], purpose: str) -> None:
        pending = [decoding for decoding in decodings if not self.is_decoded(decoding)]
        say(f"{purpose}: {len(pending)} to do" if pending else f"{purpose}: all done")
        threads = threads_each(self.at_once, len(pending))
        commands, decoded = [], {}
        for decoding in pending:
            final = decoding.folder
            work = final.with_name(f".{final.name}.unfinished")
            shutil.rmtree(work, ignore_errors=True)
            case = decoding.system, decoding.seed, decoding.beam, decoding.test.split, "--threads", str(threads)
            command = Command(
                f"decoding of {decoding.name}", self.command(*case, "--out", str(work)), work / "generate.log"
            )
            commands.append(command)
            decoded[command.name] = decoding, work, as_text(self.command(*case, "--out", str(final)))

        def finished(command: Command, seconds: float) -> None:
            decoding, work, text = decoded[command.name]
            step = self.step(decoding)
            record = Step(step.name, work / "record.json", step.description)
            record.finish(command=text, versions=versions(), summaries=fingerprint(work / SUMMARIES))
            shutil.rmtree(decoding.folder, ignore_errors=True)
            work.rename(decoding.folder)
            say(f"{step.name}: decoded")

        run_all(commands, self.at_once, finished)

    def evaluation_step(self, decoding: Decoding, references: str) -> Step:
        return Step(
            f"evaluation of {decoding.name}",
            decoding.folder / "evaluation.json",
            {
                "decoding": self.step(decoding).identity(),
                "references": references,
                "protocol": decoding.test.protocol,
            },
            FACTS,
        )

    def evaluate(self, decodings: Sequence[Decoding], purpose: str) -> None:
        references = {test: read_references(test, self.data) for test in {one.test for one in decodings}}
        identity = {test: fingerprint(texts) for test, texts in references.items()}
        steps = [(decoding, self.evaluation_step(decoding, identity[decoding.test])) for decoding in decodings]
        pending = [(decoding, step) for decoding, step in steps if not step.is_finished()]
        say(f"{purpose}: {len(pending)} to do" if pending else f"{purpose}: all done")

        def do(decoding: Decoding, step: Step) -> None:
            test = decoding.test
            step.finish(**evaluate(decoding.folder / SUMMARIES, references[test], test.protocol))

        # Threads are enough, since ROUGE's work is done by Perl.
        with ThreadPoolExecutor(cores()) as pool:
            for done in [pool.submit(do, *item) for item in pending]:
                done.result()


def search_time(log: Path) -> tuple[int | None, float | None]:
    """How many sentences the last command of a log searched for, and in how many seconds, if it tells."""
    found = TRANSLATED.findall(last_output(log))
    if not found:
        return None, None
    sentences, seconds, rate = (float(number.replace(",", "")) for number in found[-1])
    # The rate has more digits, unless the search is slow.
    return int(sentences), round(sentences / rate, 3) if rate >= 1 else seconds
