"""Training curves, from the log that wfe-train keeps beside the model."""

from __future__ import annotations

import json
import re
from pathlib import Path

from wfe_plugin.pipeline.display import LOG, PARAMETERS

LOSSES = ("nll_loss", "wfe_loss", "unlikelihood_loss", "risk")  # by the names that the criteria log
_EPOCH = re.compile(r"\| INFO \| (train|valid) \| (\{.*\})$")


def read_log(model: Path) -> str:
    """Empty if it is not there."""
    log = model / LOG
    return log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""


def read_curves(model: Path) -> dict[str, dict[int, float]]:
    """Curves by name (`train_nll_loss`, `valid_wfe_loss`, ...): value by epoch.

    An epoch that was trained twice, because the first time was interrupted, counts as it
    was the last time.
    """
    curves: dict[str, dict[int, float]] = {}
    for line in read_log(model).splitlines():
        match = _EPOCH.search(line)
        if not match:
            continue
        try:
            values = json.loads(match[2])
            epoch = int(values["epoch"])
        except (ValueError, KeyError):  # a line that an interruption cut
            continue
        for name in LOSSES:
            key = f"{match[1]}_{name}"
            if key in values:
                curves.setdefault(key, {})[epoch] = float(values[key])
    return curves


def read_parameters(model: Path) -> int:
    """How many numbers the model has to learn; 0 if the log does not tell."""
    found = PARAMETERS.findall(read_log(model))
    return int(found[-1][0].replace(",", "")) if found else 0
