"""ROUGE as a cost in training: of one output against its reference, many times a second."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.rouge_python import sentence_f1, word_tokens

COSTS = (*METRICS, "rouge")  # the last: the mean of the others
CONTINUED = "@@"  # at the end of a BPE piece that the next one goes on with

# Words outside the vocabulary: none is known to be the same as another.
_UNKNOWN_OUTPUT, _UNKNOWN_REFERENCE = object(), object()


class RougeCost:
    """1 - F1 of ROUGE-1, -2 or -L, or their mean, of outputs given as vocabulary indices.

    BPE pieces are put together again, and words cut and stemmed as `wfe-evaluate`
    does with ROUGE-1.5.5 (`-m`), so that what is minimised is what is reported.

    Args:
        name: one of COSTS
        symbols: the words of the vocabulary
        unknown: index of the word that stands for all others
    """

    def __init__(self, name: str, symbols: Sequence[str], unknown: int):
        self.metrics = METRICS if name == "rouge" else (name,)
        self.unknown = unknown
        self.pieces = [
            (symbol[: -len(CONTINUED)], True) if symbol.endswith(CONTINUED) else (symbol, False) for symbol in symbols
        ]

    def __call__(self, reference: Sequence[int], outputs: Sequence[Sequence[int]]) -> list[float]:
        """The cost of each output. None of them holds EOS or padding."""
        expected = self.tokens(reference, _UNKNOWN_REFERENCE)
        return [self.cost(self.tokens(output, _UNKNOWN_OUTPUT), expected) for output in outputs]

    def cost(self, output: list[Hashable], reference: list[Hashable]) -> float:
        scores = [sentence_f1(metric, output, reference) for metric in self.metrics]
        return 1 - sum(scores) / len(scores)

    def tokens(self, indices: Sequence[int], unknown: Hashable) -> list[Hashable]:
        """What ROUGE counts, of a text."""
        found: list[Hashable] = []
        word = ""
        for index in indices:
            if index == self.unknown:
                found += [*_tokens_of_word(word), unknown]
                word = ""
                continue
            piece, goes_on = self.pieces[index]
            word += piece
            if not goes_on:
                found += _tokens_of_word(word)
                word = ""
        return [*found, *_tokens_of_word(word)]


@lru_cache(maxsize=200_000)
def _tokens_of_word(word: str) -> tuple[str, ...]:
    return tuple(word_tokens(word))
