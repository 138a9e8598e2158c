"""A reward for going on, so that ending is not the cheapest word."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext


class WordReward(Rule):
    """Adds the same to every word but the end of the sentence."""

    def __init__(self, reward: float, eos: int):
        self.reward = reward
        self.eos = eos

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        ending = lprobs[:, self.eos].clone()
        lprobs.add_(self.reward)
        lprobs[:, self.eos] = ending
