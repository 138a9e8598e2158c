"""Training objective of the alternative that learns: unlikelihood (Welleck et al.)."""

from dataclasses import dataclass, field

from fairseq.criterions import register_criterion

from wfe_plugin.criterions.nll_wfe import NLLWithWFEConfig, NLLWithWFECriterion
from wfe_plugin.errors import check_ranges
from wfe_plugin.method.unlikelihood import unlikelihood_loss


@dataclass
class NLLWithUnlikelihoodConfig(NLLWithWFEConfig):
    unlikelihood_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the token-level unlikelihood loss beside the NLL"},
    )

    def validate(self) -> None:
        NLLWithWFEConfig.validate(self)
        check_ranges(self, {"unlikelihood_weight": "[0, inf)"})


@register_criterion("nll_unlikelihood", dataclass=NLLWithUnlikelihoodConfig)
class NLLWithUnlikelihoodCriterion(NLLWithWFECriterion):
    """NLL + weight × unlikelihood of each sentence's own earlier words.

    Welleck et al. (2019), "Neural Text Generation with Unlikelihood Training",
    https://arxiv.org/abs/1908.04319

    A model with a WFE sub-model learns with its loss as well. Logged as by
    `nll_wfe`, and besides: `unlikelihood_loss`, a sentence.
    """

    needs_lprobs = True

    def __init__(self, task, unlikelihood_weight: float = 1.0, **options):
        super().__init__(task, **options)
        self.unlikelihood_weight = unlikelihood_weight

    def further_losses(self, lprobs, target, pending):
        losses = super().further_losses(lprobs, target, pending)
        unlikelihood = unlikelihood_loss(lprobs, target, self.padding_idx).sum()
        losses["unlikelihood_loss"] = (self.unlikelihood_weight, unlikelihood)
        return losses
