"""A bidirectional LSTM encoder whose states the WFE head can read."""

from typing import NamedTuple

import torch
from fairseq import utils
from fairseq.models import FairseqEncoder
from fairseq.models.lstm import LSTM, Embedding
from fairseq.modules import FairseqDropout
from torch import Tensor, nn


class BiLSTMEncoderOut(NamedTuple):
    """The first four fields are those of fairseq's LSTM encoder, in its order."""

    outputs: Tensor  # (time, sentences, state size), without dropout: see BiLSTMEncoder
    final_hiddens: Tensor  # (layers, sentences, state size)
    final_cells: Tensor  # (layers, sentences, state size)
    padding: Tensor  # (time, sentences), True at padded positions
    tokens: Tensor  # (time, sentences), the source as it was read


class BiLSTMEncoder(FairseqEncoder):
    """Ω^s of Equation 1: a bidirectional LSTM over the source.

    The two directions' states are summed (state size H, as in the authors' own
    code) or concatenated (2H, as in fairseq's `lstm`).

    The states themselves have no dropout. fairseq's `lstm` has, and attention sets in
    late: on 115,000 newswire pairs the validation perplexity after two epochs is 94 with
    it and 77 without. The WFE head needs them as they are, too: a maximum over states with
    dropout differs between training and evaluation.

    Args:
        dictionary: source dictionary
        embed_dim: D, size of the embeddings
        hidden_size: H, size of one direction's states
        num_layers: number of LSTM layers
        dropout: probability, on embeddings and between layers
        sum_directions: sum the directions' states instead of concatenating them
        max_source_positions: longest source sentence accepted
    """

    def __init__(
        self,
        dictionary,
        embed_dim: int,
        hidden_size: int,
        num_layers: int,
        dropout: float,
        sum_directions: bool,
        max_source_positions: int,
    ):
        super().__init__(dictionary)
        self.padding_idx = dictionary.pad()
        self.max_source_positions = max_source_positions
        self.sum_directions = sum_directions
        self.state_size = hidden_size if sum_directions else 2 * hidden_size
        self.embed_tokens = Embedding(len(dictionary), embed_dim, self.padding_idx)
        self.dropout = FairseqDropout(dropout, module_name=type(self).__name__)
        self.lstm = LSTM(
            input_size=embed_dim,
            hidden_size=hidden_size,
            num_layers=num_layers,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=True,
        )

    def forward(self, src_tokens: Tensor, src_lengths: Tensor) -> BiLSTMEncoderOut:
        """
        Args:
            src_tokens: (sentences, time), padded on either side
            src_lengths: (sentences,), longest first or in any other order
        """
        # Whatever --left-pad-source says, fairseq-interactive pads on the left.
        src_tokens = utils.convert_padding_direction(src_tokens, self.padding_idx, left_to_right=True)
        padding = src_tokens.eq(self.padding_idx).t()
        x = self.dropout(self.embed_tokens(src_tokens)).transpose(0, 1)
        run = run_padded if x.device.type == "cpu" else run_packed
        directions, hiddens, cells = run(self.lstm, x, src_lengths, padding)
        return BiLSTMEncoderOut(
            outputs=self._join(directions),
            final_hiddens=self._join(hiddens),
            final_cells=self._join(cells),
            padding=padding,
            tokens=src_tokens.t(),
        )

    def _join(self, directions: Tensor) -> Tensor:
        """(..., 2H), forward then backward -> (..., state size)."""
        if not self.sum_directions:
            return directions
        forward, backward = directions.chunk(2, dim=-1)
        return forward + backward

    def reorder_encoder_out(self, encoder_out: BiLSTMEncoderOut, new_order: Tensor) -> BiLSTMEncoderOut:
        return BiLSTMEncoderOut(*(field.index_select(1, new_order) for field in encoder_out))

    def max_positions(self) -> int:
        return self.max_source_positions


def run_packed(lstm: nn.LSTM, x: Tensor, lengths: Tensor, padding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Run a bidirectional LSTM over a packed batch: the fast way on a GPU.

    Args:
        x: (time, sentences, input size), padded on the right
        lengths: (sentences,)
        padding: (time, sentences), True at padded positions

    Returns:
        outputs (time, sentences, 2H), zero at padded positions; final hidden
        states and final cells (layers, sentences, 2H)
    """
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)
    packed_outputs, (hiddens, cells) = lstm(packed)
    outputs, _ = nn.utils.rnn.pad_packed_sequence(packed_outputs, total_length=x.size(0))

    def by_layer(finals: Tensor) -> Tensor:
        """(layers * 2, sentences, H) -> (layers, sentences, 2H)."""
        finals = finals.view(lstm.num_layers, 2, *finals.shape[1:])
        return torch.cat((finals[:, 0], finals[:, 1]), dim=-1)

    return outputs, by_layer(hiddens), by_layer(cells)


# Far enough into saturation that a float32 sigmoid is exactly 1, and that of
# its negative is nothing beside any cell; finite in half precision too.
GATE_SATURATION = 200.0


def run_padded(lstm: nn.LSTM, x: Tensor, lengths: Tensor, padding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same as :func:`run_packed` on a padded batch: the fast way on a CPU.

    Packed batches miss the CPU's fast kernel. In a padded batch the LSTM also
    runs over the padding, and must pass it unchanged. One more input feature,
    which is 1 at padding, opens the forget gate and closes the input gate
    there: a cell keeps its value through trailing padding (forward direction)
    and stays zero through leading padding (backward direction).
    """
    hidden_size = lstm.hidden_size
    pad_feature = padding.unsqueeze(-1).type_as(x)
    # nn.LSTM keeps the rows of its weights in the order input, forget, cell, output.
    gates = x.new_zeros(4 * hidden_size, 1)
    gates[:hidden_size] = -GATE_SATURATION
    gates[hidden_size : 2 * hidden_size] = GATE_SATURATION
    zeros = x.new_zeros(2, x.size(1), hidden_size)
    last = (lengths.to(x.device) - 1).view(1, -1, 1).expand(1, -1, hidden_size)

    all_hiddens, all_cells = [], []
    for layer in range(lstm.num_layers):
        if layer > 0:
            x = nn.functional.dropout(x, lstm.dropout, lstm.training)
        weights = []
        for direction in ("", "_reverse"):
            w_ih, w_hh, b_ih, b_hh = (
                getattr(lstm, f"{name}_l{layer}{direction}")
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            weights += [torch.cat((w_ih, gates), dim=1), w_hh, b_ih, b_hh]
        # Autocast would ask for a kernel that many CPUs do not have.
        with torch.autocast(x.device.type, enabled=False):
            x, _, cells = torch.lstm(
                torch.cat((x, pad_feature), dim=-1),
                (zeros, zeros),
                weights,
                True,  # has biases
                1,  # layers
                0.0,  # dropout between layers
                lstm.training,
                True,  # bidirectional
                False,  # batch first
            )
        x = x.masked_fill(padding.unsqueeze(-1), 0.0)
        forward, backward = x.chunk(2, dim=-1)
        all_hiddens.append(torch.cat((forward.gather(0, last)[0], backward[0]), dim=-1))
        all_cells.append(torch.cat((cells[0], cells[1]), dim=-1))
    return x, torch.stack(all_hiddens), torch.stack(all_cells)
