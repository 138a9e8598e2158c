"""The steps of an experiment, from text to measurements; finished ones are skipped.

    OUT/data/                    what preprocess.sh made, unless the data came prepared
    OUT/models/NAME-seedN/       what train.sh made; NAME-seedN.json tells from what
    OUT/tuning/NAME/VALUES-seedN-beamK/
                                 the validation set, decoded with each value of a tuned option
    OUT/decodings/TEST/NAME-seedN-beamK/
                                 what generate.sh made; record.json tells from what, and
                                 evaluation.json what it is worth
    OUT/frequencies/TEST/        how well each model's estimator did
    OUT/speed/CONFIGURATION/     the systems' times, round by round

Several configurations may share OUT: what has the same name and the same settings is made once.
"""

from __future__ import annotations

import functools
import itertools
import shutil
import sys
from pathlib import Path

import torch

import wfe_plugin
from wfe_plugin.cli import generate, train
from wfe_plugin.experiment import speed, tuning
from wfe_plugin.experiment.commands import Command, as_text, cores, run_all, threads_each
from wfe_plugin.experiment.config import Experiment, System, TestSet, Training, slug
from wfe_plugin.experiment.decoding import Decoder, Decoding
from wfe_plugin.experiment.options import check_command
from wfe_plugin.experiment.progress import Progress, say
from wfe_plugin.experiment.steps import Step, StepError, fingerprint, read_json
from wfe_plugin.experiment.training_log import read_parameters
from wfe_plugin.experiment.versions import versions
from wfe_plugin.pipeline.record import RECORD

SCRIPTS = Path(wfe_plugin.__file__).resolve().parent.parent
SETTINGS_FILE = "treatment.json"
MOST_AT_ONCE = 4  # by default: each holds a model in memory


