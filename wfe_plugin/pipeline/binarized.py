"""Is a binarised set whole?"""

import logging
from pathlib import Path

from fairseq.data.data_utils import load_indexed_dataset

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.treat import SIDES


def check_set(directory: Path, split: str) -> None:
    """Raise if a file of the set has been cut short: fairseq would find out in the middle of training."""
    logging.getLogger(load_indexed_dataset.__module__).setLevel(logging.WARNING)  # how many pairs there are is no news
    for side in SIDES:
        prefix = directory / f"{split}.{'-'.join(SIDES)}.{side}"
        try:
            sentences = load_indexed_dataset(str(prefix))
            whole = sentences is not None and len(sentences[len(sentences) - 1]) > 0
        except Exception:  # whatever numpy, struct and mmap make of it
            whole = False
        if not whole:
            raise UserError(f"{prefix}: missing, damaged or cut short: run wfe-preprocess again")
