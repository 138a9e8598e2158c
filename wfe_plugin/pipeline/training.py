"""One training by fairseq-train in one directory."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import torch

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import checkpoints, fairseq_train
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.best_epoch import SCORES, best_by_rouge
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.child import run
from wfe_plugin.pipeline.display import LOG, Display, say
from wfe_plugin.pipeline.prepared_data import PreparedData
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.pipeline.record import RECORD, VERSION, Progress, difference, read_record
from wfe_plugin.pipeline.time_limit import TimeLimit
from wfe_plugin.pipeline.train_options import TrainOptions
from wfe_plugin.whole_files import write_json, written_whole


def describe(options: TrainOptions, data: PreparedData, base: Optional[BaseModel]) -> dict:
    """All that must stay the same when a training continues."""
    settings = {
        "preset": options.preset,
        "baseline": options.baseline,
        "best_by": options.best_by,
        "seed": options.seed,
        "data": data.identity,
        "fairseq_options": list(options.fairseq_options),
        **({"estimator": options.estimator} if options.estimator else {}),
    }
    if options.add_wfe and base:
        settings["add_wfe"] = base.identity()
        if base.settings:
            settings["model_options"] = base.model_options(options.estimator)
    if options.start_from:
        settings.update(base.model_settings(), start_from=base.identity())
    return settings


def device(options: TrainOptions) -> str:
    """What it is trained on, for people."""
    kind = "CPU" if options.on_cpu or not torch.cuda.is_available() else torch.cuda.get_device_name()
    return kind if options.processes == 1 else f"{options.processes} × {kind}"


class Training:
    """A model or an estimate in its directory, from wherever it is to its end.

    Args:
        options: completed by a preset; what is trained is a model (with a joint estimate or
            without), an estimate on top of `base`, or `base` further
        data: what it is trained on
        base: the model that it starts from; none yet, if a phase before makes it (see `stand_on`)
    """

    def __init__(self, options: TrainOptions, data: PreparedData, base: Optional[BaseModel] = None):
        self.options, self.data, self.base = options, data, base
        self.preset = PRESETS[options.preset]
        self.out = Path(os.path.abspath(options.out))
        if ":" in str(self.out):
            raise UserError(f"{self.out}: wfe-generate would read ':' as a separator of models; choose another --out")
        self.limit = TimeLimit(
            options.minutes and 60 * options.minutes, base.clock() if base and options.minutes else 0.0
        )
        self.record = {
            "version": VERSION,
            "settings": describe(options, data, base),
            "vocabularies": data.vocabularies,
        }
        self.reached = 0  # epochs of the finished training that is in the directory
        self.stopped_by_clock = False
        # What other machines log would only repeat it, and errors are shown anyway.
        self.log = Path(os.devnull) if options.machine else self.out / LOG
        self.display = Display(f"{data.pairs:,} pairs", f"{device(options)}; log: {self.log}", options.epochs)

    @property
    def baseline(self) -> bool:
        """Whether the model has no estimate; --from tells it by the model."""
        return self.record["settings"]["baseline"]

    @property
    def best(self) -> Path:
        return self.out / checkpoints.BEST

    def run(self, inherit: Sequence[int] = ()) -> None:
        """Train to the end; `inherit` are descriptors that child processes keep open."""
        if self.options.machine > 0:  # everything but training itself is up to the first machine
            self.train(inherit)
            return
        if self.already_done():
            say(f"{self.options.out}: already trained; {self.outcome()}")
            return
        self.write_record()
        epochs = self.train(inherit)
        best = best_by_rouge(self, epochs) if self.options.best_by == "rouge" else Progress.of(epochs).best
        self.keep(best, epochs)
        say(f"done: {self.outcome()}: {self.options.out}/{checkpoints.BEST}")

    def write_record(self) -> None:
        write_json(self.out / RECORD, self.record)

    def stored_record(self) -> Optional[dict]:
        """What the directory holds, if anything. Raises if it is something else."""
        if not (self.out / RECORD).is_file():
            others = [path.name for path in self.out.iterdir() if not (path / RECORD).is_file()]
            if others:
                raise UserError(f"{self.options.out}: exists and was not made by wfe-train; choose another --out")
            return None
        stored = read_record(self.out / RECORD)
        self.refuse_other_settings(stored)
        return stored

    def claim(self) -> None:
        """Take the directory before the phases that this training waits for."""
        stored = self.stored_record()
        if not stored or stored["settings"] != self.record["settings"]:
            self.write_record()

    def stand_on(self, base: BaseModel) -> None:
        """Start from the model that another phase has made. What stands on another one is trained anew."""
        self.base, self.record["base"] = base, base.identity()
        if read_record(self.out / RECORD).get("base") == self.record["base"]:
            return
        old = [*self.out.glob("checkpoint*.pt"), *self.out.glob(SCORES)]
        if old:
            say(f"{self.options.out}: the model has changed; its estimator is trained again")
        for path in old:
            path.unlink()
        self.write_record()

    def already_done(self) -> bool:
        """Whether nothing is left to do. Raises if the directory holds something else."""
        stored = self.stored_record()
        if not stored:
            return False
        finished = stored.get("finished")
        if finished and self.best.exists():
            progress = Progress(**finished["progress"])
            in_time = self.limit.seconds is not None and self.limit.seconds <= finished.get("stopped_at_seconds", 0)
            if in_time or progress.complete(self.options.epochs, self.options.patience, self.limit):
                self.record = stored
                return True
            self.reached = progress.last
        if stored["version"] < VERSION and any(self.out.glob("checkpoint*.pt")):
            raise UserError(
                f"{self.options.out}: holds a training by an earlier version, whose presets differ; "
                "choose another --out"
            )
        return False

    def refuse_other_settings(self, stored: dict) -> None:
        old, new = stored["settings"], dict(self.record["settings"])
        for key in ("add_wfe", "start_from"):
            if key in new and key in old and self.base.has_identity(old[key]):
                new[key] = old[key]
        if stored["version"] < VERSION:  # which noted neither
            new = {key: value for key, value in new.items() if key in old}
        changes = [f"  {key}: " + difference(key, old, new) for key in {**new, **old} if old.get(key) != new.get(key)]
        # A training that failed before its first epoch has nothing to lose.
        if changes and any(self.out.glob("checkpoint*.pt")):
            raise UserError(
                "\n".join(
                    [f"{self.options.out}: holds a training with other settings:", *changes, "Choose another --out"]
                )
            )

    def train(self, inherit: Sequence[int]) -> list[Epoch]:
        """Run fairseq-train, once for each stage that is not finished yet."""
        epochs = checkpoints.finished_epochs(self.out)
        progress = Progress.of(epochs)
        if progress.last < self.reached:
            raise UserError(
                f"{self.options.out}: checkpoint{self.reached}.pt is missing; the training cannot continue without it"
            )
        if progress.last:
            say(f"{self.options.out}: continues after epoch {progress.last}")
        while not progress.complete(self.options.epochs, self.options.patience, self.limit):
            self.data.check_unchanged()
            self.run_fairseq(progress, epochs[-1].path if epochs else None, inherit)
            before = progress
            epochs = checkpoints.finished_epochs(self.out)
            progress = Progress.of(epochs)
            if progress.last == before.last:  # or it would be started again and again
                raise UserError(f"fairseq-train ended without an error and without finishing an epoch: see {self.log}")
            if self.limit.seconds and progress.last < fairseq_train.last_epoch(self, before):
                # By its clock, which has gone on while the checkpoint was written, or by the patience.
                self.stopped_by_clock = progress.waited < self.options.patience
                break
        return epochs

    def run_fairseq(self, progress: Progress, last: Optional[Path], inherit: Sequence[int]) -> None:
        """fairseq-train for the rest of the present stage."""
        try:
            with open(self.log, "a", encoding="utf-8") as self.display.log:
                run(
                    fairseq_train.command(self, progress, last),
                    f"fairseq-train, whose whole output is in {self.log},",
                    self.display,
                    threads=self.options.threads,
                    inherit=inherit,
                )
        except BrokenPipeError:  # nobody reads what is said here any more
            raise
        except OSError as error:  # a full disk, most likely; writing does not name the file
            raise UserError(f"{error.filename or self.log}: {error.strerror or error}") from None
        finally:
            self.display.close()

    def keep(self, best: int, epochs: list[Epoch]) -> None:
        """Put the best checkpoint in its place, which fairseq may have chosen by another score; all is done."""
        (path,) = [epoch.path for epoch in epochs if epoch.number == best]
        if path.name != checkpoints.BEST:
            with written_whole(self.best) as unfinished:
                shutil.copyfile(path, unfinished)
        progress = Progress.of(epochs)
        before = self.base.clock() if self.base else 0.0
        self.record["finished"] = {
            "best_epoch": best,
            "progress": progress._asdict(),
            "seconds": round(progress.clock - before, 1),
        }
        if self.stopped_by_clock:
            self.record["finished"]["stopped_at_seconds"] = self.limit.seconds
        self.write_record()

    def outcome(self) -> str:
        finished = self.record["finished"]
        return f"{finished['progress']['last']} epochs, the best by {self.options.best_by} is {finished['best_epoch']}"
