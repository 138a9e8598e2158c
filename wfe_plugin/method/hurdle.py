"""Another kind of estimate of the same form: a distribution of frequencies, not a point.

The loss of Equation 6 sees only â = r̂ ⊙ ĝ, so it does not say which part of it
is the upper bound and which the gate. The hurdle model (Mullahy, 1986) gives
each its own meaning and learns both by maximum likelihood:

    does the word occur at all?          N ≥ 1    with probability ĝ
    how often more, once it does occur?  N - 1    Poisson with mean µ = r̂ - 1

So r̂ = 1 + µ is the expected frequency of a word that occurs, â = r̂ ⊙ ĝ the
expected frequency of any word, and Equations 4 and 5 decode with them as they
are: a word's first use costs log ĝ, its probability to occur at all, and a
second one costs log(min(µ, 1) ĝ).
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wfe_plugin.method.estimator import FrequencyEstimate, LiteralEstimator, PendingEstimate

# Before training: a word occurs in one summary of 400, and again in 1 of 50 of those.
RARE, RARELY_AGAIN = -6.0, -4.0


class HurdleEstimate(FrequencyEstimate):
    """As :class:`FrequencyEstimate`, with another upper bound."""

    __slots__ = ()

    @property
    def r_hat(self) -> Tensor:
        """r̂ = 1 + µ = 1 + softplus(r)."""
        return 1.0 + F.softplus(self.r)


def hurdle_loss(estimate: HurdleEstimate, a_star: Tensor) -> Tensor:
    """-log P(a*) of each sentence, summed over the vocabulary, up to a constant.

    Args:
        estimate: of each sentence
        a_star: a*, (sentences, vocabulary)

    Returns:
        (sentences,)
    """
    # Passes over all words are dear, and few words occur: -log(1 - ĝ) of all, and what those differ by.
    absent = F.softplus(estimate.g).sum(dim=-1)
    rows, words = a_star.nonzero(as_tuple=True)
    r, g, count = (numbers[rows, words] for numbers in (estimate.r, estimate.g, a_star))
    more = F.softplus(r)
    # log of softplus(r) is r where softplus(r) underflows.
    log_more = torch.where(r < -15, r, more.clamp(min=1e-7).log())
    return absent.index_add(0, rows, more - (count - 1.0) * log_more - g)


class CopyingEstimator(LiteralEstimator):
    """The estimator `copying` of version 0.1.0: votes replaced it, and its models still load.

    The paper's sub-model (Figure 2), with a bias for each word and part, and each position of the
    source votes for its own word, as much as its encoder state says: for its occurrence, and for its
    repetition.
    """

    def __init__(self, state_size: int, vocabulary_size: int):
        super().__init__(state_size, vocabulary_size)
        self.frequency_bias = nn.Parameter(torch.full((vocabulary_size,), RARELY_AGAIN))
        self.occurrence_bias = nn.Parameter(torch.full((vocabulary_size,), RARE))
        self.votes = nn.Linear(state_size, 2)
        nn.init.normal_(self.votes.weight, std=0.01)
        nn.init.ones_(self.votes.bias)

    def open_gates(self) -> None:
        """Not here: nothing is left open between r̂ and ĝ, and most words are rare."""

    def read(
        self,
        states: Tensor,
        padding: Tensor,
        source_words: Optional[Tensor] = None,
    ) -> PendingEstimate:
        assert source_words is not None
        pending = super().read(states, padding)
        nothing = padding | source_words.lt(0)
        votes = self.votes(states).masked_fill(nothing.unsqueeze(-1), 0.0)
        words = source_words.clamp(min=0).t()
        r, g = (
            logits._replace(votes=vote.t(), words=words)
            for logits, vote in zip((pending.r, pending.g), votes.unbind(dim=-1))
        )
        return PendingEstimate(r, g._replace(bias=self.occurrence_bias), HurdleEstimate)
