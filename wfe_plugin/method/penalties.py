"""Unlearned ways to avoid repeated words: penalties on what was said, and a cap.

All are functions of how often each word was generated so far, so they are
computed at the generated words only, and the rest of the vocabulary is left alone.
"""

from typing import Optional

import torch
from torch import Tensor

from wfe_plugin.method.bound import log_mask


def penalize(
    lprobs: Tensor,
    counts: Tensor,
    repetition: float = 1.0,
    frequency: float = 0.0,
    presence: float = 0.0,
) -> Tensor:
    """Log-probabilities of words that were generated before, made smaller.

        θ · log p − α · count − β

    θ is the repetition penalty of CTRL (Keskar et al., 2019). There it divides a
    positive score of the word, or multiplies a negative one; a log-probability is
    never positive. α and β are the frequency and presence penalties as servers of
    language models have them, which apply θ first, too. The result is a score and
    no distribution: nothing is normalised again.

    Args:
        lprobs: of words that were generated before, any shape
        counts: how often each was, at least once, same shape
        repetition: θ, at least 1
        frequency: α, at least 0
        presence: β, at least 0
    """
    return repetition * lprobs - frequency * counts - presence


def cap_log_mask(
    counts: Tensor,
    cap: int,
    minimum: Optional[Tensor] = None,
    floor: Optional[Tensor] = None,
) -> Tensor:
    """0 where a word may be generated once more, and -inf where it may not.

    This is the bound of Equation 4 with r̂ = *cap* for every word, and no gate.

    Args:
        counts: how often each word was generated so far, any shape
        cap: how often it may be
        minimum: caps that words have at least: words that the user forces
        floor: LAST_RESORT at words that must stay possible and 0 elsewhere
    """
    budget = torch.full_like(counts, cap, dtype=torch.float32)
    if minimum is not None:
        budget = torch.maximum(budget, minimum.float())
    return log_mask(budget - counts, torch.zeros_like(budget), floor)
