"""N-gram blocking: the unlearned way to avoid repetition (Paulus et al., 2018)."""

from typing import Optional

import torch
from torch import Tensor


def repeating_words(generated: Tensor, n: int, filler: int, ignored: Optional[Tensor] = None) -> Tensor:
    """Words that would complete an n-gram which the row already has.

    Args:
        generated: (rows, words so far), without the start symbol
        n: the size of the n-gram that must not occur twice
        filler: stands at the places where there is no such word
        ignored: (number,), words whose n-grams may repeat, all that contain one

    Returns:
        (rows, number of earlier n-grams), word indices
    """
    rows, length = generated.shape
    if length < n:
        return generated.new_empty(rows, 0)
    earlier = generated.unfold(1, n, 1)  # (rows, n-grams, n)
    context = generated[:, length - n + 1 :].unsqueeze(1)  # the last n - 1 words
    completed = earlier[:, :, : n - 1].eq(context).all(dim=2)
    if ignored is not None:
        completed &= ~torch.isin(earlier, ignored).any(dim=2)
    return torch.where(completed, earlier[:, :, -1], filler)
