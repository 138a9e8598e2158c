"""All measurements of an experiment, and what follows from them."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean

from wfe_plugin.evaluation.grounding import Grounding, grounding
from wfe_plugin.evaluation.repetition import Repetition, repetition
from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS, Protocol
from wfe_plugin.evaluation.significance import PairedDifference, paired_bootstrap
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.experiment import speed, tuning
from wfe_plugin.experiment.commands import as_text
from wfe_plugin.experiment.decoding import Decoding
from wfe_plugin.experiment.measure import Texts
from wfe_plugin.experiment.plan import Experiment, TestSet
from wfe_plugin.experiment.runner import Runner
from wfe_plugin.experiment.steps import Step, read_json
from wfe_plugin.experiment.training_log import read_curves
from wfe_plugin.experiment.worker import SUMMARIES


@dataclass(frozen=True)
class Run:
    """One decoding: one system, seed and beam."""

    seed: int
    rouge: dict  # by protocol and metric: value, low, high
    sentences: dict  # by protocol and metric: score of each sentence
    repetition: Repetition
    grounding: Grounding
    perplexity: float | None  # None where no model can tell
    folder: Path

    def rate(self, name: str) -> float | None:
        """A measure of the summaries by its name."""
        if name == "perplexity":
            return self.perplexity
        return getattr(self.grounding if hasattr(self.grounding, name) else self.repetition, name)


@dataclass(frozen=True)
class Explained:
    """Some summaries of the recommended system."""

    numbers: list[int]  # of the sentences
    votes: list[list]  # of each, the source's words with their gates
    page: Path


@dataclass
class TestResults:
    """What was measured on one test set."""

    __test__ = False  # for pytest, which takes it for a class of tests

    test: TestSet
    texts: Texts
    implementation: str
    note: str
    runs: dict[tuple[str, int], list[Run]]  # by system and beam; one run per seed
    frequencies: dict[str, dict[int, dict]]  # by training and seed
    reference_perplexity: float | None
    explained: Explained | None = None
    _differences: dict = field(default_factory=dict)

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.test.protocol]

    @functools.cached_property
    def reference_rates(self) -> dict[str, float]:
        """What is measured of summaries, of the references themselves."""
        every = [text for texts in self.texts.references for text in texts]
        first = [texts[0] for texts in self.texts.references]
        grounded = grounding(first, self.texts.sources, self.texts.references)
        known = {"perplexity": self.reference_perplexity} if self.reference_perplexity else {}
        return {**asdict(repetition(every, self.texts.lang)), **asdict(grounded), **known}

    def rouge(self, system: str, beam: int, metric: str, protocol: str = "") -> float:
        """Mean over the seeds, by the set's own protocol or another one."""
        return mean(run.rouge[protocol or self.test.protocol][metric]["value"] for run in self.runs[system, beam])

    def rate(self, system: str, beam: int, name: str) -> float | None:
        """A measure of the summaries, mean over the seeds; None if it is not known."""
        values = [run.rate(name) for run in self.runs[system, beam]]
        return None if None in values else mean(values)

    def difference(
        self, first: tuple[str, int], second: tuple[str, int], metric: str, protocol: str = ""
    ) -> PairedDifference:
        """First minus second (each a system and a beam), by paired bootstrap over sentences.

        A sentence's score is the mean over the seeds: what is tested is whether the
        systems differ on other sentences, not whether they would with other seeds.
        """
        protocol = protocol or self.test.protocol
        key = first, second, metric, protocol
        if key not in self._differences:
            scores = [
                [mean(values) for values in zip(*(run.sentences[protocol][metric] for run in self.runs[which]))]
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
    models: dict[str, list[ModelFacts]]  # by training, one per seed
    commands: list[str]
    versions: list[dict]  # more than one if software changed between steps
    tunings: list[tuning.Tuning]
    speeds: speed.Speeds | None  # None if they were not to be measured


def collect(runner: Runner) -> Results:
    """Read what the steps have left on disk."""
    experiment = runner.experiment
    records = [
        runner.trainings.step(training, seed).stored() for training in experiment.trainings for seed in experiment.seeds
    ]
    every = [*tuning.decodings(experiment), *runner.decodings()]
    decodings = [runner.work.step(decoding).stored() for decoding in every]
    preprocess = [as_text(runner.preprocess_command())] if runner.preprocess_command() else []
    models = {
        training.name: [ModelFacts.of(runner.trainings.step(training, seed).stored()) for seed in experiment.seeds]
        for training in experiment.trainings
    }
    versions = [record["versions"] for record in records + decodings if "versions" in record]
    first = experiment.tests[0].protocol
    return Results(
        experiment=replace(experiment, systems=tuple(runner.systems(first))),
        tests=[collect_test(runner, test) for test in experiment.tests],
        curves={
            training.name: {seed: read_curves(runner.trainings.model(training, seed)) for seed in experiment.seeds}
            for training in experiment.trainings
        },
        models=models,
        commands=[*preprocess, *(record["command"] for record in records + decodings if "command" in record)],
        versions=[found for i, found in enumerate(versions) if found not in versions[:i]],
        tunings=runner.tunings,
        speeds=speed.read(experiment, runner.systems(first), runner.work),
    )


def collect_test(runner: Runner, test: TestSet) -> TestResults:
    runs: dict[tuple[str, int], list[Run]] = {}
    implementation = note = ""
    for decoding in runner.decodings():
        if decoding.test != test:
            continue
        evaluation = read_json(decoding.folder / "evaluation.json")
        implementation, note = evaluation["implementation"], evaluation["note"]
        runs.setdefault((decoding.system.name, decoding.beam), []).append(read_run(decoding, evaluation))
    frequencies: dict[str, dict[int, dict]] = {}
    for its_test, training, seed, step in runner.frequency_steps():
        if its_test == test:
            frequencies.setdefault(training.name, {})[seed] = step.stored()["result"]
    perplexities = [step.stored()["perplexity"] for step in runner.reference_steps(test)]
    perplexity = mean(perplexities) if perplexities else None
    explained = [read_explained(step) for its_test, _, step in runner.explanation_steps() if its_test == test]
    return TestResults(test, runner.work.texts(test), implementation, note, runs, frequencies, perplexity, *explained)


def read_explained(step: Step) -> Explained:
    return Explained(step.description["numbers"], step.stored()["votes"], step.record.with_suffix(".html"))


def read_run(decoding: Decoding, evaluation: dict) -> Run:
    found = read_json(decoding.folder / "perplexity.json") or {}
    return Run(
        seed=decoding.seed,
        rouge=evaluation["rouge"],
        sentences=evaluation["sentences"],
        repetition=Repetition(**evaluation["repetition"]),
        grounding=Grounding(**evaluation["grounding"]),
        perplexity=found.get("perplexity"),
        folder=decoding.folder,
    )
