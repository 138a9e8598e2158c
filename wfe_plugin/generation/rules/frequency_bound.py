"""The paper's rule: words within their estimated frequencies."""

from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext
from wfe_plugin.method.bound import add_log_mask


class WithinFrequencies(Rule):
    """Adds the log-mask of the step (Equation 4, weighted), from the bound of the sentences."""

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        if step.sentences.bound is not None:
            add_log_mask(lprobs, step.sentences.bound, step.generated)
