"""The "large vocabulary trick": which words an output layer is computed for.

Jean et al. (2015), https://aclanthology.org/P15-1001/, as Nallapati et al. (2016) use
it for summaries: the words of the source texts, and frequent words up to a size.
"""

import torch
from torch import Tensor


def words_at_hand(words: Tensor, vocabulary: int) -> Tensor:
    """Which words of the vocabulary occur.

    Args:
        words: (groups, number), indices; a negative one stands for no word

    Returns:
        (groups, vocabulary), boolean
    """
    # One column more, which takes what is no word.
    occurs = torch.zeros(words.size(0), vocabulary + 1, dtype=torch.bool, device=words.device)
    occurs.scatter_(1, words.masked_fill(words < 0, vocabulary), True)
    return occurs[:, :vocabulary]


def fill_up(occurs: Tensor, size: int) -> Tensor:
    """Add the most frequent other words until there are `size`; none is taken away.

    Args:
        occurs: (groups, vocabulary), boolean; the most frequent words come first

    Returns:
        (groups, vocabulary), boolean
    """
    missing = size - occurs.sum(dim=1, keepdim=True)
    return occurs | ((~occurs).cumsum(dim=1) <= missing)
