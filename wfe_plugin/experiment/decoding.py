"""Summaries of a set by one system, and what is noted of them."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.experiment.commands import as_text
from wfe_plugin.experiment.measure import FACTS, Texts, evaluate, read_texts
from wfe_plugin.experiment.plan import System, TestSet, Training
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.steps import Step, fingerprint
from wfe_plugin.experiment.worker import SUMMARIES, write_summaries
from wfe_plugin.versions import versions


@dataclass(frozen=True)
class Decoding:
    """One system, seed and beam on one set; the folder is for what comes out."""

    system: System
    seed: int
    beam: int
    test: TestSet
    folder: Path
    protocols: tuple[str, ...]  # by which they are scored

    @property
    def name(self) -> str:
        return f"{self.system.name}, beam {self.beam}, seed {self.seed}, {self.test.name}"


@dataclass(frozen=True)
class Decodings:
    """How the decodings of an experiment are described, adopted and evaluated.

    Args:
        data: directory that wfe-preprocess made
        model: where the model of a training and a seed is
        identity: what changes when that model is trained anew
    """

    data: Path
    model: Callable[[Training, int], Path]
    identity: Callable[[Training, int], str]

    def step(self, decoding: Decoding) -> Step:
        system = decoding.system
        if system.training:
            origin = {
                "model": self.identity(system.training, decoding.seed),
                "decoding": system.decoding,
                "options": list(system.options),
            }
        else:
            origin = {"file": fingerprint(system.file(decoding.test, decoding.seed, decoding.beam))}
        description = {**origin, "split": decoding.test.split, "beam": decoding.beam}
        return Step(decoding.name, decoding.folder / "record.json", description)

    def is_decoded(self, decoding: Decoding) -> bool:
        """Whether the summaries are there, as they were written."""
        step = self.step(decoding)
        if not step.is_finished():
            return False
        summaries = decoding.folder / SUMMARIES
        if summaries.is_file() and step.stored().get("summaries") == fingerprint(summaries):
            return True
        say(f"{step.name}: {summaries} {'has changed' if summaries.is_file() else 'is gone'}; decoded again")
        return False

    def arguments(self, system: System, beam: int) -> list[str]:
        """Of fairseq-generate."""
        return ["--beam", str(beam), "--wfe-decoding", system.decoding, *system.options]

    def item(self, decoding: Decoding) -> dict:
        """For the worker."""
        system, step = decoding.system, self.step(decoding)
        model = str(self.model(system.training, decoding.seed))
        command = ["wfe-generate", "--model", model, "--data", str(self.data), "--split", decoding.test.split]
        command += ["--out", str(decoding.folder), "--beam", str(decoding.beam), "--decoding", system.decoding]
        return {
            "kind": "decode",
            "name": decoding.name,
            "record": str(step.record),
            "description": step.description,
            "model": model,
            "split": decoding.test.split,
            "arguments": self.arguments(system, decoding.beam),
            "command": as_text([*command, *(["--", *system.options] if system.options else [])]),
            "versions": versions(),
        }

    def adopt(self, decoding: Decoding) -> None:
        """Take over what another program has written, in the shape of our own summaries."""
        from wfe_plugin.pipeline.treat import Treatment

        file = decoding.system.file(decoding.test, decoding.seed, decoding.beam)
        treatment = Treatment.load(self.data)
        texts = [treatment.plain(" ".join(line.split())) for line in read_lines(file)]
        expected = len(self.texts(decoding.test).references)
        if len(texts) != expected:
            raise UserError(
                f"{file}: {len(texts)} summaries for {expected} sentences; give one per line, and an empty line for an empty one"
            )
        shutil.rmtree(decoding.folder, ignore_errors=True)
        write_summaries(decoding.folder, texts)
        self.step(decoding).finish(summaries=fingerprint(decoding.folder / SUMMARIES))

    # Evaluation

    @functools.cache  # noqa: B019  (an experiment has one)
    def texts(self, test: TestSet) -> Texts:
        return read_texts(test, self.data)

    def evaluation_step(self, decoding: Decoding) -> Step:
        description = {
            "decoding": self.step(decoding).identity(),
            "references": self.texts(decoding.test).identity,
            "protocols": list(decoding.protocols),
        }
        return Step(f"evaluation of {decoding.name}", decoding.folder / "evaluation.json", description, FACTS)

    def evaluate(self, decoding: Decoding) -> None:
        step = self.evaluation_step(decoding)
        if not step.is_finished():
            step.finish(**evaluate(decoding.folder / SUMMARIES, self.texts(decoding.test), decoding.protocols))

    def perplexity_step(self, decoding: Decoding, judge: Training) -> Step:
        description = {"decoding": self.step(decoding).identity(), "model": self.identity(judge, decoding.seed)}
        return Step(f"perplexity of {decoding.name}", decoding.folder / "perplexity.json", description, ("perplexity",))
