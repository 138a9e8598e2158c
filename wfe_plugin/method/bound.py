"""Spending the budget while decoding: Equations 4 and 5 of the paper.

The paper updates a vector r̃_j of the size of the vocabulary for every
hypothesis and step. The same value follows from the sentence's estimate and the
words generated so far, so nothing of vocabulary size belongs to a hypothesis:
the log-mask of the first step is computed once a sentence, and later steps
correct it at the few words that were generated.
"""

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from wfe_plugin.method.estimator import FrequencyEstimate

DECODING_MODES = ("full", "bound", "gate", "oracle")


class FrequencyBound(NamedTuple):
    """The budget and gate of each sentence; all (sentences, vocabulary), float32."""

    budget: Tensor  # r̂; +inf where a word is not bounded
    log_gate: Tensor  # log ĝ; 0 where a word is not gated
    first_mask: Tensor  # ã_1, the log-mask of the first step


def log_mask(budget_left: Tensor, log_gate: Tensor) -> Tensor:
    """ã_j = log(ClipReLU_1(r̃_j) ⊙ ĝ) (Equation 4); -inf where nothing is left."""
    return budget_left.clamp(0.0, 1.0).log() + log_gate


def frequency_bound(
    estimate: FrequencyEstimate,
    mode: str = "full",
    unbounded: Optional[int] = None,
    minimum_budget: Optional[Tensor] = None,
) -> FrequencyBound:
    """Prepare the bound of a batch of sentences.

    Args:
        estimate: r and g of each sentence
        mode: `full` is the paper's; `bound` uses r̂ only and `gate` ĝ only;
            `oracle` is `bound` with true frequencies in the place of r
        unbounded: index of a word that is free of both (EOS)
        minimum_budget: (sentences, vocabulary), budgets that words have at
            least, whatever the estimate says: words that the user forces
    """
    budget = estimate.r_hat
    log_gate = estimate.log_g_hat
    if mode in ("bound", "oracle"):
        log_gate = torch.zeros_like(log_gate)
    elif mode == "gate":
        budget = torch.full_like(budget, float("inf"))
    elif mode != "full":
        raise ValueError(f"unknown mode {mode!r}; choose one of {DECODING_MODES}")
    if minimum_budget is not None:
        budget = torch.maximum(budget, minimum_budget)
    if unbounded is not None:
        budget[:, unbounded] = float("inf")
        log_gate[:, unbounded] = 0.0
    return FrequencyBound(budget, log_gate, log_mask(budget, log_gate))


def select_sentences(bound: FrequencyBound, sentences: Tensor) -> FrequencyBound:
    """The bound of the given sentences (indices), in that order."""
    return FrequencyBound(*(field.index_select(0, sentences) for field in bound))


def occurrences(words: Tensor) -> Tensor:
    """How often the word at each position occurs in its whole row.

    Args:
        words: (rows, length)

    Returns:
        (rows, length), integer
    """
    return words.unsqueeze(2).eq(words.unsqueeze(1)).sum(dim=2)


def add_log_mask(lprobs: Tensor, bound: FrequencyBound, generated: Tensor) -> Tensor:
    """log Softmax(o_j) + ã_j for every hypothesis (Equations 2 and 4).

    Args:
        lprobs: (rows, vocabulary), log-probabilities of the next word; the rows
            of one sentence's hypotheses stand together, the same number for
            each sentence, in the order of *bound*
        bound: of the sentences
        generated: (rows, words so far), without the start symbol

    Returns:
        (rows, vocabulary), a new tensor
    """
    rows, vocabulary = lprobs.shape
    sentences = bound.budget.size(0)
    masked = lprobs.view(sentences, -1, vocabulary) + bound.first_mask.unsqueeze(1)
    masked = masked.view(rows, vocabulary)
    if generated.size(1) > 0:
        by_sentence = generated.reshape(sentences, -1)
        # Equation 5: r̃_j = r̂ less one for each time that the word was generated.
        budget_left = bound.budget.gather(1, by_sentence).view_as(
            generated
        ) - occurrences(generated)
        log_gate = bound.log_gate.gather(1, by_sentence).view_as(generated)
        corrected = lprobs.gather(1, generated) + log_mask(budget_left, log_gate)
        masked.scatter_(1, generated, corrected)
    return masked


def reference_log_mask(bound: FrequencyBound, target: Tensor) -> Tensor:
    """ã_j at the words of a given output, one output a sentence.

    Args:
        bound: of the sentences
        target: (sentences, length)

    Returns:
        (sentences, length)
    """
    length = target.size(1)
    same = target.unsqueeze(2).eq(target.unsqueeze(1))
    earlier = torch.ones(length, length, dtype=torch.bool, device=target.device).tril(
        -1
    )
    budget_left = bound.budget.gather(1, target) - (same & earlier).sum(dim=2)
    return log_mask(budget_left, bound.log_gate.gather(1, target))
