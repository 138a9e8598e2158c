"""Penalties and the cap by hand; against literal loops: unit/generation/rules/."""

import math

import pytest
import torch

from wfe_plugin.method.bound import LAST_RESORT
from wfe_plugin.method.penalties import cap_log_mask, penalize

INF = float("inf")


def test_penalties_by_hand():
    """A word of probability 1/8 that was said twice, and one of 1/2 said once."""
    lprobs, counts = torch.tensor([0.125, 0.5]).log(), torch.tensor([2, 1])
    log2 = math.log(2)
    found = penalize(lprobs, counts, repetition=1.5, frequency=0.3, presence=0.2)
    assert found.tolist() == pytest.approx([-4.5 * log2 - 0.8, -1.5 * log2 - 0.5])
    assert penalize(lprobs, counts, repetition=2.0).exp().tolist() == pytest.approx([1 / 64, 1 / 4])
    assert penalize(lprobs, counts).tolist() == lprobs.tolist()


def test_a_penalty_never_raises_a_score_and_keeps_the_impossible_impossible():
    lprobs = torch.tensor([0.0, -1.0, -INF])
    found = penalize(lprobs, torch.tensor([1, 3, 2]), 1.2, 0.1, 0.1)
    assert (found <= lprobs).all() and not found.isnan().any()


def test_cap_of_words_that_the_user_forces():
    """Said twice each, at most once; the second is forced thrice, the third must stay possible."""
    found = cap_log_mask(
        torch.tensor([2, 2, 2]), cap=1, minimum=torch.tensor([0, 3, 1]), floor=torch.tensor([0.0, 0.0, LAST_RESORT])
    )
    assert found.tolist() == pytest.approx([-INF, 0.0, math.log(LAST_RESORT)])
