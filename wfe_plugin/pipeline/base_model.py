"""A trained model that another training starts from: wfe-train --add-wfe and --from."""

import os
from pathlib import Path
from typing import Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.fairseq_options import options_of_the_model
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.pipeline.record import RECORD, read_record
from wfe_plugin.pipeline.text import sha256


class BaseModel:
    """The model that an option of wfe-train names: a directory that it made, or a checkpoint.

    `settings` are those that it was trained with; None if wfe-train knows nothing of it.
    """

    def __init__(self, option: str, name: str):
        self.option = option
        path = Path(os.path.abspath(name))
        self.checkpoint = path / checkpoints.BEST if path.is_dir() else path
        if not self.checkpoint.is_file():
            self.refuse(f"{self.checkpoint}: no such file")
        self.settings = self.read_settings()

    def refuse(self, reason: str) -> None:
        raise UserError(f"{self.option}: {reason}") from None

    def read_settings(self) -> Optional[dict]:
        record = self.checkpoint.with_name(RECORD)
        if not record.is_file():
            return None
        try:
            stored = read_record(record)
        except UserError as error:
            self.refuse(str(error))
        if "finished" not in stored:
            self.refuse(f"the training of {self.checkpoint} is not finished")
        return stored["settings"]

    def clock(self) -> float:
        """Seconds that it has been trained; fairseq goes on counting from there."""
        return checkpoints.clock(checkpoints.load(self.checkpoint))

    def epochs(self) -> int:
        """How many it was trained for; 0 if wfe-train knows nothing of it."""
        record = self.checkpoint.with_name(RECORD)
        return read_record(record)["finished"]["progress"]["last"] if self.settings else 0

    @property
    def preset(self) -> Optional[str]:
        """Whose model it is; None if wfe-train knows nothing of it."""
        return self.settings and self.settings.get("model_preset", self.settings["preset"])

    def identity(self) -> str:
        """The same after another calibration, which leaves the weights as they are."""
        return checkpoints.weights_digest(checkpoints.load(self.checkpoint))

    def has_identity(self, noted: str) -> bool:
        """Whether it is the model that a record names; version 0.1.0 noted the digest of the whole file."""
        if noted.startswith(checkpoints.WEIGHTS):
            return noted == self.identity()
        return noted == sha256(str(self.checkpoint))

    def check_data(self, data: str) -> None:
        if self.settings and self.settings["data"] != data:
            self.refuse(f"{self.checkpoint} was trained with another --data")

    def check_takes_estimate(self, preset: Optional[str]) -> None:
        if preset and self.preset and self.preset != preset:
            self.refuse(f"{self.checkpoint} was trained with another --preset")
        if self.preset and not PRESETS[self.preset].takes_wfe:
            self.refuse(f"the model of --preset {self.preset} takes no estimate")
        if checkpoints.has_wfe(checkpoints.load(self.checkpoint)):
            self.refuse(f"{self.checkpoint} has an estimate already")

    def model_settings(self) -> dict:
        """What makes the same model again: preset, estimator, and options of fairseq-train.

        A training that starts from this one notes them in its own record.
        """
        settings = self.settings
        if settings is None:
            self.refuse(f"{self.checkpoint.with_name(RECORD)} is missing: name a model that wfe-train made")
        if "model_options" in settings:
            return {
                key: settings[key]
                for key in ("model_preset", "baseline", "estimator", "model_options")
                if key in settings
            }
        estimator = None if settings["baseline"] else settings.get("estimator", "paper")
        return {
            "model_preset": settings["preset"],
            "baseline": settings["baseline"],
            **({"estimator": settings["estimator"]} if "estimator" in settings else {}),
            "model_options": self.model_options(estimator),
        }

    def model_options(self, estimator: Optional[str]) -> list[str]:
        """Options of fairseq-train that make the same model with this estimator, or (None) without."""
        settings = self.settings
        if "model_options" in settings:
            kept = [option for option in settings["model_options"] if option != "--without-wfe"]
            return [*kept, *PRESETS[self.preset].wfe_options(estimator)]
        preset = PRESETS[settings["preset"]]
        options = [*preset.options, *preset.wfe_options(estimator)]
        return options + options_of_the_model(options, settings["fairseq_options"])
