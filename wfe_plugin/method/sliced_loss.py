"""The loss of an estimate in slices of the vocabulary, in little memory.

An estimate has two numbers for each sentence and word, its loss a dozen numbers
more on the way, and its gradient as many again. With 256 sentences and 68,887
words each of them takes 70 MB. Here the vocabulary is taken slice by slice, and
each slice's gradient is computed together with its loss, while the slice is
still in the processor's cache: nothing of the size of the batch times the
vocabulary is ever made. The results are those of the loss as a whole.
"""

from typing import Callable, Optional

import torch
from torch import Tensor

from wfe_plugin.method.estimator import (
    FrequencyEstimate,
    PendingEstimate,
    WordLogits,
    places_in_slice,
)
from wfe_plugin.method.loss import true_frequencies

# Numbers (sentences × words) in a slice: small enough for the cache of a processor,
# and large enough that a matrix product with it runs at full speed.
SLICE_NUMBERS = 1 << 19
SLICE_NUMBERS_GPU = 1 << 23

LossOfEstimate = Callable[[FrequencyEstimate, Tensor], Tensor]


def sliced_loss(
    pending: PendingEstimate,
    loss_of: LossOfEstimate,
    target: Tensor,
    pad: int,
    slice_words: Optional[int] = None,
) -> Tensor:
    """The sum over sentences of `loss_of(pending.whole(), a*)`.

    Args:
        pending: what the sub-model has read of the batch
        loss_of: from an estimate and a*, both (sentences, words), to (sentences,);
            a sum over the words
        target: (sentences, length), word indices, padded with *pad*
        slice_words: words in a slice; by default as many as suit the device
    """
    if slice_words is None:
        numbers = SLICE_NUMBERS if target.device.type == "cpu" else SLICE_NUMBERS_GPU
        slice_words = max(1, numbers // max(1, target.size(0)))

    def loss_of_slice(estimate: FrequencyEstimate, start: int, stop: int) -> Tensor:
        a_star = true_frequencies(target, stop - start, pad, first_word=start)
        return loss_of(estimate, a_star).sum()

    vocabulary = pending.vocabulary_size
    starts = range(0, vocabulary, slice_words)
    if not torch.is_grad_enabled():
        losses = [
            loss_of_slice(pending.of_words(start, stop), start, stop)
            for start in starts
            for stop in [min(start + slice_words, vocabulary)]
        ]
        return torch.stack(losses).sum()
    inputs = [tensor for logits in (pending.r, pending.g) for tensor in logits]
    return _SlicedLoss.apply(loss_of_slice, pending.kind, slice_words, *inputs)


class _SlicedLoss(torch.autograd.Function):
    """Computes the gradient in the forward pass, and hands it on in the backward pass."""

    @staticmethod
    def forward(ctx, loss_of_slice, kind, slice_words, *inputs):
        parts = [WordLogits(*inputs[:5]), WordLogits(*inputs[5:])]
        gradients = [_Gradients(part, ctx.needs_input_grad[3 + 5 * number :]) for number, part in enumerate(parts)]
        vocabulary = parts[0].weight.size(0)
        losses = []
        for start in range(0, vocabulary, slice_words):
            stop = min(start + slice_words, vocabulary)
            logits = [part.of_words(start, stop).requires_grad_() for part in parts]
            with torch.enable_grad():
                loss = loss_of_slice(kind(*logits), start, stop)
            losses.append(loss.detach())
            for gradient, of_logits in zip(gradients, torch.autograd.grad(loss, logits)):
                gradient.add(of_logits, start, stop)
        ctx.gradients = gradients
        return torch.stack(losses).sum()

    @staticmethod
    def backward(ctx, of_loss):
        if ctx.gradients is None:
            raise RuntimeError("the gradient of a sliced loss is there once only")
        results = [g for gradients in ctx.gradients for g in gradients.scaled(of_loss)]
        ctx.gradients = None
        return (None, None, None, *results)


class _Gradients:
    """The gradient of :class:`WordLogits`, collected slice by slice.

    In float32 at least: under a loss scaled for half precision, the scale is only
    known in the backward pass.
    """

    def __init__(self, logits: WordLogits, needed):
        self.logits = logits

        def room(tensor: Optional[Tensor], is_needed: bool, make) -> Optional[Tensor]:
            if tensor is None or not is_needed:
                return None
            return make(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))

        self.features = room(logits.features, needed[0], torch.zeros_like)
        self.weight = room(logits.weight, needed[1], torch.empty_like)
        self.bias = room(logits.bias, needed[2], torch.empty_like)
        self.votes = room(logits.votes, needed[3], torch.zeros_like)

    def add(self, of_slice: Tensor, start: int, stop: int) -> None:
        """
        Args:
            of_slice: gradient of the logits of a slice, (sentences, stop - start)
        """
        if self.features is not None:
            self.features.addmm_(of_slice, self.logits.weight[start:stop].to(of_slice))
        if self.weight is not None:
            features = self.logits.features.to(of_slice)
            torch.mm(of_slice.t(), features, out=self.weight[start:stop])
        if self.bias is not None:
            torch.sum(of_slice, dim=0, out=self.bias[start:stop])
        if self.votes is not None and self.logits.words is not None:
            places, inside = places_in_slice(self.logits.words, start, stop)
            self.votes += of_slice.gather(1, places).masked_fill(~inside, 0.0)

    def scaled(self, factor: Tensor) -> list[Optional[Tensor]]:
        """For each field of the logits, multiplied by the gradient that came in."""
        found = [self.features, self.weight, self.bias, self.votes]
        if factor != 1:  # or a pass over the whole vocabulary would change nothing
            for gradient in found:
                if gradient is not None:
                    gradient.mul_(factor)
        given = self.logits[:4]
        return [
            gradient if gradient is None or tensor is None else gradient.to(tensor.dtype)
            for gradient, tensor in zip(found, given)
        ] + [None]
