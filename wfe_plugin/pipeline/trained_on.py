"""The data that a model was trained on, and whether others have its vocabulary."""

import argparse
import json
import os
from pathlib import Path
from typing import Optional

from wfe_plugin.pipeline.errors import PipelineError
from wfe_plugin.pipeline.record import RECORD, data_identity
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES


def data_directory(checkpoint: dict) -> Optional[Path]:
    """What the checkpoint itself names, if anything."""
    task = checkpoint["cfg"].get("task")
    if isinstance(task, argparse.Namespace):
        task = vars(task)
    data = task.get("data") if isinstance(task, dict) else None
    return Path(os.path.abspath(data)) if isinstance(data, str) else None


def check_vocabularies(model: Path, trained_on: Path, data: Path) -> None:
    """As far as it can be known: other words of the same number would give nonsense without an error."""
    recorded, there = recorded_identity(model), identity(trained_on)
    if recorded and there and recorded != there:
        if identity(data) == recorded:  # kept, or made again, elsewhere
            return
        raise PipelineError(
            f"{trained_on}: prepared anew, from other text or with other settings, since {model} was trained on it: "
            "its vocabulary may be another. Prepare it as it was, name a copy of what it was with --data, "
            "or train the model again"
        )
    for side in SIDES:
        own, given = trained_on / f"dict.{side}.txt", data / f"dict.{side}.txt"
        if own.is_file() and given.is_file() and own.read_bytes() != given.read_bytes():
            raise PipelineError(
                f"{given}: not the vocabulary that {model} was trained with, {own}; prepare the data "
                f"with that one (preprocess.sh ... -- --srcdict {trained_on}/dict.{SIDES[0]}.txt "
                f"--tgtdict {trained_on}/dict.{SIDES[1]}.txt)"
            )


def recorded_identity(model: Path) -> Optional[str]:
    """That of the data when train.sh made the model; None if it did not, or the record is elsewhere."""
    try:
        return json.loads(model.with_name(RECORD).read_text(encoding="utf-8"))["settings"]["data"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def identity(directory: Path) -> Optional[str]:
    """That of the data now; None if preprocess.sh did not make them."""
    try:
        return data_identity(json.loads((directory / SETTINGS_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
