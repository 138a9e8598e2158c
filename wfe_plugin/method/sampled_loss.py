"""The loss of an estimate from a part of the vocabulary: what makes training quick where it is large.

A sentence says nothing new about most words: they are neither in the source nor in the summary, and rare.
The loss is a sum over words, so a few of those, drawn at random, stand for all of them.
"""

from typing import Optional

import torch
from torch import Tensor

from wfe_plugin.method.estimator import PendingEstimate, WordLogits
from wfe_plugin.method.sliced_loss import LossOfEstimate, sliced_loss

# Words that always count, by their index: dictionaries begin with the most frequent ones.
FREQUENT = 4096
# Words that stand for all others.
DRAWN = 2048
NOWHERE = -1


def sampled_loss(
    pending: PendingEstimate, loss_of: LossOfEstimate, target: Tensor, pad: int, drawn: Optional[Tensor] = None
) -> Tensor:
    """An unbiased estimate of :func:`sliced_loss`, which it is where the vocabulary is small.

    Counted as they are: frequent words, and the words of the batch's sources and summaries. Each drawn
    word stands for (other words / drawn words) words.

    Args:
        pending: what the sub-model has read of the batch
        loss_of: see `sliced_loss`
        target: (sentences, length), word indices, padded with *pad*
        drawn: (number,), different words; default: DRAWN at random
    """
    vocabulary = pending.vocabulary_size
    if drawn is None:
        if vocabulary <= FREQUENT + DRAWN:
            return sliced_loss(pending, loss_of, target, pad)
        drawn = torch.randint(FREQUENT, vocabulary, (DRAWN,), device=target.device).unique()
    counts = torch.zeros(vocabulary, dtype=torch.bool, device=target.device)
    counts[:FREQUENT] = True
    for words in (target, pending.r.words, pending.g.words):
        if words is not None:
            counts[words] = True
    certain, others = counts.nonzero().view(-1), drawn[~counts[drawn]]
    loss = restricted_loss(pending, loss_of, target, pad, certain)
    if len(others) == 0:
        return loss
    weight = (vocabulary - len(certain)) / len(others)
    return loss + weight * restricted_loss(pending, loss_of, target, pad, others)


def restricted_loss(
    pending: PendingEstimate, loss_of: LossOfEstimate, target: Tensor, pad: int, words: Tensor
) -> Tensor:
    """The part of the loss that is of these words, (number,), all different."""
    places = torch.full((pending.vocabulary_size,), NOWHERE, device=target.device)
    places[words] = torch.arange(len(words), device=target.device)

    def of_words(logits: WordLogits) -> WordLogits:
        return logits._replace(
            weight=logits.weight.index_select(0, words),
            bias=None if logits.bias is None else logits.bias.index_select(0, words),
            words=None if logits.words is None else places[logits.words],
        )

    part = pending._replace(r=of_words(pending.r), g=of_words(pending.g))
    return sliced_loss(part, loss_of, places[target].masked_fill(target.eq(pad), NOWHERE), NOWHERE)
