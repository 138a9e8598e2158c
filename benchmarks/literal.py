"""WFE as the paper writes it down, equation by equation, to be compared with.

Nothing here is wrong, and nothing is clever: the projection of every encoder state
(Figure 2, line 1), temporaries of batch × vocabulary floats in the loss
(Equation 6), and budgets of (batch · beam) × vocabulary floats that go with the
hypotheses (Equations 4 and 5).
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqEncoderDecoderModel, register_model
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from torch import Tensor, nn

from wfe_plugin.models.wfe_lstm import WFELSTMConfig, WFELSTMModel

OVER_COST, UNDER_COST, EPSILON = 0.2, 1.0, 0.25  # c1, c2 and ε; b is 2


class LiteralEstimator(nn.Module):
    """Figure 2; its parameters have the names that the plugin's have."""

    def __init__(self, state_size: int, vocabulary_size: int):
        super().__init__()
        self.frequency_hidden = nn.Linear(state_size, state_size, bias=False)
        self.frequency_output = nn.Linear(state_size, vocabulary_size, bias=False)
        self.occurrence_hidden = nn.Linear(state_size, state_size, bias=False)
        self.occurrence_output = nn.Linear(2 * state_size, vocabulary_size, bias=False)

    def forward(self, states: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """
        Args:
            states: (time, sentences, H)
            padding: (time, sentences), True at padded positions

        Returns:
            r̂ and ĝ, (sentences, vocabulary) each
        """
        padding = padding.unsqueeze(-1)
        frequency = self.frequency_hidden(states).masked_fill(padding, 0.0).sum(dim=0)  # lines 1 and 2
        r = self.frequency_output(frequency)  # line 3
        votes = self.occurrence_hidden(states)  # line 4
        highest = votes.masked_fill(padding, float("-inf")).amax(dim=0)  # line 5
        lowest = votes.masked_fill(padding, float("inf")).amin(dim=0)  # line 6
        g = self.occurrence_output(torch.cat((highest, lowest), dim=-1))  # line 7
        return torch.relu(r), torch.sigmoid(g)


@register_model("wfe_lstm_literal", dataclass=WFELSTMConfig)
class LiteralModel(FairseqEncoderDecoderModel):
    """The plugin's EncDec with the literal estimator."""

    calibration = None  # decodes by Equation 4

    def __init__(self, encoder, decoder, wfe_head: LiteralEstimator):
        super().__init__(encoder, decoder)
        self.wfe_head = wfe_head

    @classmethod
    def build_model(cls, cfg: WFELSTMConfig, task) -> LiteralModel:
        without_head = copy.deepcopy(cfg)
        without_head.without_wfe = True
        encdec = WFELSTMModel.build_model(without_head, task)
        head = LiteralEstimator(encdec.encoder.state_size, len(task.target_dictionary))
        return cls(encdec.encoder, encdec.decoder, head)

    def forward(self, src_tokens, src_lengths, prev_output_tokens):
        encoder_out = self.encoder(src_tokens, src_lengths)
        logits, attention = self.decoder(prev_output_tokens, encoder_out=encoder_out)
        return logits, {"attn": attention, "estimate": self.estimate(encoder_out)}

    def estimate(self, encoder_out) -> tuple[Tensor, Tensor]:
        return self.wfe_head(encoder_out.outputs, encoder_out.padding)


@register_criterion("nll_wfe_literal", dataclass=FairseqDataclass)
class LiteralCriterion(FairseqCriterion):
    """NLL + Ψ^wfe (Equation 6), summed over the sentences."""

    def forward(self, model, sample, reduce=True):
        net_output = model(**sample["net_input"])
        lprobs = model.get_normalized_probs(net_output, log_probs=True)
        target = sample["target"]
        nll = F.nll_loss(
            lprobs.view(-1, lprobs.size(-1)), target.view(-1), ignore_index=self.padding_idx, reduction="sum"
        )
        r_hat, g_hat = net_output[1]["estimate"]
        a_hat = r_hat * g_hat
        a_star = torch.zeros_like(a_hat)
        a_star.scatter_add_(1, target, target.ne(self.padding_idx).type_as(a_star))
        over = torch.relu(a_hat - a_star - EPSILON) ** 2
        under = torch.relu(a_star - a_hat - EPSILON) ** 2
        loss = nll + (OVER_COST * over + UNDER_COST * under).sum()
        return loss, target.size(0), {"loss": loss.detach()}


class Budgets(NamedTuple):
    """What goes with the hypotheses through the search."""

    encoder_outs: list
    r: Tensor  # r̃_j of each hypothesis, (rows, vocabulary)
    g: Tensor  # ĝ, likewise


class LiteralEnsemble(EnsembleModel):
    """Keeps r̃_j for every hypothesis and computes ã_j anew at every step."""

    def __init__(self, models, eos: int):
        super().__init__(models)
        self.eos = eos

    def forward_encoder(self, net_input) -> Budgets:
        encoder_outs = super().forward_encoder(net_input)
        r, g = self.single_model.estimate(encoder_outs[0])
        # The end of the sentence is free, as it is in the plugin.
        r[:, self.eos] = float("inf")
        g[:, self.eos] = 1.0
        return Budgets(encoder_outs, r, g)

    def reorder_encoder_out(self, budgets: Budgets, new_order: Tensor) -> Budgets:
        return Budgets(
            super().reorder_encoder_out(budgets.encoder_outs, new_order),
            budgets.r.index_select(0, new_order),
            budgets.g.index_select(0, new_order),
        )

    def forward_decoder(self, tokens, budgets: Budgets, incremental_states, temperature=1.0):
        lprobs, attention = super().forward_decoder(tokens, budgets.encoder_outs, incremental_states, temperature)
        if tokens.size(1) > 1:  # the start symbol is not a word
            spent = torch.full_like(budgets.r[:, :1], -1.0)
            budgets.r.scatter_add_(1, tokens[:, -1:], spent)  # Equation 5
        return lprobs + (budgets.r.clamp(0.0, 1.0) * budgets.g).log(), attention  # Equation 4


class LiteralGenerator(SequenceGenerator):
    """fairseq's generator, with the literal mask."""

    def __init__(self, models, tgt_dict, **kwargs):
        super().__init__(LiteralEnsemble(models, tgt_dict.eos()), tgt_dict, **kwargs)
