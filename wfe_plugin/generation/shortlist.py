"""A short vocabulary for each batch: the words that the estimate gives a chance.

Before the first word is generated, WFE says which words can occur at all. The
output layer, the largest part of a decoder, is then computed for those only.
"""

from contextlib import contextmanager
from typing import Iterator, List, NamedTuple, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Enough to see that a model was trained further.
FIRST_WORDS = 64


def choose_words(a_hat: Tensor, best: int, always: List[Tensor]) -> Tensor:
    """The words that some sentence of the batch gets, in the order of their indices.

    Args:
        a_hat: â, (sentences, vocabulary)
        best: words of each sentence, those that are estimated to occur most
        always: words besides, tensors of any shape

    Returns:
        (number of words,)
    """
    found = a_hat.topk(min(best, a_hat.size(1)), dim=1, sorted=False).indices
    return torch.cat([words.reshape(-1) for words in (found, *always)]).unique()


def output_layer_name(decoder: nn.Module) -> str:
    """The attribute of a decoder that holds its output layer."""
    vocabulary = len(decoder.dictionary)
    for name in ("fc_out", "output_projection", "fc3"):  # of LSTM, Transformer and fconv
        layer = getattr(decoder, name, None)
        if isinstance(layer, nn.Linear) and layer.out_features == vocabulary:
            return name
    raise ValueError(
        "--wfe-shortlist: the model's decoder has no output layer of its own that could "
        "be shortened (adaptive softmax, or embeddings shared with the input)"
    )


class WordMoments(NamedTuple):
    """Sums over some words of an output layer, each word weighted with e^(bias - shift)."""

    weight: Tensor  # (), the weights themselves
    first: Tensor  # (size,), Σ w
    second: Tensor  # (size, size), Σ w wᵀ

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> "WordMoments":
        """
        Args:
            weight: (words, size)
            bias: (words,), less the shift
        """
        mass = bias.float().exp().unsqueeze(1)
        weight = weight.float()
        weighted = mass * weight
        return cls(mass.sum(), weighted.sum(dim=0), weighted.t() @ weight)

    def __sub__(self, others: "WordMoments") -> "WordMoments":
        return WordMoments(*(mine - theirs for mine, theirs in zip(self, others)))


class ShortOutput(nn.Module):
    """Some words' logits, and after them one that stands for all other words together.

    A softmax over the shortlist alone would share out the probability that the other
    words have, in every step and hypothesis another amount, and the scores would no
    longer be those of the model. What the others have is estimated: if their
    weights w were normally distributed with mean µ and covariance Σ,

        log Σ e^(w·x + bias) = log Σ e^bias + µ·x + xᵀΣx / 2

    which costs as much as a few words.

    Args:
        layer: the output layer, of all words
        moments: of all words, their biases less *shift*
        words: the shortlist, (number,)
    """

    def __init__(self, layer: nn.Linear, moments: WordMoments, shift: float, words: Tensor):
        super().__init__()
        self.weight = weight_of(layer)[words]
        self.bias = bias_of(layer)[words]
        others = moments - WordMoments.of(self.weight, self.bias - shift)
        # What rounding has left, if the shortlist is the whole vocabulary, is nothing.
        mass = others.weight if len(words) < layer.out_features else others.weight.new_zeros(())
        self.log_mass = mass.clamp(min=0.0).log() + shift
        self.mean = others.first / others.weight
        self.covariance = others.second / others.weight - self.mean.outer(self.mean)

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) -> (..., number of words + 1)"""
        logits = F.linear(x, self.weight, self.bias)
        x = x.float()
        spread = ((x @ self.covariance) * x).sum(dim=-1)
        others = self.log_mass + x @ self.mean + spread.clamp(min=0.0) / 2
        others = others.masked_fill(self.log_mass.isneginf(), float("-inf"))
        return torch.cat((logits, others.unsqueeze(-1).type_as(logits)), dim=-1)


def weight_of(layer: nn.Linear) -> Tensor:
    for refresh in layer._forward_pre_hooks.values():
        refresh(layer, None)  # weights that are normalised are so when the layer is called
    return layer.weight.detach()


def bias_of(layer: nn.Linear) -> Tensor:
    if layer.bias is None:
        return layer.weight.new_zeros(layer.out_features)
    return layer.bias.detach()


class LayerStatistics(NamedTuple):
    """What is to be known of a whole output layer, and of which weights it is known.

    fairseq makes the generator of --eval-bleu before a model is trained, loaded or
    moved to a GPU, and keeps it.
    """

    moments: WordMoments
    shift: float
    first_words: Tensor  # their weights: those of the most frequent words always change

    @classmethod
    def of(cls, layer: nn.Linear) -> "LayerStatistics":
        weight, bias = weight_of(layer), bias_of(layer)
        shift = bias.float().max().item()
        return cls(WordMoments.of(weight, bias - shift), shift, weight[:FIRST_WORDS].clone())

    def fit(self, layer: nn.Linear) -> bool:
        weight = weight_of(layer)[:FIRST_WORDS]
        return weight.device == self.first_words.device and torch.equal(weight, self.first_words)


class ShortenedOutputs:
    """The output layers of some decoders, to be shortened for a batch at a time."""

    def __init__(self, decoders: Sequence[nn.Module]):
        self.decoders = list(decoders)
        self.names = [output_layer_name(decoder) for decoder in self.decoders]
        self.layers = [getattr(d, name) for d, name in zip(self.decoders, self.names)]
        self.statistics: List[Optional[LayerStatistics]] = [None] * len(self.layers)

    @contextmanager
    def to(self, words: Tensor) -> Iterator[None]:
        """Within, decoders compute the logits of these words and one of all others."""
        parts = list(zip(self.decoders, self.names, self.layers))
        self.statistics = [
            known if known is not None and known.fit(layer) else LayerStatistics.of(layer)
            for known, layer in zip(self.statistics, self.layers)
        ]
        try:
            for (decoder, name, layer), known in zip(parts, self.statistics):
                setattr(decoder, name, ShortOutput(layer, known.moments, known.shift, words))
            yield
        finally:
            for decoder, name, layer in parts:
                setattr(decoder, name, layer)
