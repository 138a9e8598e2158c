"""What an experiment consists of: data, test sets, trainings and systems."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wfe_plugin.pipeline.options import split_options

ROLES = ("alternative", "wfe", "oracle")  # and the baseline, which [experiment] names


@dataclass(frozen=True)
class Data:
    """Either a directory that wfe-preprocess made, or the arguments to make one with."""

    prepared: Path | None
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class TestSet:
    """A split of the data and how its summaries are judged."""

    __test__ = False  # for pytest, which takes it for a class of tests

    name: str
    split: str
    protocol: str
    references: tuple[Path, ...]  # raw text; none: the targets of the data


@dataclass(frozen=True)
class Training:
    """One way to train, for each seed."""

    name: str
    preset: str  # of wfe-train
    estimator: str  # "" without an estimate
    options: tuple[str, ...]  # of wfe-train; after --, of fairseq-train
    base: Training | None = None  # whose model an estimate is added to, or
    further: bool = False  # whose model is trained further

    @property
    def model_preset(self) -> str:
        """The preset that determines the size of the model."""
        return self.base.model_preset if self.further else self.preset

    @property
    def ancestors(self) -> list[Training]:
        """The trainings that must be finished before, in turn."""
        return [*self.base.ancestors, self.base] if self.base else []


@dataclass(frozen=True)
class System:
    """One way to decode with a trained model, or summaries that another program made."""

    name: str
    training: Training | None  # None: another program's
    decoding: str  # --wfe-decoding
    options: tuple[str, ...]  # of fairseq-generate
    role: str  # one of ROLES, or "baseline"
    grid: tuple[tuple[str, tuple[str, ...]], ...] = ()  # options to tune, with their values
    rivals: tuple[str, ...] = ()  # names of the systems that the report compares it with, in words
    outputs: str = ""  # of another program: a file, in which {seed}, {beam} and {set} are replaced

    def candidates(self) -> list[tuple[str, ...]]:
        """What can be chosen: one value for each option of the grid, in the order of the file."""
        return list(itertools.product(*(values for _, values in self.grid)))

    def with_values(self, values: tuple[str, ...]) -> System:
        """The system with its tuned options set."""
        chosen = [word for (option, _), value in zip(self.grid, values) for word in (option, value)]
        return replace(self, options=(*self.options, *chosen))

    def file(self, test: TestSet, seed: int, beam: int) -> Path:
        """Where another program's summaries are."""
        names = {"{seed}": str(seed), "{beam}": str(beam), "{set}": test.name}
        return Path(re.sub(r"\{(seed|beam|set)\}", lambda match: names[match[0]], self.outputs))


@dataclass(frozen=True)
class Experiment:
    """Everything that the configuration file determines."""

    file: Path
    title: str
    out: Path
    preset: str  # of the trainings that choose no other
    seeds: tuple[int, ...]
    beams: tuple[int, ...]
    data: Data
    tests: tuple[TestSet, ...]
    systems: tuple[System, ...]
    baseline: System  # what gains are measured against
    proposed: System  # what summaries and examples show beside it
    tuning_beam: int
    speed_rounds: int  # 0: speeds are not measured

    @property
    def middle_beam(self) -> int:
        """The beam of pictures and examples: 5 in the paper."""
        return self.beams[len(self.beams) // 2]

    @property
    def trainings(self) -> list[Training]:
        """Those that a system needs, each once, those that others build on first."""
        needed = [system.training for system in self.systems if system.training]
        chains = [[*training.ancestors, training] for training in needed]
        return sorted(dict.fromkeys(itertools.chain(*chains)), key=lambda training: len(training.ancestors))

    @property
    def judge(self) -> Training | None:
        """Whose model says how likely summaries are: the baseline's, or the first one without an estimate."""
        plain = [training for training in self.trainings if not training.estimator and not training.further]
        own = self.baseline.training
        return own if own in plain else next(iter(plain), None)

    @property
    def protocols(self) -> list[str]:
        """Those of the test sets, each once."""
        return list(dict.fromkeys(test.protocol for test in self.tests))


def slug(name: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


def joined(*groups: Sequence[str]) -> tuple[str, ...]:
    """Options of several places on one command line, where "--" may appear only once."""
    ours: list[str] = []
    fairseq: list[str] = []
    for words in groups:
        own, more = split_options(list(words))
        ours += own
        fairseq += more
    return (*ours, *(["--", *fairseq] if fairseq else []))
