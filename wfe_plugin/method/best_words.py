"""The best words of each hypothesis, from one pass over the vocabulary."""

import torch
from torch import Tensor

# Words of a group of which only the best is looked at first.
GROUP = 32
# In a smaller vocabulary there is nothing to gain by groups.
SMALL_VOCABULARY = 4096


def best_words(scores: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """The same as `scores.topk(number)`, in no particular order.

    A beam search wants the best dozen of some ten thousand words. The best
    *number* words are in the *number* groups with the best maxima, so that a
    maximum of each group, a fast pass, leaves few words to be sorted.

    Args:
        scores: (rows, vocabulary)

    Returns:
        scores and word indices, (rows, number) each
    """
    rows, vocabulary = scores.shape
    groups = vocabulary // GROUP
    if vocabulary < SMALL_VOCABULARY or number > groups:
        return scores.topk(number, sorted=False)
    grouped = scores[:, : GROUP * groups].unflatten(1, (GROUP, groups))
    best_groups = grouped.amax(dim=1).topk(number, sorted=False).indices
    members = torch.arange(GROUP, device=scores.device).view(1, GROUP, 1) * groups
    left_over = torch.arange(GROUP * groups, vocabulary, device=scores.device)
    words = torch.cat(
        (
            (best_groups.unsqueeze(1) + members).flatten(1),
            left_over.expand(rows, -1),
        ),
        dim=1,
    )
    best = scores.gather(1, words).topk(number, sorted=False)
    return best.values, words.gather(1, best.indices)
