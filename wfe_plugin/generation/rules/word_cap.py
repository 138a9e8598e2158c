"""Each word at most N times."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext, times_in
from wfe_plugin.method.bound import LAST_RESORT, occurrences
from wfe_plugin.method.penalties import cap_log_mask


class WordCap(Rule):
    """Forbids words that were said as often as they may be.

    A forced prefix and constraints may use their words as often as they have them, constraints also
    beyond that if there is no other way.

    Args:
        cap: how often
        exempt: (number,), words of the dictionary without a cap; the end of the sentence is to be among them
    """

    def __init__(self, cap: int, exempt: Tensor):
        self.cap = cap
        self.exempt = exempt

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        generated = step.generated
        minimum, floor = None, None
        for wishes in (step.sentences.prefix, step.sentences.constraints):
            if wishes is not None:
                wished = times_in(step.of_rows(wishes), generated)
                minimum = wished if minimum is None else minimum + wished
        if step.sentences.constraints is not None:
            floor = times_in(step.of_rows(step.sentences.constraints), generated).clamp(max=1) * LAST_RESORT
        mask = cap_log_mask(occurrences(generated), self.cap, minimum, floor)
        mask = mask.masked_fill(step.is_generated_of(self.exempt), 0.0)
        lprobs.scatter_(1, generated, (lprobs.gather(1, generated) + mask).type_as(lprobs))
