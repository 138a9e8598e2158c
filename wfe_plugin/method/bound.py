"""Spending the budget while decoding: Equations 4 and 5 of the paper, weighted.

The mask of step j adds to log Softmax(o_j), for every word w,

    log clip(r̂(w) − count(w), 0, 1) + λ·log ĝ(w) − µ·log p̄(w)

Equation 4 is λ = 1, µ = 0. Where ĝ(w) = P(w occurs | source) and p̄(w) = P(w occurs) is the word's
base rate in training summaries, λ = µ = 1 is the pointwise mutual information of word and source,
log P(w | source) / P(w). The decoder and the gate both know which words are frequent: multiplying
their probabilities counts the base rate twice, and dividing by it once leaves what the source says
of the word. Neither is exact, hence the weights (:class:`~wfe_plugin.method.calibration.Calibration`).
A word that the source calls for more than usual gains: the term is not clipped at 0. It gains
once: what was said has been paid for, and a second time λ·log ĝ − µ·log p̄ counts only where it is
negative. (With the gain at every use, 3 % of outputs on Reuters repeat a word where 1.7 % of
headlines do.)

The paper updates a vector r̃_j of the size of the vocabulary for every
hypothesis and step. The same value follows from the sentence's estimate and the
words generated so far, so nothing of vocabulary size belongs to a hypothesis:
the log-mask of the first step is computed once per sentence, and later steps
correct it at the few words that were generated.
"""

from collections.abc import Sequence
from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.method.calibration import PAPER, Calibration
from wfe_plugin.method.estimator import FrequencyEstimate

DECODING_MODES = ("full", "strict", "bound", "gate", "oracle")


class FrequencyBound(NamedTuple):
    """The budgets and weights of each sentence; all (sentences, vocabulary), float32."""

    budget: Tensor  # r̂; +inf where a word is not bounded
    log_weight: Tensor  # λ·log ĝ − µ·log p̄; 0 where a word has no weight
    floor: Optional[Tensor]  # what is left of a spent budget at least; None: nothing
    first_mask: Tensor  # ã_1, the log-mask of the first step


# What is left of the spent budget of a word that must stay possible: so little
# that the word is only taken where there is no other way.
LAST_RESORT = 1e-30

# log ĝ at least: such a gate is 0 even in double precision. Far below, a score
# would swallow all that is added to it, and hypotheses could not be told apart.
LEAST_LOG_GATE = -1000.0


def log_mask(budget_left: Tensor, log_weight: Tensor, floor: Optional[Tensor] = None) -> Tensor:
    """ã_j = log ClipReLU_1(r̃_j) + log_weight (Equation 4); -inf where nothing is left."""
    clipped = budget_left.clamp(0.0, 1.0)
    if floor is not None:
        clipped = torch.maximum(clipped, floor)
    return clipped.log() + log_weight


def frequency_bound(
    estimate: FrequencyEstimate,
    mode: str = "full",
    unbounded: Sequence[int] = (),
    minimum_budget: Optional[Tensor] = None,
    floor: Optional[Tensor] = None,
    calibration: Calibration = PAPER,
    log_base_rate: Optional[Tensor] = None,
    exempt: Sequence[int] = (),
) -> FrequencyBound:
    """Prepare the bound of a batch of sentences.

    Args:
        estimate: r and g of each sentence
        mode: `full` is the paper's; `strict` as well, but a word comes again
            only as far as â allows; `bound` uses r̂ only and `gate` ĝ only;
            `oracle` is `bound` with true frequencies in the place of r
        unbounded: indices of words that are free of both (EOS)
        minimum_budget: (sentences, vocabulary), budgets that words have at
            least, whatever the estimate says: words that the user forces
        floor: (sentences, vocabulary), LAST_RESORT at words that must stay
            possible and 0 elsewhere
        calibration: λ and µ; the reward per word is not part of the mask
        log_base_rate: (vocabulary,), log p̄; needed where µ is not 0
        exempt: indices of words with a budget, but without gate and base rate
    """
    budget = estimate.r_hat
    log_weight = weight_of_words(estimate.log_g_hat, calibration, log_base_rate)
    if mode == "strict":
        # The loss sees â = r̂ ⊙ ĝ alone. Where it has settled on, say, 2.8 × 0.2
        # for words that occur once, r̂ would let them occur three times.
        budget = torch.minimum(budget, estimate.a_hat.clamp(min=1.0))
    elif mode in ("bound", "oracle"):
        log_weight = torch.zeros_like(log_weight)
    elif mode == "gate":
        budget = torch.full_like(budget, float("inf"))
    elif mode != "full":
        raise ValueError(f"unknown mode {mode!r}; choose one of {DECODING_MODES}")
    if minimum_budget is not None:
        budget = torch.maximum(budget, minimum_budget)
    budget[:, list(unbounded)] = float("inf")
    log_weight[:, [*unbounded, *exempt]] = 0.0
    first_mask = log_mask(budget, log_weight, floor)
    return FrequencyBound(budget, log_weight, floor, first_mask)


