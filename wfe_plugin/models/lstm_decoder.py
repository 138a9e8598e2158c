"""The LSTM decoder with global attention, which may also copy words of the source."""

from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from fairseq.models.lstm import Linear, LSTMDecoder
from torch import Tensor

# Where the source lacks a word, log 0 would have no gradient.
LEAST_COPIED = 1e-30


class Copying(NamedTuple):
    """A word comes from the vocabulary or, through the attention, from the source.

        P(w) = (1 − σ(gate)) · Softmax(o)_w + σ(gate) · Σ attention at the positions of w

    Gu et al. (2016), https://aclanthology.org/P16-1154/, in the form of See et al. (2017),
    https://aclanthology.org/P17-1099/
    """

    gate: Tensor  # (sentences, length), before the sigmoid
    attention: Tensor  # (sentences, length, source length)
    words: Tensor  # (sentences, source length), the source in the target vocabulary

    def log_prob_of(self, target: Tensor, generated: Tensor) -> Tensor:
        """log P of one word per step.

        Args:
            target: (sentences, length)
            generated: (sentences, length), log Softmax(o) of it
        """
        is_target = self.words.unsqueeze(1).eq(target.unsqueeze(2))
        return self.mixed(generated, (self.attention.float() * is_target).sum(dim=2), self.gate.float())

    def log_probs(self, logits: Tensor) -> Tensor:
        """log P of all words, (sentences, length, vocabulary), float32."""
        generated = F.log_softmax(logits, dim=-1, dtype=torch.float32)
        gate = self.gate.float().unsqueeze(2)
        places = self.words.unsqueeze(1).expand(*gate.shape[:2], -1)

        def of_word(numbers: Tensor) -> Tensor:
            """What all positions of a word have together, at each of them."""
            return torch.zeros_like(generated).scatter_add(2, places, numbers).gather(2, places)

        copied = self.mixed(generated.gather(2, places), of_word(self.attention.float()), gate)
        if not torch.is_grad_enabled():
            return generated.add_(F.logsigmoid(-gate)).scatter_(2, places, copied)
        # With a gradient, each position writes its share.
        others = (generated + F.logsigmoid(-gate)).scatter(2, places, 0.0)
        return others.scatter_add(2, places, copied / of_word(torch.ones_like(copied)))

    @staticmethod
    def mixed(generated: Tensor, copied: Tensor, gate: Tensor) -> Tensor:
        """log ((1 − σ(gate)) · e^generated + σ(gate) · copied)"""
        copied = copied.clamp(min=LEAST_COPIED).log()
        return torch.logaddexp(generated + F.logsigmoid(-gate), copied + F.logsigmoid(gate))


class AttentiveLSTMDecoder(LSTMDecoder):
    """fairseq's LSTM decoder with a faster loop, and with copying.

    Args:
        target_of_source: (source vocabulary,), each word of the source in the target's vocabulary;
            None: words are not copied
    """

    def __init__(self, dictionary, target_of_source: Optional[Tensor] = None, **kwargs):
        super().__init__(dictionary, **kwargs)
        self.copies = target_of_source is not None
        if self.copies:
            self.copy_gate = Linear(self.hidden_size, 1)
            self.register_buffer("target_of_source", target_of_source, persistent=False)

    def forward(self, prev_output_tokens, encoder_out=None, incremental_state=None, src_lengths=None):
        """
        Returns:
            logits and attention; where words are copied: in training, logits and a dictionary with
            `copying`, which makes probabilities of them, else log-probabilities
        """
        x, attention = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        logits = self.output_layer(x)
        if not self.copies:
            return logits, attention
        copying = Copying(self.copy_gate(x).squeeze(-1), attention, self.target_of_source[encoder_out.tokens.t()])
        if self.training:
            return logits, {"attn": attention, "copying": copying}
        return copying.log_probs(logits), {"attn": attention}

    @property
    def returns_log_probs(self) -> bool:
        """In evaluation: a softmax would leave them as they are."""
        return self.copies

    def extract_features(self, prev_output_tokens, encoder_out=None, incremental_state=None):
        """As fairseq's, which writes the attention of each step into a tensor that autograd watches, and
        drops it in training.

        Returns:
            features (sentences, length, size); attention (sentences, length, source length)
        """
        if incremental_state:
            prev_output_tokens = prev_output_tokens[:, -1:]
            hiddens, cells, feed = self.get_cached_state(incremental_state)
        else:
            hiddens, cells = list(encoder_out.final_hiddens), list(encoder_out.final_cells)
            if self.encoder_hidden_proj is not None:
                hiddens, cells = map(self.encoder_hidden_proj, hiddens), map(self.encoder_cell_proj, cells)
            hiddens, cells = list(hiddens), list(cells)
            feed = hiddens[0].new_zeros(hiddens[0].shape)
        features, attention = [], []
        for word in self.dropout_in_module(self.embed_tokens(prev_output_tokens)).unbind(dim=1):
            read = torch.cat((word, feed), dim=1)
            for i, cell in enumerate(self.layers):
                hiddens[i], cells[i] = cell(read, (hiddens[i], cells[i]))
                read = self.dropout_out_module(hiddens[i])
            feature, weights = self.attention(hiddens[-1], encoder_out.outputs, encoder_out.padding)
            feed = self.dropout_out_module(feature)
            features.append(feed)
            attention.append(weights.t())
        state = {"prev_hiddens": torch.stack(hiddens), "prev_cells": torch.stack(cells), "input_feed": feed}
        self.set_incremental_state(incremental_state, "cached_state", state)
        return torch.stack(features, dim=1), torch.stack(attention, dim=1)
