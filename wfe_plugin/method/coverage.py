"""Scores of finished outputs as in Google's NMT (Wu et al., 2016, Equation 14).

    s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)
    lp(Y) = (5 + |Y|)^α / (5 + 1)^α
    cp(X; Y) = β · Σ_i log(min(Σ_j p_ij, 1))

p_ij is the attention to the source word i while the target word j was generated.
An output that leaves source words unread loses against one that reads them all,
and one that repeats itself has fewer steps left to read the rest.
"""

import torch
from torch import Tensor


def length_penalty(length: Tensor, alpha: float) -> Tensor:
    """lp(Y) of outputs with *length* words, the end of the sentence included."""
    return ((5.0 + length) / 6.0) ** alpha


def coverage_penalty(attention: Tensor, source_length: Tensor, beta: float) -> Tensor:
    """cp(X; Y), zero or negative, of each output.

    Args:
        attention: Σ_j p_ij, (outputs, source positions), zero at padding, wherever
            that is
        source_length: (outputs,), number of positions that are not padding
        beta: β

    Returns:
        (outputs,), float32
    """
    # Since padding has no attention, the words of the source are among the largest.
    largest = attention.float().sort(dim=1, descending=True).values
    # An attention that underflowed to zero must not make all outputs impossible.
    covered = largest.clamp(torch.finfo(torch.float32).tiny, 1.0).log()
    position = torch.arange(attention.size(1), device=attention.device)
    is_word = position < source_length.unsqueeze(1)
    return beta * covered.masked_fill(~is_word, 0.0).sum(dim=1)
