"""What the estimate should have been, and what it costs to be wrong: Equation 6."""

import torch
from torch import Tensor

from wfe_plugin.method.estimator import BudgetEstimate, FrequencyEstimate, places_in_slice

LEAST_BUDGET = 0.1  # below ε, so that Equation 6 asks for nothing else


def true_frequencies(target: Tensor, vocabulary_size: int, pad: int, first_word: int = 0) -> Tensor:
    """a*, the number of times each word occurs in each target sentence.

    Args:
        target: (sentences, length), word indices, padded with *pad*
        vocabulary_size: number of words, or of those in a slice of the vocabulary
        first_word: index of the first of them

    Returns:
        (sentences, vocabulary), float32; padding is not a word and counts zero
    """
    places, inside = places_in_slice(target, first_word, first_word + vocabulary_size)
    counts = torch.zeros(target.size(0), vocabulary_size, dtype=torch.float32, device=target.device)
    return counts.scatter_add_(1, places, (inside & target.ne(pad)).float())


def wfe_loss(
    a_hat: Tensor,
    a_star: Tensor,
    over_cost: float = 0.2,
    under_cost: float = 1.0,
    epsilon: float = 0.25,
    power: float = 2.0,
) -> Tensor:
    """Ψ^wfe of each sentence (Equation 6).

    An estimate within *epsilon* of the truth costs nothing. Beyond that, an
    over-estimate costs c1 and an under-estimate c2 times the excess to the
    power b. Since c1 < c2, the estimate is pushed towards an upper bound.

    Args:
        a_hat: â, (sentences, vocabulary)
        a_star: a*, (sentences, vocabulary)
        over_cost: c1
        under_cost: c2
        epsilon: ε
        power: b

    Returns:
        (sentences,), float32, or float64 for estimates in float64
    """
    # A sum of squares over a large vocabulary overflows half precision.
    precision = torch.promote_types(a_hat.dtype, torch.float32)
    difference = a_hat.to(precision) - a_star.to(precision)
    over = (difference - epsilon).clamp(min=0.0)
    under = (-difference - epsilon).clamp(min=0.0)
    return (over_cost * over.pow(power) + under_cost * under.pow(power)).sum(dim=-1)


def estimate_loss(estimate: FrequencyEstimate, a_star: Tensor, over_cost: float = 0.2, **constants: float) -> Tensor:
    """Equation 6, and for a :class:`BudgetEstimate` also c1·max(0, LEAST_BUDGET − r)² for each word.

    Equation 6 is content with any estimate below ε for a word that is absent, and ReLU with any r below
    zero: nothing keeps noise from forbidding words that a summary needs.

    Args:
        estimate: of (sentences, vocabulary)
        a_star: a*, (sentences, vocabulary)
        over_cost: c1
        constants: the others of `wfe_loss`

    Returns:
        (sentences,)
    """
    loss = wfe_loss(estimate.a_hat, a_star, over_cost, **constants)
    if isinstance(estimate, BudgetEstimate):
        loss = loss + over_cost * (LEAST_BUDGET - estimate.r).clamp(min=0.0).square().sum(dim=-1)
    return loss
