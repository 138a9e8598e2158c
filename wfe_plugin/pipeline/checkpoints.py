"""What the pipelines read from fairseq's checkpoints."""

import re
from pathlib import Path
from typing import List, NamedTuple

import torch

import wfe_plugin  # noqa: F401  (lets torch load fairseq's checkpoints)
from wfe_plugin.pipeline.errors import PipelineError

BEST = "checkpoint_best.pt"


class Epoch(NamedTuple):
    """A finished epoch whose checkpoint is there."""

    number: int
    path: Path
    score: float  # of validation; less is better


def load(path) -> dict:
    """A checkpoint as fairseq wrote it, on the CPU."""
    try:
        return torch.load(path, map_location="cpu")
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # the unpickler, the zip reader and torch have each their own
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PipelineError(f"{path}: not a checkpoint that can be loaded ({reason})") from None


def finished_epochs(directory: Path) -> List[Epoch]:
    """The epochs of a training, in order.

    fairseq writes these files under another name first: they are always complete.
    """
    epochs = []
    for path in directory.glob("checkpoint*.pt"):
        match = re.fullmatch(r"checkpoint(\d+)\.pt", path.name)
        if match:
            epochs.append(Epoch(int(match[1]), path, float(load(path)["extra_state"]["val_loss"])))
    return sorted(epochs)


def has_wfe(checkpoint: dict) -> bool:
    """Whether the model estimates word frequencies."""
    return any(name.startswith("wfe_head.") for name in checkpoint["model"])
