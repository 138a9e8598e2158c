"""A short vocabulary for each batch: the words that the estimate gives a chance.

Before the first word is generated, WFE says which words can occur at all. The
output layer, the largest part of a decoder, is then computed for those only.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wfe_plugin.errors import UserError


def choose_words(a_hat: Tensor, best: int, always: list[Tensor]) -> Tensor:
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


def output_layer_name(decoder) -> str:
    """The attribute of a decoder that holds its output layer."""
    vocabulary = len(decoder.dictionary)
    for name in ("fc_out", "output_projection", "fc3"):  # of LSTM, Transformer and fconv
        layer = getattr(decoder, name, None)
        if isinstance(layer, nn.Linear) and layer.out_features == vocabulary:
            return name
    raise UserError(
        "--wfe-shortlist: the model's decoder has no output layer of its own to shorten "
        "(adaptive softmax, or embeddings shared with the input); leave it out"
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
        weight, bias: of the words of the shortlist, (number, size) and (number,)
        others: the moments of all other words; None: there are none
        shift: what their biases were reduced by
    """

    def __init__(self, weight: Tensor, bias: Tensor, others: Optional[WordMoments], shift: float):
        super().__init__()
        self.weight, self.bias = weight, bias
        self.has_others = others is not None
        if others is not None:
            self.log_mass = others.weight.log() + shift
            self.mean = others.first / others.weight
            self.covariance = others.second / others.weight - self.mean.outer(self.mean)

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) -> (..., number of words + 1)"""
        logits = F.linear(x, self.weight, self.bias)
        if not self.has_others:
            return F.pad(logits, (0, 1), value=float("-inf"))
        x = x.float()
        spread = ((x @ self.covariance) * x).sum(dim=-1)
        others = self.log_mass + x @ self.mean + spread.clamp(min=0.0) / 2
        return torch.cat((logits, others.unsqueeze(-1).type_as(logits)), dim=-1)


def weight_of(layer: nn.Linear) -> Tensor:
    for refresh in layer._forward_pre_hooks.values():
        refresh(layer, None)  # weights that are normalised are so when the layer is called
    return layer.weight.detach()


def bias_of(layer: nn.Linear) -> Tensor:
    if layer.bias is None:
        return layer.weight.new_zeros(layer.out_features)
    return layer.bias.detach()


class DecoderOutput:
    """The output layer of a decoder, which can be shortened for a batch."""

    def __init__(self, decoder: nn.Module):
        self.decoder = decoder
        self.name = output_layer_name(decoder)
        self.layer = getattr(decoder, self.name)
        self.target_of_source: Optional[Tensor] = getattr(decoder, "target_of_source", None)
        self.known_weights: list[tuple[int, int]] = []

    def moments(self) -> tuple[WordMoments, float]:
        """Of all words, and what biases were reduced by; computed anew if weights changed."""
        weights = [(p.data_ptr(), p._version) for p in self.layer.parameters()]
        if weights != self.known_weights:
            bias = bias_of(self.layer).float()
            shift = bias.max().item()
            self.known_moments = WordMoments.of(weight_of(self.layer), bias - shift), shift
            self.known_weights = weights
        return self.known_moments

    def shortened(self, words: Tensor) -> ShortOutput:
        moments, shift = self.moments()
        weight, bias = weight_of(self.layer)[words], bias_of(self.layer)[words]
        others = None
        if len(words) < self.layer.out_features:
            others = moments - WordMoments.of(weight, bias - shift)
            # Rounding may leave nothing of very improbable words.
            others = others if others.weight > 0 else None
        return ShortOutput(weight, bias, others, shift)

    def translate_copies(self, words: Optional[Tensor]) -> None:
        """Copied words, too, are places in the shortlist, or that of all others; None: words of the dictionary."""
        if self.target_of_source is not None:
            self.decoder.target_of_source = (
                self.target_of_source
                if words is None
                else (
                    torch.searchsorted(words, self.target_of_source).where(
                        torch.isin(self.target_of_source, words), len(words)
                    )
                )
            )


@contextmanager
def shortened_outputs(outputs: Sequence[DecoderOutput], words: Tensor) -> Iterator[None]:
    """Within, decoders compute the logits of these words and one of all others."""
    try:
        for output in outputs:
            setattr(output.decoder, output.name, output.shortened(words))
            output.translate_copies(words)
        yield
    finally:
        for output in outputs:
            setattr(output.decoder, output.name, output.layer)
            output.translate_copies(None)
