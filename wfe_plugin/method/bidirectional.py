"""Bidirectional LSTMs over batches of sentences of different lengths, fast on GPU and CPU."""

import torch
from torch import Tensor, nn


def run_bidirectional(lstm: nn.LSTM, x: Tensor, lengths: Tensor, padding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Run a bidirectional LSTM as if each sentence were alone; see :func:`run_packed`."""
    run = run_padded if x.device.type == "cpu" else run_packed
    return run(lstm, x, lengths, padding)


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
    x = x.to(next(lstm.parameters()).dtype)  # autocast may have made it another
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
