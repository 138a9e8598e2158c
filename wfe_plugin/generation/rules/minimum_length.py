"""Outputs of a minimum length."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext


class MinimumLength(Rule):
    """Forbids the end of the sentence before the minimum length, as long as there is another choice.

    Budgets may be spent before the minimum length is reached, and then a short output is better than none:
    this rule comes after everything else that may forbid a word.
    """

    def __init__(self, length: int, eos: int):
        self.length = length
        self.eos = eos

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        if step.generated.size(1) >= self.length:
            return
        ending = lprobs[:, self.eos].clone()
        lprobs[:, self.eos] = float("-inf")
        nothing_left = lprobs.isneginf().all(dim=1)
        lprobs[:, self.eos] = ending.masked_fill(~nothing_left, float("-inf"))
