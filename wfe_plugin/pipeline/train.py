"""Prepared data to a trained model: what wfe-train runs."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.display import say
from wfe_plugin.pipeline.prepared_data import PreparedData
from wfe_plugin.pipeline.presets import preset_for
from wfe_plugin.pipeline.train_options import TrainOptions, check_processes
from wfe_plugin.pipeline.training import Training

# fairseq's data loaders take up to five seconds to notice that their training was interrupted.
LOCK_SECONDS = 8


def train(options: TrainOptions) -> None:
    """Train, or continue a training that was interrupted."""
    options.validate()
    check_processes(options)
    training = planned(options)
    training.out.mkdir(parents=True, exist_ok=True)
    if options.machine > 0:
        training.run()
        return
    with locked(training.out, options.out) as descriptor:
        training.run(inherit=[descriptor])


def planned(options: TrainOptions) -> Training:
    """The training that options ask for, checked."""
    data = PreparedData(options.data)
    base = None
    if options.add_wfe or options.start_from:
        base = BaseModel("--add-wfe" if options.add_wfe else "--from", options.add_wfe or options.start_from)
        base.check_data(data.identity)
    if options.add_wfe:
        base.check_takes_estimate(options.preset)
    return Training(options.completed(options.preset or chosen_preset(data, base)), data, base)


def chosen_preset(data: PreparedData, base: Optional[BaseModel]) -> str:
    """That of the model that the training starts from, or by the size of the data."""
    if base and base.preset:
        return base.preset
    preset = preset_for(data.pairs)
    say(f"--preset {preset}, chosen for {data.pairs:,} training pairs")
    return preset


@contextmanager
def locked(out: Path, name: str) -> Iterator[int]:
    """Hold a directory as long as a process of its training lives, also one that outlives us."""
    descriptor = os.open(out, os.O_RDONLY)
    give_up = time.monotonic() + LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise UserError(f"{name}: a training is running in this directory") from None
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)
