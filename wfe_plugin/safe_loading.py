"""fairseq's checkpoints through torch's safe unpickler."""

import argparse

import numpy as np
import torch


def allow_fairseq_checkpoints() -> None:
    """Allow what fairseq checkpoints hold besides tensors and plain containers.

    Since torch 2.6, `torch.load` builds only objects of classes on a list.
    fairseq stores an `argparse.Namespace`, and numpy scalars where a metric such
    as BLEU was logged. Neither can run code when loaded. Everything else stays
    refused: a checkpoint is a file that people download.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return  # a torch from before the list, whose loading is as it always was
    scalar = np.float64(0).__reduce__()[0]
    scalar_types = (np.float64, np.float32, np.int64, np.int32)
    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            scalar,
            # numpy 1 and 2 name the module of `scalar` differently, and a
            # checkpoint may come from either.
            (scalar, "numpy.core.multiarray.scalar"),
            (scalar, "numpy._core.multiarray.scalar"),
            np.dtype,
            *{type(np.dtype(scalar_type)) for scalar_type in scalar_types},
        ]
    )
