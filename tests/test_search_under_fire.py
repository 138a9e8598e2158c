"""The first cases of tests/stress/search_under_fire.py: no combination of options breaks the search."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "stress"))
import search_under_fire  # noqa: E402


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_any_combination_of_options(first):
    for number in range(first, first + 25):
        assert search_under_fire.run(number)["hypotheses"] > 0, search_under_fire.draw(number)
