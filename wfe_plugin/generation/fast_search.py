"""The best words of each hypothesis, found while their scores are in the processor's cache.

All that a beam search wants are the best words. The scores of few sentences at a time are normalised, put
under the rules of the step and searched through.
"""

from collections.abc import Sequence
from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor

from wfe_plugin.generation.rules.rule import StepContext
from wfe_plugin.method.best_words import best_words

# Scores that are worked on at a time: few enough for the cache of a processor.
SLICE_NUMBERS = 1 << 20


class Candidates(NamedTuple):
    """Scores of what may come next; special symbols are in the first columns, as in the vocabulary."""

    scores: Tensor  # (rows, columns)
    words: Optional[Tensor] = None  # (rows, columns), the word of each column; None: all words in order

    def words_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The words at places of `scores`, given as two tensors of one shape."""
        return columns if self.words is None else self.words[rows, columns]


def best_candidates(
    scores: Tensor,
    step: StepContext,
    rules: Sequence[Callable[[Tensor, StepContext], None]],
    normalize: Optional[Callable[[Tensor], Tensor]],
    special: int,
    number: int,
    vocabulary: int,
) -> Candidates:
    """The special symbols and the best words of each hypothesis, under the rules of the step.

    Args:
        scores: (rows, vocabulary or more), log-probabilities or, with *normalize*, what these are made of:
            logits, or features (rows, size) for an adaptive softmax
        special: how many special symbols there are
        number: how many words of each hypothesis are wanted
        vocabulary: how many words there are; whatever is behind them is no word

    Returns:
        of (rows, special + number)
    """
    sentences = step.sentences.number
    beam = len(scores) // sentences
    at_a_time = sentences
    if scores.device.type == "cpu":
        at_a_time = max(1, SLICE_NUMBERS // (beam * vocabulary))
    found_scores, found_words = [], []
    for start in range(0, sentences, at_a_time):
        rows = slice(start * beam, (start + at_a_time) * beam)
        some = scores[rows] if normalize is None else normalize(scores[rows])
        some = some[:, :vocabulary]
        part = step
        if at_a_time < sentences:
            part = StepContext(step.generated[rows], step.sentences.select(slice(start, start + at_a_time)))
        for rule in rules:
            rule(some, part)
        best, words = best_words(some[:, special:], number)
        found_scores.append(torch.cat((some[:, :special], best), dim=1))
        found_words.append(words + special)
    words = torch.cat(found_words)
    symbols = torch.arange(special, device=words.device).expand(len(words), -1)
    return Candidates(torch.cat(found_scores), torch.cat((symbols, words), dim=1))
