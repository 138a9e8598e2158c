"""All measurements of an experiment, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean

from wfe_plugin.evaluation.repetition import Repetition, repetition
from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS
from wfe_plugin.evaluation.significance import PairedDifference, paired_bootstrap
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.experiment import speed, tuning
from wfe_plugin.experiment.commands import as_text
from wfe_plugin.experiment.config import Experiment, TestSet
from wfe_plugin.experiment.measure import read_references
from wfe_plugin.experiment.runner import Runner
from wfe_plugin.experiment.steps import read_json
from wfe_plugin.experiment.training_log import read_curves
from wfe_plugin.pipeline.generate import SUMMARIES

REPETITION_RATES = {
    "any_word": "repeats a word",
    "content_word": "a content word",
    "bigram": "a bigram",
    "rep_1": "rep-1",
    "rep_2": "rep-2",
}


@dataclass(frozen=True)
class Run:
    """One decoding: one system, seed and beam."""

    seed: int
    rouge: dict  # metric: value, low, high
    sentences: dict  # metric: score of each sentence
    repetition: Repetition
    folder: Path


@dataclass
class TestResults:
    """What was measured on one test set."""

    __test__ = False  # for pytest, which takes it for a class of tests

    test: TestSet
    sources: list[str]
    references: list[list[str]]
    implementation: str
    note: str
    runs: dict[tuple[str, int], list[Run]]  # by system and beam; one run a seed
    frequencies: dict[str, dict[int, dict]]  # by training and seed
    _differences: dict = field(default_factory=dict)

    @property
    def measure(self) -> str:
        return {"f1": "F1", "recall": "recall"}[PROTOCOLS[self.test.protocol].headline]

    @property
    def reference_repetition(self) -> Repetition:
        return repetition([text for texts in self.references for text in texts])

    def rouge(self, system: str, beam: int, metric: str) -> float:
        """Mean over the seeds."""
        return mean(run.rouge[metric]["value"] for run in self.runs[system, beam])

    def rate(self, system: str, beam: int, name: str) -> float:
        return mean(getattr(run.repetition, name) for run in self.runs[system, beam])

    def difference(self, first: tuple[str, int], second: tuple[str, int], metric: str) -> PairedDifference:
        """First minus second (each a system and a beam), by paired bootstrap over sentences.

        A sentence's score is the mean over the seeds: what is tested is whether the
        systems differ on other sentences, not whether they would with other seeds.
        """
        key = first, second, metric
        if key not in self._differences:
            scores = [
                [mean(values) for values in zip(*(run.sentences[metric] for run in self.runs[which]))]
                for which in (first, second)
            ]
            self._differences[key] = paired_bootstrap(*scores)
        return self._differences[key]

    def mean_rouge(self, system: str, beam: int) -> float:
        """Of the three metrics."""
        return mean(self.rouge(system, beam, metric) for metric in METRICS)

    def best_beam(self, system: str, beams) -> int:
        return max(beams, key=lambda beam: self.mean_rouge(system, beam))

    def summaries(self, system: str, beam: int) -> list[str]:
        """Those of the first seed."""
        return read_lines(self.runs[system, beam][0].folder / SUMMARIES)


@dataclass(frozen=True)
class ModelFacts:
    """How a model was made; 0 where it is not known."""

    seconds: float
    parameters: int
    epochs: int
    best_epoch: int

    @classmethod
    def of(cls, record: dict) -> ModelFacts:
        return cls(*(record.get(key, 0) for key in ("seconds", "parameters", "epochs", "best_epoch")))


@dataclass
class Results:
    """Everything that the report tells of."""

    experiment: Experiment
    tests: list[TestResults]
    curves: dict[str, dict[int, dict]]  # by training and seed
    models: dict[str, list[ModelFacts]]  # by training, one a seed
    commands: list[str]
    versions: list[dict]  # more than one if software changed between steps
    tunings: list[tuning.Tuning]
    speeds: speed.Speeds | None  # None if they were not to be measured


def collect(runner: Runner) -> Results:
    """Read what the steps have left on disk."""
    experiment = runner.experiment
    records = [
        runner.training_step(training, seed).stored() for training in experiment.trainings for seed in experiment.seeds
    ]
    every = [*tuning.decodings(experiment), *runner.decodings()]
    decodings = [runner.decoder.step(decoding).stored() for decoding in every]
    preprocess = [as_text(runner.preprocess_command())] if runner.preprocess_command() else []
    models = {
        training.name: [ModelFacts.of(runner.training_step(training, seed).stored()) for seed in experiment.seeds]
        for training in experiment.trainings
    }
    versions = [record["versions"] for record in records + decodings if "versions" in record]
    return Results(
        experiment=replace(experiment, systems=tuple(runner.systems)),
        tests=[collect_test(runner, test) for test in experiment.tests],
        curves={
            training.name: {seed: read_curves(runner.model(training, seed)) for seed in experiment.seeds}
            for training in experiment.trainings
        },
        models=models,
        commands=[*preprocess, *(record["command"] for record in records + decodings if "command" in record)],
        versions=[found for i, found in enumerate(versions) if found not in versions[:i]],
        tunings=runner.tunings,
        speeds=speed.read(experiment, runner.systems, runner.decoder),
    )


def collect_test(runner: Runner, test: TestSet) -> TestResults:
    references = read_references(test, runner.data)
    runs: dict[tuple[str, int], list[Run]] = {}
    implementation = note = ""
    for decoding in runner.decodings():
        if decoding.test != test:
            continue
        evaluation = read_json(decoding.folder / "evaluation.json")
        implementation, note = evaluation["implementation"], evaluation["note"]
        run = Run(
            seed=decoding.seed,
            rouge=evaluation["rouge"],
            sentences=evaluation["sentences"],
            repetition=Repetition(**evaluation["repetition"]),
            folder=decoding.folder,
        )
        runs.setdefault((decoding.system.name, decoding.beam), []).append(run)
    frequencies: dict[str, dict[int, dict]] = {}
    for its_test, training, seed, step in runner.frequency_steps():
        if its_test == test:
            frequencies.setdefault(training.name, {})[seed] = step.stored()["result"]
    sources = read_lines(runner.data / "text" / f"{test.split}.source")
    return TestResults(test, sources, references, implementation, note, runs, frequencies)
