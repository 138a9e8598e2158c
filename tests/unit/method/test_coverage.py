"""The scores of Wu et al. (2016) against literal loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.literal_scores import literal_coverage_penalty
from wfe_plugin.method.coverage import coverage_penalty, length_penalty


def test_by_hand():
    """Two steps over two words: the first is read 1.5 times, the second half."""
    sums = torch.tensor([[1.5, 0.5]])
    found = coverage_penalty(sums, torch.tensor([2]), beta=0.2)
    assert found.tolist() == pytest.approx([0.2 * math.log(0.5)])
    assert length_penalty(torch.tensor([1.0, 7.0]), 1.0).tolist() == pytest.approx([1.0, 2.0])
    assert length_penalty(torch.tensor([7.0]), 0.0).item() == 1.0


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3), st.booleans(), st.floats(0, 2), st.integers(0, 1000))
def test_against_literal_loops_wherever_the_padding_is(source, target, padding, on_the_left, beta, seed):
    generator = torch.Generator().manual_seed(seed)
    attention = torch.softmax(3 * torch.randn(target, source, generator=generator), dim=1)
    nothing = torch.zeros(padding)
    sums = attention.sum(dim=0)
    sums = torch.cat([nothing, sums] if on_the_left else [sums, nothing])
    found = coverage_penalty(sums.unsqueeze(0), torch.tensor([source]), beta)
    expected = literal_coverage_penalty(attention.tolist(), beta)
    assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-4)


@given(st.integers(1, 60), st.floats(0, 2))
def test_length_penalty_against_the_formula(length, alpha):
    expected = (5 + length) ** alpha / (5 + 1) ** alpha
    assert length_penalty(torch.tensor([float(length)]), alpha).item() == pytest.approx(expected, rel=1e-4)


def test_a_word_without_any_attention_is_costly_and_not_fatal():
    found = coverage_penalty(torch.tensor([[1.0, 0.0], [1.0, 0.5]]).half(), torch.tensor([2, 2]), 1.0)
    assert torch.isfinite(found).all() and found[0] < found[1]
