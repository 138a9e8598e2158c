"""Penalties on words that the output already has."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext
from wfe_plugin.method.bound import occurrences
from wfe_plugin.method.penalties import penalize


class WordPenalties(Rule):
    """θ · log p − α · count − β at words of the output; see :func:`~wfe_plugin.method.penalties.penalize`.

    Args:
        repetition, frequency, presence: θ, α and β
        exempt: (number,), words of the dictionary without a penalty
    """

    def __init__(self, repetition: float, frequency: float, presence: float, exempt: Tensor):
        self.penalties = repetition, frequency, presence
        self.exempt = exempt

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        before = lprobs.gather(1, step.generated)
        penalized = penalize(before, occurrences(step.generated), *self.penalties).type_as(lprobs)
        lprobs.scatter_(1, step.generated, before.where(step.is_generated_of(self.exempt), penalized))
