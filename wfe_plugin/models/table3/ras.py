"""RAS-LSTM and RAS-Elman: recurrent decoders with a convolutional attentive encoder.

Chopra, Auli and Rush (2016), "Abstractive Sentence Summarization with Attentive
Recurrent Neural Networks", https://aclanthology.org/N16-1012/

    a_i = x_i + l_i                           embeddings of the word and of its position
    z_i = Σ_k B_k a_{i+k}, k = -q/2 .. q/2    a convolution
    α_i = softmax_i(z_i · h_{t-1})            attention
    c_t = Σ_i α_i x_i
    h_t = σ(W1 y_{t-1} + W2 h_{t-1} + W3 c_t)     RAS-Elman; RAS-LSTM: a cell of LSTM
    p_t = softmax(W4 h_t + W5 c_t)

Since z is compared with h and sums x, all of them have one size, d.

What we chose:

- q = 5 is the paper's. We had no copy of its other settings to check against: d = 512 for
  both decoders, and SGD on batches of 32 pairs, are to our knowledge; the learning rate
  and the clipping of the presets are ours.
- The LSTM is the usual one, with y_{t-1} and c_t as its input.
- The first 256 words have position embeddings of their own, and later ones share the last:
  the length of the source is often not limited, and a table must be.
- h_0 is zero: the first attention is uniform. The decoder learns of the source by c_1.
- The convolution has no bias: it would add the same to all scores. The other layers have
  biases.
- Dropout, which the paper does not have, is there for small data.
"""

from dataclasses import dataclass, field

import torch
from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from fairseq.models.lstm import Linear, LSTMCell
from torch import Tensor, nn

from wfe_plugin.errors import UserError, check_ranges
from wfe_plugin.models.checks import CheckedEncoderDecoderModel
from wfe_plugin.models.table3.attentive import (
    AttendedSource,
    AttentiveConfig,
    AttentiveEncoder,
    AttentiveRNNDecoder,
    attend,
)


@dataclass
class RASConfig(AttentiveConfig):
    """The defaults are the paper's, to our knowledge."""

    hidden_size: int = field(default=512, metadata={"help": "size of embeddings, aggregated words and states (d)"})
    kernel_size: int = field(default=5, metadata={"help": "width of the convolution over the source (q), odd"})
    source_positions: int = field(
        default=256,
        metadata={"help": "words of the source with a position embedding of their own; later ones share the last"},
    )
    cell: ChoiceEnum(["elman", "lstm"]) = field(default="elman", metadata={"help": "the recurrent cell of the decoder"})

    def validate(self) -> None:
        sizes = dict.fromkeys(("hidden_size", "kernel_size", "source_positions"), "[1, inf)")
        check_ranges(self, {"dropout": "[0, 1)", **sizes})
        if self.kernel_size % 2 == 0:
            raise UserError(f"--kernel-size is {self.kernel_size}; it must be odd")


class ConvolutionalEncoder(AttentiveEncoder):
    """z as keys and x as values."""

    def __init__(self, dictionary, size: int, *args, positions: int, kernel_size: int):
        super().__init__(dictionary, size, *args)
        self.embed_positions = nn.Embedding(positions, size)
        nn.init.uniform_(self.embed_positions.weight, -0.1, 0.1)
        self.aggregate = nn.Conv1d(size, size, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, src_tokens: Tensor, src_lengths: Tensor) -> AttendedSource:
        _, embedded, padding = self.read(src_tokens)
        places = torch.arange(src_tokens.size(1), device=src_tokens.device)
        places = places.clamp(max=self.embed_positions.num_embeddings - 1)
        placed = (embedded + self.embed_positions(places)).masked_fill(padding.unsqueeze(-1), 0.0)
        keys = self.aggregate(placed.transpose(1, 2)).transpose(1, 2)
        return AttendedSource(keys, embedded, padding)


class ElmanCell(nn.Module):
    """h_t = σ(W1 y_{t-1} + W2 h_{t-1} + W3 c_t)."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.linear = Linear(input_size + hidden_size, hidden_size)

    def forward(self, x: Tensor, state: tuple[Tensor]) -> tuple[Tensor]:
        """(sentences, input size), (sentences, hidden size) -> (sentences, hidden size)."""
        return (torch.sigmoid(self.linear(torch.cat((x, *state), dim=-1))),)


class RASDecoder(AttentiveRNNDecoder):
    def __init__(self, dictionary, size: int, *args, cell: str):
        super().__init__(dictionary, size, *args)
        self.state_tensors = {"elman": 1, "lstm": 2}[cell]  # h; and the memory of an LSTM
        self.cell = {"elman": ElmanCell, "lstm": LSTMCell}[cell](2 * size, size)
        self.fc_out = Linear(2 * size, len(dictionary))  # [W4 W5]

    def initial_state(self, encoder_out: AttendedSource) -> tuple[Tensor, ...]:
        values = encoder_out.values
        zeros = values.new_zeros(values.size(0), values.size(2))
        return (zeros,) * self.state_tensors

    def step(self, word, state, encoder_out: AttendedSource):
        scores = state[0].unsqueeze(1) @ encoder_out.keys.transpose(1, 2)
        weights, context = attend(scores, encoder_out.padding, encoder_out.values)
        context = context.squeeze(1)
        state = self.cell(torch.cat((word, context), dim=-1), state)
        return torch.cat((state[0], context), dim=-1), weights.squeeze(1), state

    def output(self, features, prev_output_tokens, encoder_out, incremental_state):
        return self.fc_out(features), {}


@register_model("ras", dataclass=RASConfig)
class RASModel(CheckedEncoderDecoderModel):
    """See the top of this file."""

    @classmethod
    def build_model(cls, cfg: RASConfig, task) -> "RASModel":
        RASConfig.validate(cfg)  # unbound: fairseq's own configuration object has no methods
        encoder = ConvolutionalEncoder(
            task.source_dictionary,
            cfg.hidden_size,
            cfg.dropout,
            cfg.max_source_positions,
            positions=cfg.source_positions,
            kernel_size=cfg.kernel_size,
        )
        decoder = RASDecoder(
            task.target_dictionary,
            cfg.hidden_size,
            cfg.dropout,
            cfg.max_target_positions,
            cell=cfg.cell,
        )
        return cls(encoder, decoder)


@register_model_architecture("ras", "ras_elman")
def ras_elman(cfg) -> None:
    cfg.cell = getattr(cfg, "cell", "elman")


@register_model_architecture("ras", "ras_lstm")
def ras_lstm(cfg) -> None:
    cfg.cell = getattr(cfg, "cell", "lstm")


def small(cfg) -> None:
    """For a CPU and some ten thousand pairs."""
    cfg.dropout = getattr(cfg, "dropout", 0.3)
    cfg.hidden_size = getattr(cfg, "hidden_size", 160)


@register_model_architecture("ras", "ras_elman_small")
def ras_elman_small(cfg) -> None:
    ras_elman(cfg)
    small(cfg)


@register_model_architecture("ras", "ras_lstm_small")
def ras_lstm_small(cfg) -> None:
    ras_lstm(cfg)
    small(cfg)
