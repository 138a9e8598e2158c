"""Unlikelihood training (Welleck et al., 2019): learning not to say it again."""

import torch
from torch import Tensor

# Of 1 - p, as the authors have it: a word that is certain has a finite loss.
LEAST = 1e-5


def unlikelihood_loss(lprobs: Tensor, target: Tensor, pad: int) -> Tensor:
    """The token-level loss of each sentence, with its own words as candidates.

        Σ_t Σ_{c ∈ C_t} −log(1 − p(c | y_<t)),  C_t = {y_1, ..., y_{t-1}} \\ {y_t}

    C_t is a set: a word that occurred twice is one candidate.

    Args:
        lprobs: (sentences, length, vocabulary)
        target: (sentences, length), word indices, padded with *pad* on either side

    Returns:
        (sentences,), float32
    """
    sentences, length = target.shape
    # [b, t, j]: the word y_j seen from step t.
    lprob = lprobs.gather(2, target.unsqueeze(1).expand(sentences, length, length))
    unlikelihood = -(-torch.expm1(lprob.float())).clamp(min=LEAST).log()
    same = target.unsqueeze(2).eq(target.unsqueeze(1))
    earlier = torch.ones_like(same).tril(-1)
    said_before = (same & earlier).any(dim=2)  # at j: not the first time
    a_word = target.ne(pad)
    candidate = earlier & ~same & a_word.unsqueeze(2)
    candidate &= (a_word & ~said_before).unsqueeze(1)
    return unlikelihood.masked_fill(~candidate, 0.0).sum(dim=(1, 2))
