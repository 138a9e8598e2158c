"""The paper's Figure 1 with Equations 2, 4 and 5, over plain Python numbers.

An independent and slow implementation to test the generator against: it decodes
one sentence, runs the decoder over the whole prefix each time, and keeps r̃ for
each hypothesis as the paper does.
"""

import math
from typing import NamedTuple

import torch

INF = float("inf")


class Triplet(NamedTuple):
    """h of Figure 1; the decoder's hidden states follow from the words."""

    score: float  # s, the cumulative log-likelihood
    words: list[int]  # Ŷ, without the start symbol
    budget: list[float]  # r̃


class LiteralSearch:
    """
    Args:
        gate_weight, base_rate_weight, log_base_rate: λ, µ and log p̄ of each word, in the mask that extends Equation 4
        word_reward: added to every word but EOS, once if it is a gain
        out_of_source_penalty: taken from every word that the source lacks
    """

    def __init__(
        self,
        task,
        model,
        source: list[int],
        decoding="full",
        bound_eos=False,
        gate_weight=1.0,
        base_rate_weight=0.0,
        log_base_rate=None,
        word_reward=0.0,
        out_of_source_penalty=0.0,
    ):
        dictionary = task.target_dictionary
        self.pad, self.eos = dictionary.pad(), dictionary.eos()
        self.model = model
        tokens = torch.tensor([source + [self.eos]])
        with torch.no_grad():
            self.encoder_out = model.encoder(tokens, torch.tensor([tokens.size(1)]))
            r, g = self.estimate = model.estimate_frequencies(self.encoder_out, tokens)
        r, g = r[0].tolist(), g[0].tolist()
        self.r_hat = [max(0.0, x) for x in r]
        self.log_g_hat = [-math.log1p(math.exp(-x)) for x in g]
        if decoding in ("gate", "off"):
            self.r_hat = [INF] * len(r)
        if decoding == "strict":
            a_hat = [x * math.exp(y) for x, y in zip(self.r_hat, self.log_g_hat)]
            self.r_hat = [min(x, max(1.0, a)) for x, a in zip(self.r_hat, a_hat)]
        self.log_weight = [gate_weight * x for x in self.log_g_hat]
        if base_rate_weight:
            self.log_weight = [x - base_rate_weight * y for x, y in zip(self.log_weight, log_base_rate)]
        if decoding in ("bound", "off"):
            self.log_weight = [0.0] * len(g)
        if (gate_weight, base_rate_weight) != (1, 0):
            self.log_weight[dictionary.unk()] = self.log_weight[self.pad] = 0.0
        for word in [dictionary.bos()] * model.says_start_symbol + [self.eos] * (not bound_eos):
            self.r_hat[word], self.log_weight[word] = INF, 0.0
        self.word_reward = word_reward
        self.bonus = [0.0] * len(r)
        for word, text in enumerate(dictionary.symbols):
            if text not in map(task.source_dictionary.__getitem__, source) and word >= dictionary.nspecial:
                self.bonus[word] -= out_of_source_penalty

    def lprobs(self, words) -> list[float]:
        """log Softmax(o_j) (Equation 2)."""
        prefix = torch.tensor([[self.eos] + words])
        with torch.no_grad():
            logits, _ = self.model.decoder(prefix, encoder_out=self.encoder_out)
        return torch.log_softmax(logits[0, -1], dim=-1).tolist()

    def step_scores(self, words, budget) -> list[float]:
        """log Softmax(o_j) + ã_j (Equation 4)."""
        scores = []
        for word, (lprob, r, log_weight, bonus) in enumerate(
            zip(self.lprobs(words), budget, self.log_weight, self.bonus)
        ):
            clipped = max(0.0, min(1.0, r))
            reward = 0.0 if word == self.eos else self.word_reward
            if word in words:  # a word gains once
                log_weight, reward = min(log_weight, 0.0), min(reward, 0.0)
            scores.append(lprob + math.log(clipped) + log_weight + reward + bonus if clipped > 0 else -INF)
        scores[self.pad] = -INF  # not a word
        return scores

    def score(self, words: list[int]) -> float:
        """What Figure 1 accumulates for this output, EOS included."""
        total, budget = 0.0, list(self.r_hat)
        for j, word in enumerate(words + [self.eos]):
            total += self.step_scores(words[:j], budget)[word]
            budget[word] -= 1  # Equation 5
        return total

    def search(self, beam: int, max_len: int) -> list[Triplet]:
        """K-best beam search; the line numbers are those of Figure 1."""
        working = [Triplet(0.0, [], list(self.r_hat))]  # lines 1 and 2
        complete: list[Triplet] = []  # line 3
        while working:  # lines 4 and 15
            candidates = []
            for h in working:  # lines 6 to 10
                for word, step_score in enumerate(self.step_scores(h.words, h.budget)):
                    if len(h.words) == max_len and word != self.eos:
                        continue
                    if step_score > -INF:
                        budget = list(h.budget)
                        budget[word] -= 1
                        candidates.append(Triplet(h.score + step_score, h.words + [word], budget))
            candidates.sort(key=lambda h: -h.score)  # lines 11 and 12
            best = candidates[: beam - len(complete)]
            best = sorted(complete + best, key=lambda h: -h.score)[:beam]  # line 13
            complete = [h for h in best if h.words and h.words[-1] == self.eos]
            working = [h for h in best if h not in complete]  # line 14
        return complete
