"""What is shown while an experiment runs."""

from __future__ import annotations

import re
import time
from pathlib import Path

from wfe_plugin import standard_streams
from wfe_plugin.experiment.commands import Command, last_output


def say(message: str) -> None:
    standard_streams.say(f"{time.strftime('%H:%M:%S')}  {message}")


class Progress:
    """Prints what wfe-train says of each epoch of each training."""

    _epoch = re.compile(r"^train: (epoch \d+: .*)$", re.MULTILINE)

    def __init__(self):
        self.shown: dict[Path, int] = {}

    def __call__(self, command: Command) -> None:
        epochs = self._epoch.findall(last_output(command.log))
        for epoch in epochs[self.shown.get(command.log, 0) :]:
            say(f"{command.name}: {epoch}")
        self.shown[command.log] = len(epochs)
