"""The steps of an experiment, from text to measurements; finished ones are skipped.

    OUT/data/                    what wfe-preprocess made, unless the data came prepared
    OUT/models/NAME-seedN/       what wfe-train made; NAME-seedN.json says from what
    OUT/tuning/NAME/VALUES-seedN-beamK/
                                 the validation set, decoded with each value of a tuned option
    OUT/decodings/TEST/NAME-seedN-beamK/
                                 summaries; record.json says from what, evaluation.json and
                                 perplexity.json what they are worth
    OUT/frequencies/TEST/        how well each model's estimator did
    OUT/speed/CONFIGURATION/     the systems' times, round by round
    OUT/logs/                    what the workers were told, and what they said

Several configurations may share OUT: what has the same name and the same settings is made once.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.experiment import speed, tuning, work
from wfe_plugin.experiment.commands import Command, cores, run_all
from wfe_plugin.experiment.decoding import Decoding, Decodings
from wfe_plugin.experiment.examples import extremes, gains
from wfe_plugin.experiment.options import check_command
from wfe_plugin.experiment.plan import Experiment, System, TestSet, Training, joined, slug
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.steps import Step, read_json
from wfe_plugin.experiment.trainings import Trainings
from wfe_plugin.experiment.worker import SUMMARIES
from wfe_plugin.pipeline.treat import SETTINGS_FILE

MOST_AT_ONCE = 4  # by default: each holds a model in memory


class Runner:
    """Does what is missing of an experiment.

    Args:
        experiment: what to do
        jobs: trainings or workers at once; None: one per core, at most four, or one on a GPU
        overwrite: replace data and models that were made with other settings
    """

    def __init__(self, experiment: Experiment, jobs: int | None = None, overwrite: bool = False):
        self.experiment = experiment
        self.at_once = jobs or default_jobs()
        self.overwrite = overwrite
        self.out = experiment.out
        self.data = experiment.data.prepared or self.out / "data"
        self.trainings = Trainings(experiment, self.data, self.at_once, overwrite)
        self.work = Decodings(self.data, self.trainings.model, self.trainings.identity)

    def check(self, parsers: Mapping[str, Callable[[Sequence[str]], object]]) -> None:
        """Refuse what cannot work, before anything is written.

        Args:
            parsers: of the arguments of "wfe-train", and of fairseq-generate's under "wfe-generate"
        """
        experiment = self.experiment
        for training, seed in itertools.product(experiment.trainings, experiment.seeds):
            if "wfe-train" in parsers:
                command = self.trainings.command(training, seed, threads=1)
                check_command(f"{experiment.file}: [training {training.name}]", parsers["wfe-train"], command[1:])
        for system in experiment.systems:
            where = f"{experiment.file}: [system {system.name}]"
            for values in system.candidates() if system.training and "wfe-generate" in parsers else ():
                arguments = self.work.arguments(system.with_values(values), experiment.middle_beam)
                check_command(where, parsers["wfe-generate"], arguments)
            for test, seed, beam in () if system.training else self.cases():
                if not system.file(test, seed, beam).is_file():
                    raise UserError(f"{where} outputs: {system.file(test, seed, beam)}: no such file")

    def run(self) -> None:
        self.prepare()
        self.trainings.run()
        self.decode(tuning.decodings(self.experiment), "tuning")
        self.decode(list(self.decodings()), "decoding")
        self.explain_examples()
        self.estimate_frequencies()
        self.measure_perplexity()
        self.measure_speed()

    def cases(self) -> Iterator[tuple[TestSet, int, int]]:
        """Test sets, seeds and beams."""
        return itertools.product(self.experiment.tests, self.experiment.seeds, self.experiment.beams)

    # Data

    def prepare(self) -> None:
        arguments = self.preprocess_command()
        if arguments:
            say(f"data: {self.data}")
            # Skips by itself what is done, and refuses changed text or settings.
            if self.overwrite:
                arguments = joined(arguments, ("--overwrite",))
            run_all([Command("wfe-preprocess", arguments, self.out / "preprocess.log")])
        if not (self.data / SETTINGS_FILE).is_file():
            raise UserError(
                f"{self.data / SETTINGS_FILE}: not found; [data] prepared must name a directory made by wfe-preprocess"
            )
        for test in self.experiment.tests:
            if not (self.data / "text" / f"{test.split}.target").is_file():
                raise UserError(f"{self.experiment.file}: [test {test.name}] split: the data have no {test.split!r}")

    def preprocess_command(self) -> list[str]:
        if self.experiment.data.prepared:
            return []
        return ["wfe-preprocess", "--out", str(self.data), *self.experiment.data.arguments]

    # Decoding

    @functools.cached_property
    def tunings(self) -> list[tuning.Tuning]:
        """What tuning has found, for each system that is tuned, once that is decoded and evaluated."""
        return tuning.read(self.experiment)

    def systems(self, protocol: str) -> list[System]:
        """All systems, with the tuned options set to what was chosen for a protocol."""
        chosen = {tuned.system.name: tuned.chosen(protocol).values for tuned in self.tunings}
        return [
            system.with_values(chosen[system.name]) if system.grid else system for system in self.experiment.systems
        ]

    def decodings(self) -> Iterator[Decoding]:
        """Everything to decode of the test sets."""
        for test, seed, beam in self.cases():
            others = [name for name in PROTOCOLS if name != test.protocol]
            for system in self.systems(test.protocol):
                folder = self.out / "decodings" / slug(test.name) / f"{slug(system.name)}-seed{seed}-beam{beam}"
                yield Decoding(system, seed, beam, test, folder, (test.protocol, *others))

    def decode(self, decodings: list[Decoding], purpose: str) -> None:
        """Decode what is missing, and evaluate."""
        by_record = {str(self.work.step(one).record): one for one in decodings}
        pending = [one for one in decodings if not self.work.is_decoded(one)]
        for decoding in pending:
            self.work.step(decoding).record.unlink(missing_ok=True)  # it may tell of what is gone
            if not decoding.system.training:
                self.work.adopt(decoding)
        items = [self.work.item(one) for one in pending if one.system.training]
        self.do(items, purpose, lambda item: self.work.evaluate(by_record[item["record"]]))
        for decoding in decodings:
            self.work.evaluate(decoding)

    def do(self, items: list[dict], purpose: str, done: Callable[[dict], None] = lambda item: None) -> None:
        work.do(items, purpose, self.data, self.out, self.at_once, done)

    # Measuring

    def explain_examples(self) -> None:
        items = [
            {**self.work.item(decoding), "kind": "explain", "name": step.name}
            | {"record": str(step.record), "description": step.description}
            for _, decoding, step in self.explanation_steps()
            if not step.is_finished()
        ]
        self.do(items, "explanations")

    def explanation_steps(self) -> Iterator[tuple[TestSet, Decoding, Step]]:
        """Of the recommended system's examples on each test set, first seed, once all is decoded and evaluated."""
        experiment = self.experiment
        found = {(one.test, one.system.name, one.seed, one.beam): one for one in self.decodings()}
        for test in experiment.tests:
            ours, theirs = (
                found[test, system.name, experiment.seeds[0], experiment.middle_beam]
                for system in (experiment.proposed, experiment.baseline)
            )
            if ours is theirs or not ours.system.training:
                continue
            scores = [read_json(one.folder / "evaluation.json")["sentences"][test.protocol] for one in (ours, theirs)]
            best, worst = extremes(gains(*scores))
            description = {"decoding": self.work.step(ours).identity(), "numbers": [*best, *worst]}
            record = ours.folder / "explanations.json"
            yield test, ours, Step(f"explanations of {ours.name}", record, description, ("votes",))

    def estimate_frequencies(self) -> None:
        items = [
            {
                "kind": "frequencies",
                "name": step.name,
                "record": str(step.record),
                "description": step.description,
                "model": str(self.trainings.model(training, seed)),
                "split": test.split,
            }
            for test, training, seed, step in self.frequency_steps()
            if not step.is_finished()
        ]
        self.do(items, "estimates")

    def frequency_steps(self) -> Iterator[tuple[TestSet, Training, int, Step]]:
        experiment = self.experiment
        for test, seed, training in itertools.product(experiment.tests, experiment.seeds, experiment.trainings):
            if training.estimator:
                yield (
                    test,
                    training,
                    seed,
                    Step(
                        f"estimates of {training.name}, seed {seed}, {test.name}",
                        self.out / "frequencies" / slug(test.name) / f"{slug(training.name)}-seed{seed}.json",
                        {"model": self.trainings.identity(training, seed), "split": test.split},
                        ("result",),
                    ),
                )

    def measure_perplexity(self) -> None:
        """Of all summaries and references, under the model of the same seed that estimates nothing."""
        judge = self.experiment.judge
        if not judge:
            return
        files: dict[tuple[TestSet, int], list[dict]] = {}

        def add(test: TestSet, seed: int, step: Step, summaries: Path) -> None:
            if not step.is_finished():
                one = {"name": step.name, "record": str(step.record), "description": step.description}
                files.setdefault((test, seed), []).append({**one, "summaries": str(summaries)})

        for one in self.decodings():
            add(one.test, one.seed, self.work.perplexity_step(one, judge), one.folder / SUMMARIES)
        for test in self.experiment.tests:
            for seed, step in zip(self.experiment.seeds, self.reference_steps(test)):
                add(test, seed, step, self.data / "text" / f"{test.split}.target")
        items = [
            {
                "kind": "perplexity",
                "name": f"{test.name}, seed {seed}, {len(some)} files",
                "model": str(self.trainings.model(judge, seed)),
                "split": test.split,
                "files": some,
            }
            for (test, seed), some in files.items()
        ]
        self.do(items, "perplexity")

    def reference_steps(self, test: TestSet) -> list[Step]:
        """Perplexity of the references, for each seed; none without a model to ask."""
        judge = self.experiment.judge
        return [
            Step(
                f"perplexity of the references, seed {seed}, {test.name}",
                self.out / "decodings" / slug(test.name) / f"references-seed{seed}.json",
                {"model": self.trainings.identity(judge, seed), "split": test.split},
                ("perplexity",),
            )
            for seed in (self.experiment.seeds if judge else ())
        ]

    def measure_speed(self) -> None:
        test = self.experiment.tests[0]
        sentences = len(self.work.texts(test).references)
        items = speed.items(self.experiment, self.systems(test.protocol), self.work, sentences)
        # One after the other, in one process: nothing else may run meanwhile.
        work.do(items, "speed", self.data, self.out)


def default_jobs() -> int:
    import torch

    return 1 if torch.cuda.is_available() else min(cores(), MOST_AT_ONCE)
