"""ABS: attention over a bag of embeddings, and a feed-forward language model.

Rush, Chopra and Weston (2015), "A Neural Attention Model for Abstractive Sentence
Summarization", https://aclanthology.org/D15-1044/

With y_c, the last C words, the next word is distributed as softmax(V h + W enc(x, y_c)):

    h = tanh(U ỹ_c)                     ỹ_c: the embeddings E of y_c, one after the other
    enc(x, y_c) = Σ_i p_i x̄_i           x̄_i: the mean of x̃_{i-Q} .. x̃_{i+Q}
    p = softmax(x̃ P ỹ'_c)               x̃, ỹ'_c: the embeddings F of x and G of y_c

What we chose:

- Of what the paper prints as a sum divided by Q, we take the mean over the 2Q+1
  positions, as the authors' code does; the factor is W's business. Positions beyond the
  ends count as zero.
- U and the output layer have biases, as in the authors' code and in the language model
  of Bengio et al. (2003) that theirs follows.
- The start symbol, C times, is fairseq's: end of sentence.
- The paper limits the norm of embeddings after each epoch. We do not; dropout, which the
  paper does not have, is there for small data.
- ABS+, which adds tuned features of extracted words, is not here: Table 3 is about ABS.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from fairseq.models import (
    FairseqIncrementalDecoder,
    register_model,
    register_model_architecture,
)
from fairseq.models.lstm import Embedding, Linear
from fairseq.modules import FairseqDropout
from torch import Tensor

from wfe_plugin.errors import check_ranges
from wfe_plugin.models.checks import CheckedEncoderDecoderModel
from wfe_plugin.models.table3.attentive import (
    AttendedSource,
    AttentiveConfig,
    AttentiveEncoder,
    attend,
)


@dataclass
class ABSConfig(AttentiveConfig):
    """The defaults are the paper's."""

    context_size: int = field(default=5, metadata={"help": "words of the output that the next one depends on (C)"})
    embed_dim: int = field(default=200, metadata={"help": "size of the embeddings of the output (D)"})
    hidden_size: int = field(
        default=400,
        metadata={"help": "size of the hidden layer and of the embeddings of the source (H)"},
    )
    smoothing_window: int = field(
        default=2,
        metadata={"help": "words on either side that a word of the source is averaged with (Q)"},
    )

    def validate(self) -> None:
        sizes = dict.fromkeys(("context_size", "embed_dim", "hidden_size"), "[1, inf)")
        check_ranges(self, {"dropout": "[0, 1)", "smoothing_window": "[0, inf)", **sizes})


class BagOfEmbeddingsEncoder(AttentiveEncoder):
    """x̃ as keys and x̄ as values."""

    def __init__(self, *args, smoothing_window: int):
        super().__init__(*args)
        self.smoothing_window = smoothing_window

    def forward(self, src_tokens: Tensor, src_lengths: Tensor) -> AttendedSource:
        _, embedded, padding = self.read(src_tokens)
        window = self.smoothing_window
        smoothed = F.avg_pool1d(embedded.transpose(1, 2), 2 * window + 1, stride=1, padding=window).transpose(1, 2)
        return AttendedSource(embedded, smoothed, padding)


class NeuralLanguageModelDecoder(FairseqIncrementalDecoder):
    """A function of the source and of the last words: there is no state."""

    def __init__(
        self,
        dictionary,
        context_size: int,
        embed_dim: int,
        hidden_size: int,
        dropout: float,
        max_target_positions: int,
    ):
        super().__init__(dictionary)
        self.start = dictionary.eos()
        self.context_size = context_size
        self.max_target_positions = max_target_positions
        self.embed_tokens = Embedding(len(dictionary), embed_dim, dictionary.pad())  # E
        self.attention_embed_tokens = Embedding(len(dictionary), embed_dim, dictionary.pad())  # G
        self.hidden = Linear(context_size * embed_dim, hidden_size)  # U
        self.query = Linear(context_size * embed_dim, hidden_size, bias=False)  # P
        self.output = Linear(2 * hidden_size, len(dictionary))  # [V W]
        self.dropout = FairseqDropout(dropout, module_name=type(self).__name__)

    def forward(self, prev_output_tokens, encoder_out=None, incremental_state=None, **unused):
        """
        Returns:
            logits (sentences, length, vocabulary) and a dictionary with `attn`,
            (sentences, length, source length); length is 1 in incremental decoding
        """
        contexts = self.contexts(prev_output_tokens)
        if incremental_state is not None:
            contexts = contexts[:, -1:]
        own, for_attention = (
            self.dropout(embed(contexts)).flatten(start_dim=2)
            for embed in (self.embed_tokens, self.attention_embed_tokens)
        )
        hidden = torch.tanh(self.hidden(own))
        scores = self.query(for_attention) @ encoder_out.keys.transpose(1, 2)
        weights, encoded = attend(scores, encoder_out.padding, encoder_out.values)
        features = self.dropout(torch.cat((hidden, encoded), dim=-1))
        return self.output(features), {"attn": weights}

    def contexts(self, prev_output_tokens: Tensor) -> Tensor:
        """The last C words at each place: (sentences, length) -> (sentences, length, C)."""
        before = self.context_size - 1
        padded = F.pad(prev_output_tokens, (before, 0), value=self.start)
        return padded.unfold(1, self.context_size, 1)

    def max_positions(self) -> int:
        return self.max_target_positions


@register_model("abs", dataclass=ABSConfig)
class ABSModel(CheckedEncoderDecoderModel):
    """See the top of this file."""

    @classmethod
    def build_model(cls, cfg: ABSConfig, task) -> "ABSModel":
        ABSConfig.validate(cfg)  # unbound: fairseq's own configuration object has no methods
        encoder = BagOfEmbeddingsEncoder(
            task.source_dictionary,
            cfg.hidden_size,
            cfg.dropout,
            cfg.max_source_positions,
            smoothing_window=cfg.smoothing_window,
        )
        decoder = NeuralLanguageModelDecoder(
            task.target_dictionary,
            context_size=cfg.context_size,
            embed_dim=cfg.embed_dim,
            hidden_size=cfg.hidden_size,
            dropout=cfg.dropout,
            max_target_positions=cfg.max_target_positions,
        )
        return cls(encoder, decoder)


@register_model_architecture("abs", "abs_small")
def abs_small(cfg) -> None:
    """For a CPU and some ten thousand pairs."""
    cfg.dropout = getattr(cfg, "dropout", 0.3)
    cfg.embed_dim = getattr(cfg, "embed_dim", 128)
    cfg.hidden_size = getattr(cfg, "hidden_size", 160)
