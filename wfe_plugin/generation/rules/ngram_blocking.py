"""No n-gram twice."""

import torch
from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext, times_in
from wfe_plugin.method.ngram_blocking import repeating_words


class NgramBlocking(Rule):
    """Forbids what would repeat an n-gram, but never the end of the sentence or a forced word.

    Args:
        size: n
        ignored: (number,), words of the dictionary whose n-grams may repeat
        pad, eos: indices of these symbols
    """

    def __init__(self, size: int, ignored: Tensor, pad: int, eos: int):
        self.size = size
        self.ignored = ignored
        self.pad, self.eos = pad, eos

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        ignored = step.sentences.in_vocabulary(self.ignored.to(lprobs.device))
        blocked = repeating_words(step.generated, self.size, self.pad, ignored if len(ignored) else None)
        allowed = [torch.full_like(step.generated[:, :1], self.eos)]
        place, prefix = step.generated.size(1), step.sentences.prefix
        if prefix is not None and place < prefix.size(1):
            allowed.append(step.of_rows(prefix[:, place : place + 1]))
        if step.sentences.constraints is not None:
            allowed.append(step.of_rows(step.sentences.constraints))
        for words in allowed:
            blocked = blocked.masked_fill(times_in(words, blocked) > 0, self.pad)
        lprobs.scatter_(1, blocked, float("-inf"))
