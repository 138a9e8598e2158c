"""Minimum risk training (Shen et al., 2016): the expected cost of what a model would say.

https://aclanthology.org/P16-1159/; for headlines with ROUGE: Ayana et al. (2016),
https://arxiv.org/abs/1604.01904
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def expected_risk(log_p: Tensor, cost: Tensor, alpha: float) -> Tensor:
    """The expected cost of each sentence's candidates (Equations 10 and 11 of Shen et al.).

        Σ_y Q(y) Δ(y),  Q(y) = P(y)^α / Σ_y' P(y')^α

    Args:
        log_p: (sentences, candidates), log P(y | x); -inf where a sentence has
            fewer candidates than others
        cost: (sentences, candidates), Δ(y)
        alpha: sharpness; 0: all candidates alike, large: the likeliest alone

    Returns:
        (sentences,), float32
    """
    log_p = log_p.float()
    absent = log_p.eq(float("-inf"))
    # 0 times infinity would be no number.
    q = torch.softmax((alpha * log_p).masked_fill(absent, float("-inf")), dim=1)
    return (q * cost.float()).sum(dim=1)


def distinct(reference: Sequence[int], drawn: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """The subset of outputs that the risk is over: the reference first, and each output once."""
    return list(dict.fromkeys(map(tuple, (reference, *drawn))))


def by_sentence(rows: Tensor, counts: Sequence[int], fill: float) -> Tensor:
    """Values of candidates that stand one sentence after the other, as a table.

    Args:
        rows: (all candidates,)
        counts: how many candidates each sentence has

    Returns:
        (sentences, most candidates), *fill* where a sentence has fewer
    """
    return torch.nn.utils.rnn.pad_sequence(rows.split(list(counts)), batch_first=True, padding_value=fill)
