"""words-lvt5k-1sent: GRUs, and an output vocabulary that is restricted to what is at hand.

Nallapati, Zhou, dos Santos, Gülçehre and Xiang (2016), "Abstractive Text Summarization
using Sequence-to-sequence RNNs and Beyond", https://aclanthology.org/K16-1028/

A bidirectional GRU encodes, a GRU with the attention of Bahdanau et al. (2015,
https://arxiv.org/abs/1409.0473) decodes. The "large vocabulary trick" computes the output
layer only for the words of the source texts of the batch and for the most frequent words
of the target dictionary, until there are 5,000.

    e_ti = v · tanh(W_a s_{t-1} + U_a h_i),  α_t = softmax(e_t),  c_t = Σ_i α_ti h_i
    s_t = GRU([y_{t-1}; c_t], s_{t-1}),      s_0 = tanh(W_s h←_1)
    p_t = softmax(W_o tanh(W_r [s_t; y_{t-1}; c_t])), over the restricted vocabulary

What we chose:

- **Words of the summary outside of the restricted vocabulary.** The paper does not say
  what becomes of them. In training, and where given summaries are scored, their words
  belong to it, as in Jean et al. (2015): or the loss would be infinite, or taught the
  unknown word. So the NLL of this model is over fewer words than that of others.
- **Decoding.** Each sentence has the vocabulary that it would have in a batch of its own:
  its words and the most frequent ones. So a summary does not depend on the others of its
  batch. Other words are left as a last resort (OUTSIDE), for forced prefixes.
- **The readout**, tanh(W_r ...), has the size of the embeddings; the paper only names a
  softmax layer.
- "Most frequent" means first in the dictionary, as fairseq-preprocess sorts it.
- The paper starts from word2vec embeddings of its own data. Here they start at random.
- Dropout, which the paper does not have, is there for small data. The small architecture
  restricts to 2,000 words, which the paper has as well (lvt2k): small data hardly have 5,000.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from fairseq.models import register_model, register_model_architecture
from fairseq.models.lstm import Linear
from torch import Tensor, nn

from wfe_plugin.errors import check_ranges
from wfe_plugin.method.restricted_vocabulary import fill_up, words_at_hand
from wfe_plugin.models.checks import CheckedEncoderDecoderModel
from wfe_plugin.models.table3.attentive import (
    AttentiveConfig,
    AttentiveEncoder,
    AttentiveRNNDecoder,
    attend,
)
from wfe_plugin.models.wfe_model import corresponding_words

# The logit of words outside: no probability beside any word inside, but finite, so that
# a hypothesis in which such a word was forced can still be ranked. Fits half precision.
OUTSIDE = -1e4


@dataclass
class LVTConfig(AttentiveConfig):
    """The defaults are the paper's."""

    embed_dim: int = field(default=200, metadata={"help": "size of the embeddings"})
    hidden_size: int = field(
        default=400, metadata={"help": "size of one direction's encoder states, and of decoder states"}
    )
    restricted_vocabulary: int = field(
        default=5000,
        metadata={
            "help": "compute the output layer only for the words of the source texts and the "
            "most frequent ones, until there are so many"
        },
    )

    def validate(self) -> None:
        sizes = dict.fromkeys(("embed_dim", "hidden_size", "restricted_vocabulary"), "[1, inf)")
        check_ranges(self, {"dropout": "[0, 1)", **sizes})


class GRUEncoderOut(NamedTuple):
    keys: Tensor  # (sentences, source length, H): U_a h_i
    values: Tensor  # (sentences, source length, 2H): h_i
    padding: Tensor  # (sentences, source length), True at padded positions
    first_backward: Tensor  # (sentences, H): h←_1
    target_words: Tensor  # (sentences, source length), the source as target words; -1: none


class GRUEncoder(AttentiveEncoder):
    def __init__(self, dictionary, embed_dim: int, *args, hidden_size: int, target_dictionary):
        super().__init__(dictionary, embed_dim, *args)
        self.gru = nn.GRU(embed_dim, hidden_size, batch_first=True, bidirectional=True)
        self.attention_keys = Linear(2 * hidden_size, hidden_size)  # U_a
        self.register_buffer(
            "target_of_source",
            corresponding_words(dictionary, target_dictionary),
            persistent=False,
        )

    def forward(self, src_tokens: Tensor, src_lengths: Tensor) -> GRUEncoderOut:
        tokens, embedded, padding = self.read(src_tokens)
        packed = nn.utils.rnn.pack_padded_sequence(embedded, src_lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, finals = self.gru(packed)
        values, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=tokens.size(1))
        return GRUEncoderOut(
            keys=self.attention_keys(values),
            values=values,
            padding=padding,
            first_backward=finals[1],
            target_words=self.target_of_source[tokens],
        )


