"""A short vocabulary for each batch: the words that the estimate gives a chance.

Before the first word is generated, WFE says which words can occur at all. The
output layer, the largest part of a decoder, is then computed for those only.
"""

from contextlib import contextmanager
from typing import Iterator, List

import torch
from torch import Tensor, nn


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


@contextmanager
def shortened_output(decoders: List[nn.Module], words: Tensor) -> Iterator[None]:
    """Within, decoders compute the logits of these words only, in this order."""
    layers = [(decoder, output_layer_name(decoder)) for decoder in decoders]
    whole = [getattr(decoder, name) for decoder, name in layers]
    try:
        for (decoder, name), layer in zip(layers, whole):
            setattr(decoder, name, shortened(layer, words))
        yield
    finally:
        for (decoder, name), layer in zip(layers, whole):
            setattr(decoder, name, layer)


def shortened(layer: nn.Linear, words: Tensor) -> nn.Linear:
    """A linear layer with some of another's outputs."""
    for refresh in layer._forward_pre_hooks.values():
        refresh(layer, None)  # weights that are normalised are so when the layer is called
    short = nn.Linear(
        layer.in_features, words.numel(), layer.bias is not None, device="meta"
    )
    short.weight = nn.Parameter(layer.weight[words], requires_grad=False)
    if layer.bias is not None:
        short.bias = nn.Parameter(layer.bias[words], requires_grad=False)
    return short
