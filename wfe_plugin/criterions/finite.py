"""Which loss is not a number, and for which pairs."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def describe_non_finite(logged: Mapping, outputs: Sequence[Tensor], ids: Tensor) -> str:
    """The message for a batch whose loss is NaN or infinite.

    Args:
        logged: what a criterion logs; the losses are those whose names end so
        outputs: what the losses were computed from, (sentences, ...) each
        ids: numbers of the sentences in their data set, from 0, (sentences,)
    """
    values = ", ".join(f"{name} is {float(value):g}" for name, value in logged.items() if name.endswith("loss"))
    wrong = torch.zeros_like(ids, dtype=torch.bool)
    for output in outputs:
        wrong |= ~torch.isfinite(output).flatten(1).all(dim=1)
    # Large but finite outputs can give an infinite loss: then it may be any of them.
    numbers = sorted((ids[wrong] if wrong.any() else ids).tolist())
    shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
    return (
        f"{values}, for {len(numbers)} of the {len(ids)} pairs of a batch (numbers from "
        f"0: {shown}). If it is all of them, training has diverged: use a smaller --lr "
        "or --clip-norm; else look at these pairs"
    )