class LVTDecoder(AttentiveRNNDecoder):
    def __init__(self, dictionary, embed_dim: int, *args, hidden_size: int, restricted_vocabulary: int):
        super().__init__(dictionary, embed_dim, *args)
        self.restricted_vocabulary = restricted_vocabulary
        self.initial = Linear(hidden_size, hidden_size)  # W_s
        self.query = Linear(hidden_size, hidden_size, bias=False)  # W_a
        self.score = Linear(hidden_size, 1, bias=False)  # v
        self.gru = nn.GRUCell(embed_dim + 2 * hidden_size, hidden_size)
        self.readout = Linear(3 * hidden_size + embed_dim, embed_dim)  # W_r
        self.fc_out = Linear(embed_dim, len(dictionary))  # W_o

    def initial_state(self, encoder_out: GRUEncoderOut) -> tuple[Tensor]:
        return (torch.tanh(self.initial(encoder_out.first_backward)),)

    def step(self, word, state, encoder_out: GRUEncoderOut):
        query = self.query(state[0]).unsqueeze(1)
        scores = self.score(torch.tanh(query + encoder_out.keys)).transpose(1, 2)
        weights, context = attend(scores, encoder_out.padding, encoder_out.values)
        context = context.squeeze(1)
        hidden = self.gru(torch.cat((word, context), dim=-1), state[0])
        return torch.cat((hidden, word, context), dim=-1), weights.squeeze(1), (hidden,)

    def output(self, features, prev_output_tokens, encoder_out, incremental_state):
        """In training, logits of the restricted vocabulary only, and which words these are:
        `words` (number,). Else logits of the whole vocabulary, OUTSIDE at other words.
        """
        readout = torch.tanh(self.readout(features))
        if self.training:
            at_hand = torch.cat((encoder_out.target_words, prev_output_tokens), dim=1)
            words = self.restrict(at_hand.view(1, -1))[0].nonzero().squeeze(1)
            return self.logits(readout, words), {"words": words}
        words, allowed = self.vocabularies(prev_output_tokens, encoder_out, incremental_state)
        inside = self.logits(readout, words).masked_fill(~allowed.unsqueeze(1), OUTSIDE)
        whole = inside.new_full((*inside.shape[:2], len(self.dictionary)), OUTSIDE)
        return whole.index_copy(2, words, inside), {}

    def restrict(self, at_hand: Tensor) -> Tensor:
        """Indices of words (groups, number) -> (groups, vocabulary), boolean."""
        occurs = words_at_hand(at_hand, len(self.dictionary))
        # Padding, unknown words and the end of the sentence keep their indices.
        occurs[:, : self.dictionary.nspecial] = True
        return fill_up(occurs, self.restricted_vocabulary)

    def logits(self, readout: Tensor, words: Tensor) -> Tensor:
        """(sentences, length, size), (number,) -> (sentences, length, number)."""
        return F.linear(readout, self.fc_out.weight[words], self.fc_out.bias[words])

    def vocabularies(
        self, prev_output_tokens: Tensor, encoder_out: GRUEncoderOut, incremental_state
    ) -> tuple[Tensor, Tensor]:
        """The words of all sentences (number,), and those of each (sentences, number)."""
        if incremental_state is None:  # the summary is given
            at_hand = torch.cat((encoder_out.target_words, prev_output_tokens), dim=1)
            return union(self.restrict(at_hand))
        cached = self.get_incremental_state(incremental_state, "vocabularies")
        if cached is None:
            words, allowed = union(self.restrict(encoder_out.target_words))
            cached = {"words": words, "allowed": allowed}
            self.set_incremental_state(incremental_state, "vocabularies", cached)
        return cached["words"], cached["allowed"]

    def reorder_incremental_state(self, incremental_state, new_order: Tensor) -> None:
        super().reorder_incremental_state(incremental_state, new_order)
        cached = self.get_incremental_state(incremental_state, "vocabularies")
        if cached is not None:
            allowed = cached["allowed"].index_select(0, new_order)
            self.set_incremental_state(incremental_state, "vocabularies", {**cached, "allowed": allowed})


def union(vocabularies: Tensor) -> tuple[Tensor, Tensor]:
    """(sentences, vocabulary) -> words of any sentence (number,), and (sentences, number)."""
    words = vocabularies.any(dim=0).nonzero().squeeze(1)
    return words, vocabularies[:, words]


@register_model("lvt", dataclass=LVTConfig)
class LVTModel(CheckedEncoderDecoderModel):
    """See the top of this file."""

    @classmethod
    def build_model(cls, cfg: LVTConfig, task) -> "LVTModel":
        LVTConfig.validate(cfg)  # unbound: fairseq's own configuration object has no methods
        encoder = GRUEncoder(
            task.source_dictionary,
            cfg.embed_dim,
            cfg.dropout,
            cfg.max_source_positions,
            hidden_size=cfg.hidden_size,
            target_dictionary=task.target_dictionary,
        )
        decoder = LVTDecoder(
            task.target_dictionary,
            cfg.embed_dim,
            cfg.dropout,
            cfg.max_target_positions,
            hidden_size=cfg.hidden_size,
            restricted_vocabulary=cfg.restricted_vocabulary,
        )
        return cls(encoder, decoder)

    def get_targets(self, sample, net_output) -> Tensor:
        """The target words as places in what the logits are of, (sentences, length).

        In training the logits are of few words. Every target word is among them: the
        decoder has seen it, and words keep their order, so that it can be searched for.
        """
        target = super().get_targets(sample, net_output)
        words = net_output[1].get("words")
        return target if words is None else torch.searchsorted(words, target)


@register_model_architecture("lvt", "lvt5k")
def lvt5k(cfg) -> None:
    """words-lvt5k-1sent: the defaults."""


@register_model_architecture("lvt", "lvt2k_small")
def lvt2k_small(cfg) -> None:
    """For a CPU and some ten thousand pairs."""
    cfg.dropout = getattr(cfg, "dropout", 0.3)
    cfg.embed_dim = getattr(cfg, "embed_dim", 128)
    cfg.hidden_size = getattr(cfg, "hidden_size", 160)
    cfg.restricted_vocabulary = getattr(cfg, "restricted_vocabulary", 2000)
