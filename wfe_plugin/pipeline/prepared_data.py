"""The directory that wfe-preprocess has made, as a training sees it."""

import json
import os
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.record import data_identity, vocabularies
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES, Treatment


class PreparedData:
    """Binarised training and validation sets with their vocabularies, all there.

    `identity` changes with what wfe-preprocess was told and given; `pairs` counts the training set.
    """

    def __init__(self, name: str):
        self.name = name
        self.directory = Path(os.path.abspath(name))
        content = self.read()
        self.identity = data_identity(content)
        self.vocabularies = vocabularies(self.directory)
        report = content["report"]["train"]
        self.pairs = report["lines"] - report["empty"] - report["too_long"]
        # One more, for the end of the sentence. fairseq would silently drop longer pairs.
        self.lengths = {side: content["settings"][f"{side}_max_length"] + 1 for side in SIDES}

    def read(self) -> dict:
        """What wfe-preprocess noted; raises if anything is missing."""
        directory = self.directory
        if not directory.is_dir():
            raise UserError(f"{directory}: no such directory")
        if os.pathsep in str(directory):
            raise UserError(f"{directory}: fairseq takes {os.pathsep!r} in the name as a separator; rename it")
        Treatment.load(directory)
        for side in SIDES:
            if not (directory / f"dict.{side}.txt").is_file():
                raise UserError(f"{directory}: dict.{side}.txt is missing: run wfe-preprocess again")
        for split in ("train", "valid"):
            if not any(directory.glob(f"{split}.{'-'.join(SIDES)}.*")):
                raise UserError(f"{directory}: holds no binarised {split} set: run wfe-preprocess again")
            check_set(directory, split)
        return json.loads((directory / SETTINGS_FILE).read_text(encoding="utf-8"))

    def check_unchanged(self) -> None:
        """A training reads them again in each stage, and decodes them in the end."""
        if data_identity(self.read()) != self.identity:
            raise UserError(
                f"{self.name}: was prepared again while a model was training on it; choose another --out for the new data"
            )
