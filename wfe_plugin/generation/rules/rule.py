"""The one signature of what may happen to the scores of a step."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from wfe_plugin.generation.batch import Sentences


class StepContext(NamedTuple):
    """What a rule may look at.

    Every sentence has the same number of hypotheses, in consecutive rows, in the order of `sentences`.
    """

    generated: Tensor  # (rows, words so far), without the start symbol
    sentences: Sentences

    def of_rows(self, words: Tensor) -> Tensor:
        """(sentences, number) -> (rows, number)"""
        return words.repeat_interleave(len(self.generated) // self.sentences.number, dim=0)

    def is_generated_of(self, words: Tensor) -> Tensor:
        """Where the words so far are among the given ones of the dictionary, (rows, words so far)."""
        return torch.isin(self.sentences.in_dictionary(self.generated), words.to(self.generated.device))


class Rule(ABC):
    """Changes the scores of the next word of each hypothesis: a logits processor."""

    reads_source = False  # whether it looks at `step.sentences.source_words`

    @abstractmethod
    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        """
        Args:
            lprobs: (rows, vocabulary), changed in place; -inf forbids a word
        """


def times_in(words: Tensor, candidates: Tensor) -> Tensor:
    """How often each candidate of a row is among its words.

    Args:
        words: (rows, number of words)
        candidates: (rows, number of candidates)

    Returns:
        (rows, number of candidates), integer
    """
    return candidates.unsqueeze(2).eq(words.unsqueeze(1)).sum(dim=2)
