"""A rule that needs no training: prefer words of the source."""

import torch
from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext


class OutOfSourcePenalty(Rule):
    """Takes the same from every word that the source lacks.

    Args:
        penalty: what is subtracted from a log-probability
        exempt: (number,), words of the dictionary without a penalty; special symbols are to be among them
    """

    reads_source = True

    def __init__(self, penalty: float, exempt: Tensor):
        self.penalty = penalty
        self.exempt = exempt

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        assert step.sentences.source_words is not None
        exempt = step.sentences.in_vocabulary(self.exempt.to(lprobs.device)).expand(len(lprobs), -1)
        kept = torch.cat((step.of_rows(step.sentences.source_words), exempt), dim=1)
        scores = lprobs.gather(1, kept)
        lprobs.sub_(self.penalty).scatter_(1, kept, scores)
