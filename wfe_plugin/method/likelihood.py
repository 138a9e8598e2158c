"""Negative log-likelihood of large vocabularies in little time and memory; and of an adaptive softmax."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# Logits in a slice of tokens: few enough for the cache of a processor.
SLICE_NUMBERS = 1 << 20


def nll_of_tokens_in_place(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """−log Softmax(o)[target] of each token, 0 at padding; the logits are used up.

    The gradient of the logits is Softmax(o), less one at the target. It is
    written over the logits while those of a few tokens are in the processor's
    cache. Otherwise the logarithms, their gradient and that of the logits would
    each take as much memory as the logits do (670 MB for 2,428 tokens and
    68,887 words), and a pass over it.

    Args:
        logits: (tokens, vocabulary), float32 or float64, whose gradient is wanted
        target: (tokens,), word indices; those that are *pad* do not count

    Returns:
        (tokens,)
    """
    return _NLLInPlace.apply(logits, target, pad)


class _NLLInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, pad):
        tokens = max(1, SLICE_NUMBERS // logits.size(-1))
        losses = []
        # Not through ctx.mark_dirty: nobody may use the changed logits as logits.
        for part, words in zip(logits.detach().split(tokens), target.split(tokens)):
            is_padding = words.eq(pad)
            words = words.unsqueeze(-1)
            highest = part.amax(dim=-1, keepdim=True)  # so that no exponential overflows
            of_target = part.gather(-1, words) - highest
            total = part.sub_(highest).exp_().sum(dim=-1, keepdim=True)
            nll = (total.log() - of_target).squeeze(-1)
            losses.append(nll.masked_fill(is_padding, 0.0))
            factor = total.reciprocal().masked_fill(is_padding.unsqueeze(-1), 0.0)
            part.mul_(factor)
            at_target = is_padding.type_as(part).sub(1.0).unsqueeze(-1)
            part.scatter_add_(-1, words, at_target)
        ctx.gradient = logits.detach()
        return torch.cat(losses)

    @staticmethod
    def backward(ctx, of_loss):
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:
            raise RuntimeError("the gradient of an NLL in place is there once only")
        if of_loss.ne(1).any():  # or a pass over all of it would change nothing
            gradient.mul_(of_loss.unsqueeze(-1))
        return gradient, None, None


def adaptive_log_probs(softmax: Any, features: Tensor) -> Tensor:
    """log P of all words by fairseq's adaptive softmax, to learn from.

    The same as its own `get_log_prob`, which writes over what the gradient is computed from, and with
    the dropout that it has where it is trained by fairseq's `adaptive_loss`.

    Args:
        softmax: fairseq's `AdaptiveSoftmax`
        features: (sentences, length, size)

    Returns:
        (sentences, length, vocabulary), float32
    """
    flat = softmax.dropout_module(features.flatten(end_dim=1))
    head, *tails = (F.log_softmax(layer(flat), dim=-1, dtype=torch.float32) for layer in (softmax.head, *softmax.tail))
    words, classes = head[:, : softmax.cutoff[0]], head[:, softmax.cutoff[0] :].split(1, dim=1)
    whole = torch.cat((words, *(of_class + tail for of_class, tail in zip(classes, tails))), dim=1)
    return whole.view(*features.shape[:2], -1)
