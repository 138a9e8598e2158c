"""What wfe-train notes of a training, and how far it is."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple, Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.pipeline.text import sha256
from wfe_plugin.pipeline.time_limit import TimeLimit
from wfe_plugin.pipeline.treat import SIDES
from wfe_plugin.whole_files import write_json

RECORD = "training.json"
VERSION = 2  # of the record; 0.1.0 wrote none


class Progress(NamedTuple):
    """How far a training is; `waited` epochs have gone by since the best one, and `clock` is fairseq's."""

    last: int = 0
    best: int = 0
    score: Optional[float] = None
    waited: int = 0
    clock: float = 0.0

    @classmethod
    def of(cls, epochs: list[Epoch]) -> "Progress":
        if not epochs:
            return cls()
        best = min(epochs, key=lambda epoch: epoch.score)  # the first, of equal ones
        last = epochs[-1]
        return cls(last.number, best.number, best.score, last.number - best.number, last.clock)

    def complete(self, epochs: int, patience: int, limit: TimeLimit) -> bool:
        return self.last >= epochs or self.waited >= patience or limit.is_reached(self.clock, self.last)


def read_record(path: Path) -> dict:
    """`version`; `settings`, which must stay the same when a training continues; `vocabularies`; and once they
    are known `base`, the model of its own that it stands on, `finished` and `calibration`."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        record.setdefault("version", 1)
        PRESETS[record["settings"]["preset"]], record["settings"]["data"], record["settings"]["baseline"]
        if "finished" in record:
            record["finished"]["best_epoch"], Progress(**record["finished"]["progress"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{path}: damaged, or changed by hand: restore it, or remove its directory and train again"
        ) from None
    return record


def note_calibration(checkpoint: Path, calibration: str) -> None:
    """In the record of the training that made a checkpoint, if there is one."""
    path = checkpoint.with_name(RECORD)
    if path.is_file():
        write_json(path, {**read_record(path), "calibration": calibration})


def vocabularies(data: Path) -> dict[str, str]:
    """What tells whether data have the words that a model was trained with."""
    return {side: sha256(str(data / f"dict.{side}.txt")) for side in SIDES}


def data_identity(prepared: dict) -> str:
    """Changes with what wfe-preprocess was told and given."""
    content = json.dumps([prepared["settings"], prepared["text"]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def difference(key: str, old: dict, new: dict) -> str:
    """How two settings differ, for people."""
    if key in ("data", "add_wfe", "start_from"):
        return "other data" if key == "data" else "another model"
    return f"{old.get(key)} there, {new.get(key)} wanted"
