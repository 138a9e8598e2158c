"""The first cases of tests/stress/search_under_fire.py: no combination of options breaks the search."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "stress"))
import search_under_fire  # noqa: E402

# Of other numbers, what once failed.
CLOSED_GATES_AND_CONSTRAINTS = 1312


@pytest.mark.parametrize("numbers", [*(range(first, first + 25) for first in range(0, 100, 25)), [CLOSED_GATES_AND_CONSTRAINTS]])
def test_any_combination_of_options(numbers):
    for number in numbers:
        assert search_under_fire.run(number)["hypotheses"] > 0, search_under_fire.draw(number)
