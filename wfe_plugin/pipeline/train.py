"""Prepared data to a trained model: what wfe-train runs.

With an estimator of its own phase (`votes`), --out gets

    model/               phase 1: the model, what --baseline trains
    checkpoint_best.pt   phase 2: the same model with its estimate; phase 3: calibrated
    training.json        what was asked for, and how far it is
    train.log            the output of fairseq-train
    calibration.json     what was decoded to calibrate
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Optional

import torch

from wfe_plugin.errors import UserError
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.pipeline import checkpoints, work_directory
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.calibrate import EVALUATIONS, calibrate, store
from wfe_plugin.pipeline.display import say
from wfe_plugin.pipeline.prepared_data import PreparedData
from wfe_plugin.pipeline.presets import preset_for
from wfe_plugin.pipeline.record import RECORD, Progress, read_record
from wfe_plugin.pipeline.train_options import TrainOptions, check_processes
from wfe_plugin.pipeline.training import Training

# fairseq's data loaders take up to five seconds to notice that their training was interrupted.
LOCK_SECONDS = 8
CALIBRATION_NOTES = "calibration.json"
CALIBRATION_PAIRS = (100, 1000)  # at least, unless the validation set has fewer, and at most
CALIBRATION_SECONDS = 120  # that it may always take
POLL_SECONDS = 2


def train(options: TrainOptions) -> None:
    """Train, or continue a training that was interrupted."""
    options.validate()
    check_processes(options)
    data = PreparedData(options.data)
    base = base_of(options, data)
    options = options.completed(options.preset or chosen_preset(data, base))
    with ExitStack() as stack:
        if options.in_phases:
            train_in_phases(options, data, stack)
        else:
            training = Training(options, data, base)
            phases = Phases([title(options), *(["calibration"] if is_calibrated(training) else [])])
            phases.begin()
            training.run(hold(training, stack))
            if is_calibrated(training):
                phases.begin()
                calibrate_training(training)


def train_in_phases(options: TrainOptions, data: PreparedData, stack: ExitStack) -> None:
    """The model, the estimate on top of it, and the calibration of both."""
    phases = Phases(["model", "estimate", *(["calibration"] if options.calibration else [])])
    model = Training(options.phase_of_the_model(), data)
    estimate = Training(options.phase_of_the_estimate(), data)
    first = options.machine == 0
    held = hold(estimate, stack)
    if first:
        estimate.claim()
    held += hold(model, stack)
    phases.begin()
    model.run(held)
    if not first:
        wait_for_phase_1(model, estimate)
    phases.begin()
    base = BaseModel("--out", str(model.out))
    if first:
        estimate.stand_on(base)
    else:
        estimate.base = base
    estimate.run(held)
    if options.calibration:
        phases.begin()
        calibrate_training(estimate)


def planned(options: TrainOptions) -> Training:
    """The training of options that have one phase."""
    data = PreparedData(options.data)
    base = base_of(options, data)
    return Training(options.completed(options.preset or chosen_preset(data, base)), data, base)


def base_of(options: TrainOptions, data: PreparedData) -> Optional[BaseModel]:
    """The model that the user names to start from, checked."""
    if not (options.add_wfe or options.start_from):
        return None
    base = BaseModel("--add-wfe" if options.add_wfe else "--from", options.add_wfe or options.start_from)
    base.check_data(data.identity)
    if options.add_wfe:
        base.check_takes_estimate(options.preset)
    return base


def chosen_preset(data: PreparedData, base: Optional[BaseModel]) -> str:
    """That of the model that the training starts from, or by the size of the data."""
    if base and base.preset:
        return base.preset
    preset = preset_for(data.pairs)
    say(f"--preset {preset}, chosen for {data.pairs:,} training pairs")
    return preset


def title(options: TrainOptions) -> str:
    """Of a training of one phase."""
    if options.start_from:
        return "minimum risk training"
    return "model" if options.baseline else "estimate" if options.add_wfe else "model and estimate"


class Phases:
    """Says which phase of how many begins, if there are several."""

    def __init__(self, titles: Sequence[str]):
        self.titles = list(titles)
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1
        if len(self.titles) > 1:
            say(f"phase {self.begun} of {len(self.titles)}: {self.titles[self.begun - 1]}")


# Calibration


def is_calibrated(training: Training) -> bool:
    """Whether a calibration follows, which is up to the first machine."""
    estimator = training.record["settings"].get("estimator")
    return not training.options.machine and training.options.calibrates(estimator)


def calibrate_training(training: Training) -> None:
    """Choose how the finished model decodes, in at most a tenth of the time that it was trained.

    How many pairs are decoded depends on the number of pairs that were trained on and not on a clock, so that
    an interrupted training ends as an undisturbed one: to decode a pair costs about as much as to
    train on two.
    """
    options = training.options
    if options.machine > 0:
        return
    known = training.record.get("calibration")
    if known and options.protocol in (None, Calibration.parse(known).protocol):
        say(f"{options.out}: already calibrated; {known}")
        return
    epochs = training.record["finished"]["progress"]["last"] + (training.base.epochs() if training.base else 0)
    least, most = CALIBRATION_PAIRS
    clock = checkpoints.clock(checkpoints.load(training.best))
    if options.threads:
        torch.set_num_threads(options.threads)
    calibration = calibrate(
        training.best,
        training.data.directory,
        protocol=options.protocol or "f1",
        seconds=max(CALIBRATION_SECONDS, clock / 10),
        max_pairs=max(least, min(most, epochs * training.data.pairs // (20 * EVALUATIONS))),
        arguments=["--cpu"] if options.on_cpu else [],
        notes=training.out / CALIBRATION_NOTES,
        say=say,
    )
    store(training.best, calibration)
    say(f"done: {calibration}: {options.out}/{checkpoints.BEST}")


# Directories


def hold(training: Training, stack: ExitStack) -> list[int]:
    """Make and lock the directory of a training; the descriptor is for child processes to hold, too."""
    training.out.mkdir(parents=True, exist_ok=True)
    if training.options.machine:
        return []
    return [stack.enter_context(locked(training.out, training.options.out))]


@contextmanager
def locked(out: Path, name: str) -> Iterator[int]:
    """Hold a directory as long as a process of its training lives, also one that outlives us."""
    give_up = time.monotonic() + LOCK_SECONDS
    with ExitStack() as held:
        while True:
            try:
                descriptor = held.enter_context(work_directory.locked(out))
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise UserError(
                        f"{name}: another training is running in this directory; wait until it ends"
                    ) from None
                time.sleep(0.2)
        yield descriptor


def wait_for_phase_1(model: Training, estimate: Training) -> None:
    """On other machines: until the first one has chosen the model and begun the estimate."""
    say("waiting for machine 0 to finish phase 1")
    reached = Progress.of(checkpoints.finished_epochs(model.out)).last
    while True:
        if (model.out / RECORD).is_file() and (estimate.out / RECORD).is_file():
            finished = read_record(model.out / RECORD).get("finished")
            if finished and finished["progress"]["last"] >= reached:
                base = read_record(estimate.out / RECORD).get("base")
                if base == BaseModel("--out", str(model.out)).identity():
                    return
        time.sleep(POLL_SECONDS)
