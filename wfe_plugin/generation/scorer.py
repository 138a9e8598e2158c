"""Scoring given outputs as the bounded search would score them."""

from typing import Optional

import torch
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor

from wfe_plugin.generation.ensemble import RuledEnsemble
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.method.bound import earlier_uses, reference_log_mask


def added_scores(
    models, sample, dictionary, options: DecodingConfig, target: Tensor, sentence: Optional[Tensor] = None
) -> Tensor:
    """What decoding adds to the log-probabilities of the words of given outputs: mask and word reward.

    Args:
        options: resolved
        target: (outputs, length), each with its EOS
        sentence: (outputs,), which sentence of the batch each is of; None: one output per sentence

    Returns:
        (outputs, length), float32; anything at padding
    """
    reward = options.calibration.word_reward
    rewards = torch.where(earlier_uses(target) > 0, min(reward, 0.0), reward)
    added = rewards.masked_fill(target.eq(dictionary.eos()), 0.0)
    if options.wfe_decoding == "off":
        return added
    inputs = {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
    bound = RuledEnsemble(models, dictionary, options).encode(inputs).sentences.bound
    assert bound is not None
    return added + reference_log_mask(bound, target, sentence)


class WFESequenceScorer(SequenceScorer):
    """Adds the log-mask of Equation 4 to the scores of the reference.

    The word reward is added as well. An output that the bound forbids has the score -inf.

    Args:
        options: resolved; of the rules of a step only the word reward
    """

    def __init__(self, tgt_dict, *, options: DecodingConfig, **kwargs):
        super().__init__(tgt_dict, **kwargs)
        self.dictionary = tgt_dict
        self.options = options

    @torch.no_grad()
    def generate(self, models, sample, **kwargs):
        hypotheses = super().generate(models, sample, **kwargs)
        target = sample["target"]
        added = added_scores(models, sample, self.dictionary, self.options, target)
        for mask, words, (hypothesis,) in zip(added, target, hypotheses):
            scores = hypothesis["positional_scores"] + mask[words.ne(self.pad)]
            hypothesis["positional_scores"] = scores
            hypothesis["score"] = scores.sum() / scores.numel()
        return hypotheses
