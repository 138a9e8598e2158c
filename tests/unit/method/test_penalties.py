"""Penalties and the cap against literal loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.method.bound import LAST_RESORT, occurrences
from wfe_plugin.method.penalties import cap_log_mask, penalize

WORDS = st.lists(st.integers(0, 4), min_size=1, max_size=8)
INF = float("inf")


def test_penalties_by_hand():
    """A word of probability 1/8 that was said twice, and one of 1/2 said once."""
    lprobs, counts = torch.tensor([0.125, 0.5]).log(), torch.tensor([2, 1])
    log2 = math.log(2)
    found = penalize(lprobs, counts, repetition=1.5, frequency=0.3, presence=0.2)
    assert found.tolist() == pytest.approx([-4.5 * log2 - 0.8, -1.5 * log2 - 0.5])
    assert penalize(lprobs, counts, repetition=2.0).exp().tolist() == pytest.approx([1 / 64, 1 / 4])
    assert penalize(lprobs, counts).tolist() == lprobs.tolist()


@given(WORDS, st.floats(1, 3), st.floats(0, 2), st.floats(0, 2))
def test_penalties_against_literal_loops(words, theta, alpha, beta):
    lprobs = [math.log((word + 1) / 15) for word in range(5)]
    generated = torch.tensor([words])
    at_words = torch.tensor([lprobs]).gather(1, generated)
    found = penalize(at_words, occurrences(generated), theta, alpha, beta)[0].tolist()
    for word, value in zip(words, found):
        expected = lprobs[word] * theta
        for _ in range(words.count(word)):
            expected -= alpha
        assert value == pytest.approx(expected - beta, abs=1e-4)


def test_a_penalty_never_raises_a_score_and_keeps_the_impossible_impossible():
    lprobs = torch.tensor([0.0, -1.0, -INF])
    found = penalize(lprobs, torch.tensor([1, 3, 2]), 1.2, 0.1, 0.1)
    assert (found <= lprobs).all() and not found.isnan().any()


@given(WORDS, st.integers(1, 3))
def test_cap_against_literal_loops(words, cap):
    generated = torch.tensor([words])
    found = cap_log_mask(occurrences(generated), cap)[0].tolist()
    assert found == [0.0 if words.count(word) < cap else -INF for word in words]


def test_cap_of_words_that_the_user_forces():
    """Said twice each, at most once; the second is forced thrice, the third must stay possible."""
    found = cap_log_mask(
        torch.tensor([2, 2, 2]),
        cap=1,
        minimum=torch.tensor([0, 3, 1]),
        floor=torch.tensor([0.0, 0.0, LAST_RESORT]),
    )
    assert found.tolist() == pytest.approx([-INF, 0.0, math.log(LAST_RESORT)])
