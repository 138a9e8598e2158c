"""The data that a model was trained on, and whether others have its vocabulary."""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.text import sha256
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES, Treatment, codes_file


def data_directory(checkpoint: dict) -> Optional[Path]:
    """What the checkpoint itself names, if anything."""
    task = checkpoint["cfg"].get("task")
    if isinstance(task, argparse.Namespace):
        task = vars(task)
    data = task.get("data") if isinstance(task, Mapping) else None
    return Path(os.path.abspath(data)) if isinstance(data, str) else None


def check_vocabularies(model: Path, trained_on: Path, data: Path) -> None:
    """As far as it can be known: other words of the same number would give nonsense without an error.

    `trained_on` may have been prepared anew since, with other words; wfe-train has noted which they were.
    """
    advice = f"Prepare the texts with its own: wfe-preprocess --like {trained_on} ..."
    if trained_on != data and (trained_on / SETTINGS_FILE).is_file() and (data / SETTINGS_FILE).is_file():
        settings = Treatment.load(trained_on).settings
        differs = settings != Treatment.load(data).settings
        for own in () if settings.bpe == "none" else {codes_file(trained_on, settings, side) for side in SIDES}:
            differs = differs or own.read_bytes() != (data / own.name).read_bytes()
        if differs:
            raise UserError(f"{data}: has another treatment or other BPE codes than {model} was trained with. {advice}")
    recorded = recorded_vocabularies(model)
    for side in SIDES:
        own, given = trained_on / f"dict.{side}.txt", data / f"dict.{side}.txt"
        if not given.is_file():
            continue  # which others say
        if side in recorded:
            same = sha256(str(given)) == recorded[side]
        else:
            same = not own.is_file() or own.read_bytes() == given.read_bytes()
        if not same:
            raise UserError(
                f"{given}: differs from the vocabulary that {model} was trained with (on {trained_on}). {advice}"
            )


def recorded_vocabularies(model: Path) -> dict[str, str]:
    """Those of the data when wfe-train made the model; none if it did not, or the record is elsewhere."""
    try:
        return dict(json.loads(model.with_name(RECORD).read_text(encoding="utf-8"))["vocabularies"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
