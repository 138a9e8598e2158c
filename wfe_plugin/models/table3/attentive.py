"""What the systems of the paper's Table 3 have in common: attention, and decoders around it.

None of them has a WFE sub-model. All their tensors have the sentences first.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import torch
from fairseq import utils
from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqEncoder, FairseqIncrementalDecoder
from fairseq.models.lstm import Embedding
from fairseq.modules import FairseqDropout
from omegaconf import II
from torch import Tensor


@dataclass
class AttentiveConfig(FairseqDataclass):
    dropout: float = field(
        default=0.0,
        metadata={"help": "dropout probability, on embeddings and before the output layer"},
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def attend(scores: Tensor, padding: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """A mean of the values, weighted by the softmax of the scores.

    Args:
        scores: (sentences, queries, source length)
        padding: (sentences, source length), True at padded positions
        values: (sentences, source length, size)

    Returns:
        weights (sentences, queries, source length) and means (sentences, queries, size)
    """
    scores = scores.float().masked_fill(padding.unsqueeze(1), float("-inf"))
    weights = scores.softmax(dim=-1).type_as(values)
    return weights, weights @ values


class AttendedSource(NamedTuple):
    """What a decoder compares its queries with, and what it takes in from there."""

    keys: Tensor  # (sentences, source length, size)
    values: Tensor  # (sentences, source length, size)
    padding: Tensor  # (sentences, source length), True at padded positions


class AttentiveEncoder(FairseqEncoder):
    """Embeds the source. Subclasses return tuples of tensors with the sentences first."""

    def __init__(self, dictionary, embed_dim: int, dropout: float, max_source_positions: int):
        super().__init__(dictionary)
        self.padding_idx = dictionary.pad()
        self.max_source_positions = max_source_positions
        self.embed_tokens = Embedding(len(dictionary), embed_dim, self.padding_idx)
        self.dropout = FairseqDropout(dropout, module_name=type(self).__name__)

    def read(self, src_tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """
        Args:
            src_tokens: (sentences, source length), padded on either side

        Returns:
            the tokens, padded on the right; their embeddings (sentences, source length,
            embed_dim), zero at padded positions; where these are (sentences, source length)
        """
        # Whatever --left-pad-source says, fairseq-interactive pads on the left.
        tokens = utils.convert_padding_direction(src_tokens, self.padding_idx, left_to_right=True)
        padding = tokens.eq(self.padding_idx)
        embedded = self.dropout(self.embed_tokens(tokens))
        return tokens, embedded.masked_fill(padding.unsqueeze(-1), 0.0), padding

    def reorder_encoder_out(self, encoder_out, new_order: Tensor):
        return type(encoder_out)(*(field.index_select(0, new_order) for field in encoder_out))

    def max_positions(self) -> int:
        return self.max_source_positions


class AttentiveRNNDecoder(FairseqIncrementalDecoder):
    """Runs a recurrent decoder over given words, or one word further.

    Subclasses say how the state begins, what one step does, and what follows from the
    features of the steps. A state is a tuple of tensors with the sentences first.
    """

    def __init__(self, dictionary, embed_dim: int, dropout: float, max_target_positions: int):
        super().__init__(dictionary)
        self.max_target_positions = max_target_positions
        self.embed_tokens = Embedding(len(dictionary), embed_dim, dictionary.pad())
        self.dropout = FairseqDropout(dropout, module_name=type(self).__name__)

    def initial_state(self, encoder_out) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def step(self, word: Tensor, state: tuple[Tensor, ...], encoder_out) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """
        Args:
            word: (sentences, embed_dim), the embedding of the word before

        Returns:
            features for the output layer (sentences, size), the attention's weights
            (sentences, source length), the new state
        """
        raise NotImplementedError

    def output(
        self, features: Tensor, prev_output_tokens: Tensor, encoder_out, incremental_state
    ) -> tuple[Tensor, dict]:
        """
        Args:
            features: (sentences, length, size)

        Returns:
            logits (sentences, length, words), and what else the model is to return
        """
        raise NotImplementedError

    def forward(self, prev_output_tokens, encoder_out=None, incremental_state=None, **unused):
        """
        Args:
            prev_output_tokens: (sentences, length)
            incremental_state: if given, only the last word is new

        Returns:
            logits (sentences, length, vocabulary) and a dictionary with `attn`,
            (sentences, length, source length); length is 1 if only one word is new
        """
        new_tokens = prev_output_tokens
        if incremental_state is not None:
            new_tokens = prev_output_tokens[:, -1:]
        state = self.cached_state(incremental_state)
        if state is None:
            state = self.initial_state(encoder_out)
        features, attention = [], []
        for word in self.dropout(self.embed_tokens(new_tokens)).unbind(dim=1):
            feature, weights, state = self.step(word, state, encoder_out)
            features.append(feature)
            attention.append(weights)
        self.cache_state(incremental_state, state)
        logits, extra = self.output(
            self.dropout(torch.stack(features, dim=1)),
            prev_output_tokens,
            encoder_out,
            incremental_state,
        )
        return logits, {"attn": torch.stack(attention, dim=1), **extra}

    def cached_state(self, incremental_state) -> Optional[tuple[Tensor, ...]]:
        if incremental_state is None:
            return None
        cached = self.get_incremental_state(incremental_state, "state")
        return None if cached is None else tuple(cached.values())

    def cache_state(self, incremental_state, state: tuple[Tensor, ...]) -> None:
        if incremental_state is not None:
            numbered = {str(number): tensor for number, tensor in enumerate(state)}
            self.set_incremental_state(incremental_state, "state", numbered)

    def reorder_incremental_state(self, incremental_state, new_order: Tensor) -> None:
        state = self.cached_state(incremental_state)
        if state is not None:
            reordered = tuple(tensor.index_select(0, new_order) for tensor in state)
            self.cache_state(incremental_state, reordered)

    def max_positions(self) -> int:
        return self.max_target_positions