class Runner:
    """Does what is missing of an experiment.

    Args:
        experiment: what to do
        jobs: trainings or decodings at once; None: one a core, at most four, or one on a GPU
        overwrite: replace data and models that were made with other settings
        scripts: directory of preprocess.sh, train.sh and generate.sh
    """

    def __init__(
        self,
        experiment: Experiment,
        jobs: int | None = None,
        overwrite: bool = False,
        scripts: Path = SCRIPTS,
    ):
        self.experiment = experiment
        self.at_once = jobs or (1 if torch.cuda.is_available() else min(cores(), MOST_AT_ONCE))
        self.overwrite = overwrite
        self.scripts = scripts
        self.out = experiment.out
        self.data = experiment.data.prepared or self.out / "data"
        self.decoder = Decoder(
            scripts / "generate.sh",
            self.data,
            self.model,
            identity=lambda training, seed: self.training_step(training, seed).identity(),
            at_once=self.at_once,
        )

    def check(self) -> None:
        """Refuse what cannot work, before anything is written."""
        for name in ("preprocess.sh", "train.sh", "generate.sh"):
            if not (self.scripts / name).is_file():
                raise StepError(
                    f"{self.scripts / name}: not found. wfe-experiment runs the scripts of the "
                    "repository: install the plugin from a clone, with `make setup` or `pip install -e`."
                )
        self.check_options()

    def check_options(self) -> None:
        """What train.sh and generate.sh would refuse when their turn comes."""
        experiment = self.experiment
        for training, seed in itertools.product(experiment.trainings, experiment.seeds):
            command = self.train_command(training, seed, threads=1)
            check_command(f"{experiment.file}: [training {training.name}]", train.parse, command[1:])
        for system in experiment.systems:
            for beam in (*experiment.beams, *([experiment.tuning_beam] if system.grid else [])):
                split = experiment.tests[0].split
                command = self.decoder.command(system, experiment.seeds[0], beam, split, "--out", str(self.out))
                check_command(f"{experiment.file}: [system {system.name}]", generate.parse, command[1:])

    def run(self) -> None:
        self.prepare()
        self.train()
        self.tune()
        decodings = list(self.decodings())
        self.decoder.decode(decodings, "decoding")
        self.estimate_frequencies()
        self.decoder.evaluate(decodings, "evaluation")
        speed.measure(self.experiment, self.systems, self.decoder)

    # Data

    def prepare(self) -> None:
        arguments = self.preprocess_command()
        if arguments:
            say(f"data: {self.data}")
            # Skips by itself what is done, and refuses changed text or settings.
            if self.overwrite:
                cut = arguments.index("--") if "--" in arguments else len(arguments)
                arguments = [*arguments[:cut], "--overwrite", *arguments[cut:]]
            run_all([Command("preprocess.sh", arguments, self.out / "preprocess.log")])
        if not (self.data / SETTINGS_FILE).is_file():
            raise StepError(
                f"{self.data / SETTINGS_FILE}: not found; [data] prepared must be a directory that preprocess.sh made"
            )
        for test in self.experiment.tests:
            if not (self.data / "text" / f"{test.split}.target").is_file():
                raise StepError(f"{self.experiment.file}: [test {test.name}] split: the data have no {test.split!r}")

    def preprocess_command(self) -> list[str]:
        if self.experiment.data.prepared:
            return []
        script = str(self.scripts / "preprocess.sh")
        return [script, "--out", str(self.data), *self.experiment.data.arguments]

    def data_identity(self) -> str:
        return fingerprint(self.data / SETTINGS_FILE)

    # Training

    def model(self, training: Training, seed: int) -> Path:
        return self.out / "models" / f"{slug(training.name)}-seed{seed}"

    def training_step(self, training: Training, seed: int) -> Step:
        model = self.model(training, seed)
        return Step(
            f"training of {training.name}, seed {seed}",
            model.parent / f"{model.name}.json",
            {
                "data": self.data_identity(),
                "preset": training.preset,
                "baseline": training.baseline,
                "seed": seed,
                "options": list(training.options),
                **({"base": self.training_step(training.base, seed).identity()} if training.base else {}),
            },
        )

    def training_log(self, training: Training, seed: int) -> Path:
        model = self.model(training, seed)
        return model.parent / f"{model.name}.log"

    def train_command(self, training: Training, seed: int, threads: int) -> list[str]:
        command = [str(self.scripts / "train.sh"), "--data", str(self.data)]
        command += ["--out", str(self.model(training, seed)), "--preset", training.preset]
        command += ["--baseline"] if training.baseline and not training.further else []
        if training.base:
            command += ["--from" if training.further else "--add-wfe", str(self.model(training.base, seed))]
        return [*command, "--seed", str(seed), "--threads", str(threads), *training.options]

    def train(self) -> None:
        by_depth = itertools.groupby(self.experiment.trainings, key=lambda training: len(training.ancestors))
        for _, trainings in by_depth:
            self.train_all(list(trainings))

    def train_all(self, trainings: list[Training]) -> None:
        pending, changes = [], []
        # Seed by seed, so that the systems of one seed train side by side.
        for seed in self.experiment.seeds:
            for training in trainings:
                step, model = self.training_step(training, seed), self.model(training, seed)
                if step.is_finished() and model.is_dir():
                    continue
                changes += self.note_changes(step, model)
                pending.append((training, seed, step))
        if not pending:
            return
        # As many for each, also where few are left: their times are compared.
        threads = threads_each(self.at_once, len(self.experiment.trainings) * len(self.experiment.seeds))
        commands, steps = [], {}
        for training, seed, step in pending:
            arguments = self.train_command(training, seed, threads)
            log = self.training_log(training, seed)
            commands.append(Command(step.name, arguments, log))
            steps[step.name] = step, as_text(arguments), self.model(training, seed)
        say(f"training: {len(pending)} to do, {min(self.at_once, len(pending))} at once, {threads} thread(s) each")

        def finished(command: Command, seconds: float) -> None:
            step, text, model = steps[command.name]
            step.finish(command=text, versions=versions(), **self.model_facts(model))
            say(f"{command.name}: done")

        try:
            run_all(commands, self.at_once, finished, Progress())
        except StepError as error:
            hint = "\nGive the training another name to keep both, or replace what is there with --overwrite."
            raise StepError(f"{error}{hint if changes else ''}") from None

    def model_facts(self, model: Path) -> dict:
        """What the report tells of a trained model."""
        try:
            finished = read_json(model / RECORD)["finished"]
            return {
                "seconds": finished.get("seconds", 0.0),
                "parameters": read_parameters(model),
                "epochs": finished["progress"]["last"],
                "best_epoch": finished["best_epoch"],
            }
        except (KeyError, TypeError):
            raise StepError(f"{model / RECORD}: is damaged; remove {model} to train anew") from None

    def note_changes(self, step: Step, model: Path) -> list[str]:
        """Compare a training with what is there; returns the differences that stay.

        train.sh continues where only the number of epochs grew, and refuses all else:
        hours of training are not thrown away because a line of the configuration changed.
        """
        changes = step.changes()
        if changes and self.overwrite:
            say(f"{step.name}: starts anew, since the settings changed")
            shutil.rmtree(model, ignore_errors=True)
        elif changes:
            # The record stays, or the next run would not know of the change.
            say("\n            ".join([f"{step.name}: settings changed:", *changes]))
            return changes
        step.start()
        return []

    # Decoding

    def tune(self) -> None:
        candidates = tuning.decodings(self.experiment)
        if candidates:
            self.decoder.decode(candidates, "tuning")
            self.decoder.evaluate(candidates, "evaluation of the tuning")

    @functools.cached_property
    def tunings(self) -> list[tuning.Tuning]:
        """What tuning has found, for each system that is tuned; call `tune` before."""
        return tuning.read(self.experiment)

    @property
    def systems(self) -> list[System]:
        """All systems, with the tuned options set to what was chosen."""
        chosen = {tuned.system.name: tuned.chosen.values for tuned in self.tunings}
        return [
            system.with_values(chosen[system.name]) if system.grid else system for system in self.experiment.systems
        ]

    def decodings(self):
        """Everything to decode."""
        for test in self.experiment.tests:
            for seed in self.experiment.seeds:
                for beam in self.experiment.beams:
                    for system in self.systems:
                        name = f"{slug(system.name)}-seed{seed}-beam{beam}"
                        folder = self.out / "decodings" / slug(test.name) / name
                        yield Decoding(system, seed, beam, test, folder)

    # Measuring

    def estimate_frequencies(self) -> None:
        for test, training, seed, step in self.frequency_steps():
            if step.is_finished():
                continue
            result = step.record.with_suffix(".result.json")
            arguments = self.frequencies_command(training, seed, test, result)
            run_all([Command(step.name, arguments, step.record.with_suffix(".log"))])
            step.finish(result=read_json(result))
            result.unlink()
            say(f"{step.name}: done")

    def frequencies_command(self, training: Training, seed: int, test: TestSet, out: Path) -> list[str]:
        # Not "python -m": that would import from the user's working directory before anything else.
        code = (
            "import sys; sys.path[0] = sys.argv.pop(1); from wfe_plugin.cli import frequencies as f; sys.exit(f.main())"
        )
        command = [sys.executable, "-c", code, str(SCRIPTS), "--model", str(self.model(training, seed))]
        return [*command, "--data", str(self.data), "--split", test.split, "--json", str(out)]

    def frequency_steps(self):
        for test in self.experiment.tests:
            for seed in self.experiment.seeds:
                for training in self.experiment.trainings:
                    if not training.baseline:
                        step = Step(
                            f"estimates of {training.name}, seed {seed}, {test.name}",
                            self.out / "frequencies" / slug(test.name) / f"{slug(training.name)}-seed{seed}.json",
                            {"model": self.training_step(training, seed).identity(), "split": test.split},
                            ("result",),
                        )
                        yield test, training, seed, step
