"""No combination of options breaks the search: cases of tests/stress/search_under_fire.py."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ROOT

sys.path.append(str(ROOT / "tests" / "stress"))
import search_under_fire

# What once failed.
CLOSED_GATES_AND_CONSTRAINTS = 1312


@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(0, 2**20))
def test_any_combination_of_options(rng, number):
    """hypothesis stands behind the random numbers: it looks for the simplest case that fails."""
    assert search_under_fire.run(search_under_fire.draw(rng, number))


@pytest.mark.parametrize("number", [CLOSED_GATES_AND_CONSTRAINTS])
def test_what_once_failed(number):
    assert search_under_fire.run(search_under_fire.numbered(number))["hypotheses"] > 0
