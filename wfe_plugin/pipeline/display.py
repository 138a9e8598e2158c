"""What train.sh shows people of fairseq's output."""

import json
import re

from wfe_plugin import standard_streams

LOG = "train.log"


class Display:
    """Writes fairseq's output to the log, and what people want to see of it to the terminal."""

    _progress = re.compile(r"\| INFO \| (train_inner|valid) \| (\{.*\})$")
    _names = {"nll_loss": "nll", "wfe_loss": "wfe", "unlikelihood_loss": "unlikelihood", "risk": "risk", "loss": "loss"}

    def __init__(self, log):
        self.log = log

    def __call__(self, line: str) -> None:
        self.log.write(line + "\n")
        self.log.flush()
        match = self._progress.search(line)
        if match:
            self.show(match[1], json.loads(match[2]))
        elif "| WARNING |" in line:
            say(line.split("| WARNING |", 1)[1].strip())

    def show(self, kind: str, values: dict) -> None:
        epoch = values["epoch"]
        prefix = "valid_" if kind == "valid" else ""
        losses = ", ".join(
            f"{label} {values[prefix + name]}" for name, label in self._names.items() if prefix + name in values
        )
        if kind == "valid":
            say(f"epoch {epoch}: validation {losses}")
        else:
            share = 100 * (values["update"] - epoch + 1)
            say(f"epoch {epoch}, {share:3.0f} %: {losses}; {values['ups']} updates a second")


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"train: {message}")
