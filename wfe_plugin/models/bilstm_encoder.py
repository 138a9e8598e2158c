"""A bidirectional LSTM encoder whose states the WFE head can read."""

from typing import NamedTuple

from fairseq import utils
from fairseq.models import FairseqEncoder
from fairseq.models.lstm import LSTM, Embedding
from fairseq.modules import FairseqDropout
from torch import Tensor

from wfe_plugin.method.bidirectional import run_bidirectional


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
        directions, hiddens, cells = run_bidirectional(self.lstm, x, src_lengths, padding)
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
