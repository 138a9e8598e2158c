"""What a search knows of a batch: its sentences, and what the encoders made of them."""

from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

from wfe_plugin.method.bound import FrequencyBound, select_sentences

Places = Union[slice, Tensor]  # of sentences: a range of them, or (number,) in ascending order


class Sentences(NamedTuple):
    """What the rules of a step may know of the sentences that are still searched for.

    The first dimension of a tensor is the sentence. Words are places in `vocabulary`.
    """

    number: int
    source_words: Optional[Tensor] = None  # (sentences, time), the unknown word where the target lacks one
    prefix: Optional[Tensor] = None  # (sentences, length), the words that outputs must begin with
    constraints: Optional[Tensor] = None  # (sentences, number), words that outputs must have, filled with padding
    bound: Optional[FrequencyBound] = None  # None: no estimate is used
    budgets: Optional[Sequence] = None  # the user's own, a `WordBudgets` or None per sentence
    # (words,), the search's vocabulary as ascending indices of the dictionary; None: the dictionary.
    # Special symbols come first, as there.
    vocabulary: Optional[Tensor] = None

    def select(self, places: Places) -> "Sentences":
        """Some of the sentences, in their order."""

        def some(tensor: Optional[Tensor]) -> Optional[Tensor]:
            return None if tensor is None else tensor[places]

        indices = range(self.number)[places] if isinstance(places, slice) else places.tolist()
        return self._replace(
            number=len(indices),
            source_words=some(self.source_words),
            prefix=some(self.prefix),
            constraints=some(self.constraints),
            bound=self.bound and select_sentences(self.bound, places),
            budgets=self.budgets and [self.budgets[i] for i in indices],
        )

    def in_dictionary(self, words: Tensor) -> Tensor:
        """Indices of the dictionary, for places in the vocabulary."""
        return words if self.vocabulary is None else self.vocabulary[words]

    def in_vocabulary(self, words: Tensor) -> Tensor:
        """Those words of the dictionary, (number,), that the vocabulary has, as places in it."""
        if self.vocabulary is None:
            return words
        return torch.isin(self.vocabulary, words).nonzero().view(-1)


class EncodedBatch(NamedTuple):
    """A batch as it goes through the search. Hypotheses of one sentence are in consecutive rows."""

    encoder_outs: list  # one per model, of all hypotheses
    sentences: Sentences
