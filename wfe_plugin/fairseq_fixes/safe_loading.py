"""fairseq's checkpoints through torch's safe unpickler."""

import argparse
import errno
import logging
import pickle
import re

import numpy as np
import torch

logger = logging.getLogger(__name__)


def allow_fairseq_checkpoints() -> None:
    """Allow what fairseq checkpoints hold besides tensors and plain containers.

    Since torch 2.6, `torch.load` builds only objects of classes on a list.
    fairseq stores an `argparse.Namespace`, and numpy numbers and arrays of
    numbers where a metric such as BLEU was logged. None of them can run code
    when loaded. Everything else stays refused: a checkpoint is a file that
    people download.
    """
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        logger.warning(
            f"torch {torch.__version__} runs whatever code a checkpoint holds: load only your own, "
            "or install torch 2.6 or newer"
        )
        return
    make_scalar = np.float64(0).__reduce__()[0]
    make_array = np.zeros(1).__reduce__()[0]
    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            np.ndarray,
            np.dtype,
            *(type(np.dtype(name)) for name in ("f4", "f8", "i4", "i8")),
            # numpy 1 and 2 name the module of these functions differently, and
            # a checkpoint may come from either.
            *(
                (function, f"numpy.{core}.multiarray.{function.__name__}")
                for function in (make_scalar, make_array)
                for core in ("core", "_core")
            ),
        ]
    )


def reason(error: Exception) -> str:
    """Why `torch.load` failed, in few words; its own advice is to load whatever it is."""
    text = str(error)
    if isinstance(error, pickle.UnpicklingError):
        found = re.search(r"GLOBAL ([\w.]+)", text)
        if found:
            return f"it would call {found[1]}, which no checkpoint needs: it may be hostile; nothing of it was run"
        return "damaged, or a pickle that no checkpoint is made of; nothing of it was run"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which torch meets where a file ends early
        return error.strerror or text
    lines = (getattr(error, "strerror", None) or text).splitlines() or [""]
    return f"damaged, cut short, or it holds no model of fairseq 0.12 ({lines[0][:160]})"
