"""Scoring given outputs as the bounded search would score them."""

import torch
from fairseq.sequence_scorer import SequenceScorer

from wfe_plugin.generation.ensemble import BoundedEnsemble
from wfe_plugin.method.bound import FrequencyBound, reference_log_mask


def bound_of(models, sample, dictionary, decoding: str, bound_eos: bool) -> FrequencyBound:
    """The bound under which the sentences of a batch would be decoded."""
    ensemble = BoundedEnsemble(models, dictionary.pad(), dictionary.eos(), decoding, bound_eos)
    encoder_input = {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
    return ensemble.forward_encoder(encoder_input).bound


class WFESequenceScorer(SequenceScorer):
    """Adds the log-mask of Equation 4 to the scores of the reference.

    An output that the bound forbids has the score -inf.

    Args:
        decoding: `full`, `strict`, `bound` or `gate`
        bound_eos: bound EOS as any other word
    """

    def __init__(self, tgt_dict, *, decoding: str, bound_eos: bool, **kwargs):
        super().__init__(tgt_dict, **kwargs)
        self.dictionary = tgt_dict
        self.decoding = decoding
        self.bound_eos = bound_eos

    @torch.no_grad()
    def generate(self, models, sample, **kwargs):
        hypotheses = super().generate(models, sample, **kwargs)
        bound = bound_of(models, sample, self.dictionary, self.decoding, self.bound_eos)
        masks = reference_log_mask(bound, sample["target"])
        for mask, target, (hypothesis,) in zip(masks, sample["target"], hypotheses):
            mask = mask[target.ne(self.pad)]
            scores = hypothesis["positional_scores"] + mask
            hypothesis["positional_scores"] = scores
            hypothesis["score"] = scores.sum() / scores.numel()
        return hypotheses
