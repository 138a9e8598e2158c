"""What wfe-train shows people of fairseq's output."""

import json
import re
import sys
import time
from typing import Optional, TextIO

from tqdm import tqdm

from wfe_plugin import standard_streams
from wfe_plugin.pipeline.progress import duration

LOG = "train.log"
LOSSES = {"nll_loss": "nll", "wfe_loss": "wfe", "unlikelihood_loss": "unlikelihood", "risk": "risk", "loss": "loss"}

_VALUES = re.compile(r"\| INFO \| (train_inner|valid) \| (\{.*\})$")
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+) \(num\. trained: ([\d,]+)\)")
_UPDATES = re.compile(r"grouped total_num_itrs = (\d+)")


class Display:
    """Writes fairseq's output to the log, and what people want to see of it to the terminal.

    One line at the start; then one per epoch, and on a terminal a bar within each.

    Args:
        begin: what is known before fairseq starts, such as the number of pairs
        end: what is to be said last at the start, such as where the log is
        epochs: the largest number of epochs
    """

    def __init__(self, begin: str, end: str, epochs: int):
        self.begin, self.end, self.epochs = begin, end, epochs
        self.log: Optional[TextIO] = None
        self.parameters = ""
        self.updates = 0  # per epoch, once it is known
        self.started = 0.0  # the present epoch
        self.seconds: list[float] = []  # of each epoch, validation included
        self.bar: Optional[tqdm] = None

    def __call__(self, line: str) -> None:
        self.log.write(line + "\n")
        self.log.flush()
        if "| WARNING |" in line:
            say(line.split("| WARNING |", 1)[1].strip())
        elif found := PARAMETERS.search(line):
            trained = "" if found[1] == found[2] else f", {found[2]} of them trained"
            self.parameters = f"{found[1]} parameters{trained}"
        elif found := _UPDATES.search(line):
            self.start_epoch(int(found[1]))
        elif found := _VALUES.search(line):
            values = json.loads(found[2])
            if found[1] == "valid":
                self.end_epoch(values)
            else:
                self.show_updates(values)

    def start_epoch(self, updates: int) -> None:
        if not self.updates:
            say(f"{self.begin}, {updates:,} updates per epoch, {self.parameters}, {self.end}")
        self.updates, self.started = updates, time.monotonic()
        if sys.stderr is not None and sys.stderr.isatty():
            self.bar = tqdm(total=updates, unit=" updates", leave=False, dynamic_ncols=True, file=sys.stderr)

    def show_updates(self, values: dict) -> None:
        if self.bar is not None:
            self.bar.set_description(f"epoch {values['epoch']}: {losses(values, '')}", refresh=False)
            self.bar.update(round(self.updates * (values["update"] - values["epoch"] + 1)) - self.bar.n)

    def end_epoch(self, values: dict) -> None:
        self.seconds.append(time.monotonic() - self.started)
        self.close()
        epoch, mean = values["epoch"], sum(self.seconds) / len(self.seconds)
        left = self.epochs - epoch
        rest = f", at most {duration(left * mean)} left" if left > 0 else ""
        say(f"epoch {epoch}: validation {losses(values, 'valid_')}; {duration(self.seconds[-1])}{rest}")

    def close(self) -> None:
        """Remove what is left of a bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def losses(values: dict, prefix: str) -> str:
    return ", ".join(f"{label} {values[prefix + name]}" for name, label in LOSSES.items() if prefix + name in values)


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"train: {message}")
