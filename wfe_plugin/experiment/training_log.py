"""Training curves, from the log that wfe-train keeps beside the model."""

from __future__ import annotations

import json
import re
from pathlib import Path

from wfe_plugin.pipeline.display import LOG, PARAMETERS

LOSSES = ("nll_loss", "wfe_loss", "unlikelihood_loss", "risk")  # by the names that the criteria log
_EPOCH = re.compile(r"\| INFO \| (train|valid) \| (\{.*\})$")


def read_curves(model: Path) -> dict[str, dict[int, float]]:
    """Curves by name (`train_nll_loss`, `valid_wfe_loss`, ...): value by epoch.

    An epoch that was trained twice, because the first time was interrupted, counts as it
    was the last time.
    """
    curves: dict[str, dict[int, float]] = {}
    try:
        lines = (model / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return curves
    for line in lines:
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
    try:
        found = PARAMETERS.findall((model / LOG).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return 0
    return int(found[-1][0].replace(",", "")) if found else 0
