"""Training what an experiment needs; finished trainings are skipped."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.experiment.commands import Command, as_text, run_all, threads_each
from wfe_plugin.experiment.plan import Experiment, Training, slug
from wfe_plugin.experiment.progress import Progress, say
from wfe_plugin.experiment.steps import Step, fingerprint, read_json
from wfe_plugin.experiment.training_log import read_parameters
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.treat import SETTINGS_FILE
from wfe_plugin.versions import versions


class Trainings:
    """One model for each training and seed.

    Args:
        experiment: what to train
        data: directory that wfe-preprocess made
        at_once: trainings that share the cores
        overwrite: replace models that were trained with other settings
    """

    def __init__(self, experiment: Experiment, data: Path, at_once: int, overwrite: bool):
        self.experiment, self.data = experiment, data
        self.at_once, self.overwrite = at_once, overwrite

    def model(self, training: Training, seed: int) -> Path:
        return self.experiment.out / "models" / f"{slug(training.name)}-seed{seed}"

    def step(self, training: Training, seed: int) -> Step:
        model = self.model(training, seed)
        return Step(
            f"training of {training.name}, seed {seed}",
            model.parent / f"{model.name}.json",
            {
                "data": fingerprint(self.data / SETTINGS_FILE),
                "preset": training.preset,
                "estimator": training.estimator,
                "seed": seed,
                "options": list(training.options),
                **({"base": self.identity(training.base, seed)} if training.base else {}),
            },
        )

    def identity(self, training: Training, seed: int) -> str:
        """Changes when the model is trained anew."""
        return self.step(training, seed).identity()

    def command(self, training: Training, seed: int, threads: int) -> list[str]:
        command = ["wfe-train", "--data", str(self.data), "--out", str(self.model(training, seed))]
        command += ["--preset", training.preset]
        if training.further:
            command += ["--from", str(self.model(training.base, seed))]
        elif training.estimator:
            command += ["--estimator", training.estimator]
            command += ["--add-wfe", str(self.model(training.base, seed))] if training.base else []
        else:
            command += ["--baseline"]
        return [*command, "--seed", str(seed), "--threads", str(threads), *training.options]

    def run(self) -> None:
        by_depth = itertools.groupby(self.experiment.trainings, key=lambda training: len(training.ancestors))
        for _, trainings in by_depth:
            self.train(list(trainings))

    def train(self, trainings: list[Training]) -> None:
        """Those that need none of the others."""
        pending, changes = [], []
        # Seed by seed, so that the systems of one seed train side by side.
        for seed, training in itertools.product(self.experiment.seeds, trainings):
            step, model = self.step(training, seed), self.model(training, seed)
            if not (step.is_finished() and model.is_dir()):
                changes += self.note_changes(step, model)
                pending.append((training, seed, step))
        if not pending:
            return
        # As many for each, also where few are left: their times are compared.
        threads = threads_each(self.at_once, len(self.experiment.trainings) * len(self.experiment.seeds))
        commands, steps = [], {}
        for training, seed, step in pending:
            model = self.model(training, seed)
            arguments = self.command(training, seed, threads)
            commands.append(Command(step.name, arguments, model.parent / f"{model.name}.log"))
            steps[step.name] = step, as_text(arguments), model
        say(f"training: {len(pending)} to do, {min(self.at_once, len(pending))} at once, {threads} thread(s) each")
        done = 0

        def finished(command: Command, seconds: float) -> None:
            nonlocal done
            done += 1
            step, text, model = steps[command.name]
            step.finish(command=text, versions=versions(), **self.facts(model))
            say(f"training: {done} of {len(pending)}: {command.name}")

        try:
            run_all(commands, self.at_once, finished, Progress())
        except UserError as error:
            hint = "\nGive the training another name to keep both, or replace what is there with --overwrite."
            raise UserError(f"{error}{hint if changes else ''}") from None

    def facts(self, model: Path) -> dict:
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
            raise UserError(f"{model / RECORD}: is damaged; remove {model} to train again") from None

    def note_changes(self, step: Step, model: Path) -> list[str]:
        """Compare a training with what is there; returns the differences that stay.

        wfe-train continues where only the number of epochs grew, and refuses all else:
        hours of training are not thrown away because a line of the configuration changed.
        """
        changes = step.changes()
        if changes and self.overwrite:
            say(f"{step.name}: starts over because its settings changed")
            shutil.rmtree(model, ignore_errors=True)
        elif changes:
            # The record stays, or the next run would not know of the change.
            say("\n            ".join([f"{step.name}: settings changed:", *changes]))
            return changes
        step.start()
        return []