def weight_of_words(log_g_hat: Tensor, calibration: Calibration, log_base_rate: Optional[Tensor]) -> Tensor:
    """λ·log ĝ − µ·log p̄, (sentences, vocabulary), finite."""
    weight = calibration.gate_weight * log_g_hat.clamp(min=LEAST_LOG_GATE)
    if calibration.base_rate_weight == 0.0:
        return weight
    if log_base_rate is None:
        raise UserError("a base-rate weight needs base rates, but the model has none: train it with this version")
    return weight - calibration.base_rate_weight * log_base_rate.to(weight)


def select_sentences(bound: FrequencyBound, sentences) -> FrequencyBound:
    """The bound of the given sentences (indices, or a slice), in that order."""
    return of_all(bound, lambda field: field[sentences])


def select_words(bound: FrequencyBound, words: Tensor) -> FrequencyBound:
    """The bound of the given words (indices) only."""
    return of_all(bound, lambda field: field.index_select(1, words))


def of_all(bound: FrequencyBound, some: Callable[[Tensor], Tensor]) -> FrequencyBound:
    """The same of each tensor of the bound."""
    budget, log_weight, floor, first_mask = bound
    return FrequencyBound(some(budget), some(log_weight), None if floor is None else some(floor), some(first_mask))


def occurrences(words: Tensor) -> Tensor:
    """How often the word at each position occurs in its whole row.

    Args:
        words: (rows, length)

    Returns:
        (rows, length), integer
    """
    return words.unsqueeze(2).eq(words.unsqueeze(1)).sum(dim=2)


def earlier_uses(words: Tensor) -> Tensor:
    """How often the word at each position occurs before it in its row; the arguments are those of `occurrences`."""
    length = words.size(1)
    before = torch.ones(length, length, dtype=torch.bool, device=words.device).tril(-1)
    return (words.unsqueeze(2).eq(words.unsqueeze(1)) & before).sum(dim=2)


def add_log_mask(lprobs: Tensor, bound: FrequencyBound, generated: Tensor) -> Tensor:
    """log Softmax(o_j) + ã_j for every hypothesis (Equations 2 and 4), in place.

    Beyond one addition over all words, the work is at the words generated so far.

    Args:
        lprobs: (rows, vocabulary), log-probabilities of the next word; the rows
            of one sentence's hypotheses stand together, the same number for
            each sentence, in the order of *bound*
        bound: of the sentences
        generated: (rows, words so far), without the start symbol

    Returns:
        *lprobs*
    """
    sentences = bound.budget.size(0)
    if generated.size(1) > 0:
        budget, log_weight, floor = at_words(bound, generated.reshape(sentences, -1))
        # Equation 5: r̃_j = r̂ less one for each time that the word was generated.
        spent = occurrences(generated).view_as(budget)
        mask = log_mask(budget - spent, log_weight.clamp(max=0.0), floor).view_as(generated)
        masked = lprobs.gather(1, generated) + mask
    lprobs.unflatten(0, (sentences, -1)).add_(bound.first_mask.unsqueeze(1))
    if generated.size(1) > 0:
        lprobs.scatter_(1, generated, masked)
    return lprobs


def at_words(bound: FrequencyBound, words: Tensor):
    """Budget, log-weight and floor of some words of each sentence.

    Args:
        words: (sentences, number of words)
    """
    floor = None if bound.floor is None else bound.floor.gather(1, words)
    return bound.budget.gather(1, words), bound.log_weight.gather(1, words), floor


def reference_log_mask(bound: FrequencyBound, target: Tensor, sentence: Optional[Tensor] = None) -> Tensor:
    """ã_j at the words of given outputs.

    Args:
        bound: of the sentences
        target: (outputs, length)
        sentence: (outputs,), which sentence each is of; None: one output a sentence

    Returns:
        (outputs, length)
    """
    if sentence is None:
        sentence = torch.arange(target.size(0), device=target.device)
    place = sentence.unsqueeze(1), target
    budget, log_weight = bound.budget[place], bound.log_weight[place]
    floor = None if bound.floor is None else bound.floor[place]
    spent = earlier_uses(target)
    return log_mask(budget - spent, torch.where(spent > 0, log_weight.clamp(max=0.0), log_weight), floor)
