"""The bound of a batch, from what its models estimate and what the user wishes."""

import math
from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.method.bound import LAST_RESORT, FrequencyBound, frequency_bound
from wfe_plugin.method.estimator import FrequencyEstimate


def average_estimate(models: Sequence, encoder_outs: Sequence, source: Tensor) -> FrequencyEstimate:
    """The mean of several models' r̂, and that of their ĝ, as fairseq averages probabilities.

    Args:
        encoder_outs: one per model
        source: (sentences, time), what the encoders were given
    """
    estimates = [model.estimate_frequencies(out, source) for model, out in zip(models, encoder_outs)]
    for part in (part for estimate in estimates for part in estimate):
        refuse_nan(part, "estimates of word frequencies")
    if len(estimates) == 1:
        return estimates[0]
    r_hat = torch.stack([estimate.r_hat for estimate in estimates]).mean(dim=0)
    # In the logarithm, so that no gate underflows; then back to the g that has this gate.
    log_open, log_closed = (
        torch.logsumexp(torch.stack(logs), dim=0)
        for logs in (
            [estimate.log_g_hat for estimate in estimates],
            [estimate._replace(g=-estimate.g).log_g_hat for estimate in estimates],
        )
    )
    return FrequencyEstimate(r_hat, log_open - log_closed)


def average_log_base_rate(models: Sequence) -> Optional[Tensor]:
    """log of the mean base rate, (vocabulary,); None unless all models have counted theirs."""
    found = [model.log_base_rate() for model in models]
    if any(log_rate is None for log_rate in found):
        return None
    return torch.logsumexp(torch.stack(found), dim=0) - math.log(len(found))


def bound_of_batch(
    estimate: FrequencyEstimate,
    options: DecodingConfig,
    models: Sequence,
    dictionary,
    wishes: Sequence[Optional[Tensor]] = (),
    constraints: Optional[Tensor] = None,
) -> FrequencyBound:
    """
    Args:
        options: resolved, not `off`
        models: whose base rates are used
        wishes: (sentences, number) each, words that have a budget whatever the estimate says
        constraints: (sentences, number), words that must stay possible
    """
    bos, pad, eos, unk = dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()
    calibration = options.calibration
    unbounded = [] if options.wfe_bound_eos else [eos]
    if any(getattr(model, "says_start_symbol", False) for model in models):  # an oracle takes any model
        unbounded.append(bos)
    return frequency_bound(
        estimate,
        options.wfe_decoding,
        unbounded=unbounded,
        minimum_budget=minimum_budget(estimate.r, eos, *wishes),
        floor=last_resorts(estimate.r, eos, options.wfe_bound_eos, constraints),
        calibration=calibration,
        log_base_rate=average_log_base_rate(models) if calibration.base_rate_weight != 0 else None,
        # Under Equation 4 as it stands, the unknown word is a word like any other.
        exempt=() if calibration.is_equation_4 else (pad, unk),
    )


def minimum_budget(like: Tensor, eos: int, *wishes: Optional[Tensor]) -> Optional[Tensor]:
    """Budgets that the user's wishes call for: their words as often as they have them, (sentences, vocabulary)."""
    found = [words for words in wishes if words is not None]
    if not found:
        return None
    minimum = torch.zeros_like(like)
    for words in found:
        minimum.scatter_add_(1, words, torch.ones_like(words).type_as(minimum))
    minimum[:, eos] = 0.0  # a prefix may end in EOS, which is no wish for more
    return minimum


def last_resorts(like: Tensor, eos: int, bound_eos: bool, constraints: Optional[Tensor]) -> Optional[Tensor]:
    """LAST_RESORT at words that must stay possible, (sentences, vocabulary).

    A search in which no hypothesis can end has no result, and a hypothesis that
    spent a constrained word elsewhere could not be completed.
    """
    if constraints is None and not bound_eos:
        return None
    floor = torch.zeros_like(like)
    floor[:, eos] = LAST_RESORT
    if constraints is not None:
        floor.scatter_(1, constraints, LAST_RESORT)
    return floor


def refuse_nan(numbers: Tensor, what: str) -> None:
    """A search among them would find nothing, or anything."""
    if numbers.isnan().any():
        raise UserError(
            f"the {what} are not numbers (NaN): the model's activations overflow. If you use --fp16, "
            "leave it out. Otherwise its training has diverged: take an earlier checkpoint"
        )
