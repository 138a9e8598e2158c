"""Unlikelihood: the loss against literal loops, and its gradient."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.literal_scores import literal_unlikelihood
from wfe_plugin.method.unlikelihood import LEAST, unlikelihood_loss

PAD = 1


def literal_loss(lprobs, target):
    return literal_unlikelihood(lprobs, target, PAD, LEAST)


def test_by_hand():
    """Words 2 3 2 with p = 1/4 everywhere: step two has one candidate, 2, and so
    has step three, 3, where 2 is the target itself."""
    lprobs = torch.full((1, 3, 4), 0.25).log()
    loss = unlikelihood_loss(lprobs, torch.tensor([[2, 3, 2]]), PAD)
    assert loss.tolist() == pytest.approx([-2 * math.log(0.75)])


@given(st.lists(st.lists(st.integers(2, 5), max_size=6), min_size=1, max_size=4), st.booleans(), st.integers(0, 1000))
def test_against_literal_loops(sentences, left_padded, seed):
    width = max(map(len, sentences)) + 1
    rows = []
    for sentence in sentences:
        padding = [PAD] * (width - len(sentence))
        rows.append(padding + sentence if left_padded else sentence + padding)
    generator = torch.Generator().manual_seed(seed)
    lprobs = torch.log_softmax(3 * torch.randn(len(rows), width, 6, generator=generator), dim=-1)
    found = unlikelihood_loss(lprobs, torch.tensor(rows), PAD).tolist()
    expected = [literal_loss(lprobs[b].tolist(), row) for b, row in enumerate(rows)]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_gradient():
    """That of the formula, by finite differences; and none across sentences."""
    target = torch.tensor([[2, 3, 2, 4], [3, 3, 5, PAD]])
    logits = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(1)).double()

    def literal(values):
        lprobs = torch.log_softmax(values, dim=-1).tolist()
        return sum(literal_loss(lprobs[b], target[b].tolist()) for b in range(2))

    logits.requires_grad_()
    unlikelihood_loss(torch.log_softmax(logits, dim=-1), target, PAD).sum().backward()
    with torch.no_grad():
        for place in [(0, 1, 2), (0, 3, 3), (0, 2, 5), (1, 2, 3), (1, 3, 3), (1, 2, 2)]:
            step = torch.zeros_like(logits)
            step[place] = 1e-3
            slope = (literal(logits + step) - literal(logits - step)) / 2e-3
            assert logits.grad[place].item() == pytest.approx(slope, abs=1e-4)
    logits.grad = None
    unlikelihood_loss(torch.log_softmax(logits, dim=-1), target, PAD)[0].backward()
    assert logits.grad[0].any() and not logits.grad[1].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_certain_words_have_a_finite_loss_and_gradient(dtype):
    logits = torch.zeros(1, 2, 4, dtype=dtype)
    logits[0, 1, 2] = 500.0  # certain to repeat the first word
    logits.requires_grad_()
    lprobs = torch.log_softmax(logits, dim=-1)
    loss = unlikelihood_loss(lprobs, torch.tensor([[2, 3]]), PAD)
    loss.sum().backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(-math.log(LEAST), rel=1e-4)
    assert torch.isfinite(logits.grad).all()
