"""A reward for going on, so that ending is not the cheapest word."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext


class WordReward(Rule):
    """Adds the same to every word but the end of the sentence.

    A word gains once: its second use is not rewarded, only charged where the reward is negative.
    """

    def __init__(self, reward: float, eos: int):
        self.reward = reward
        self.eos = eos

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        repeated = lprobs.gather(1, step.generated) + min(self.reward, 0.0)
        ending = lprobs[:, self.eos].clone()
        lprobs.add_(self.reward)
        lprobs.scatter_(1, step.generated, repeated)
        lprobs[:, self.eos] = ending
