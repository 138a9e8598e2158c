"""The paired bootstrap."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import significance
from wfe_plugin.evaluation.significance import paired_bootstrap

scores = st.floats(0, 100)


def test_equal_systems_do_not_differ():
    result = paired_bootstrap([10, 20, 30], [10, 20, 30], resamples=100)
    assert result == significance.PairedDifference(0, 0, 0, 1)


def test_a_constant_advantage_is_as_sure_as_the_resamples_allow():
    result = paired_bootstrap([11.1, 21.1, 31.1], [10, 20, 30], resamples=99)
    assert (result.difference, result.low, result.high) == pytest.approx((1.1, 1.1, 1.1))
    assert result.p_value == pytest.approx(1 / 100)


def test_against_all_possible_resamples():
    # Four differences have 4**4 resamples, so the exact answer can be counted.
    differences = [3.0, -1.0, 2.0, 0.5]
    means = [sum(sample) / 4 for sample in itertools.product(differences, repeat=4)]
    observed = sum(differences) / 4
    exact_p = sum(abs(mean - observed) >= observed for mean in means) / len(means)
    result = paired_bootstrap(differences, [0.0] * 4, resamples=40_000)
    assert result.difference == pytest.approx(observed)
    assert result.p_value == pytest.approx(exact_p, abs=0.01)
    assert result.low == pytest.approx(np.percentile(means, 2.5), abs=0.1)
    assert result.high == pytest.approx(np.percentile(means, 97.5), abs=0.1)


def test_chance_alone_is_rarely_significant():
    random = np.random.default_rng(0)
    p_values = [paired_bootstrap(random.normal(size=100), random.normal(size=100), 200).p_value for _ in range(200)]
    assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.1


def test_memory_chunks_do_not_matter(monkeypatch):
    first, second = np.arange(50.0), np.arange(50.0)[::-1] ** 1.1
    whole = paired_bootstrap(first, second, resamples=500)
    monkeypatch.setattr(significance, "DRAWS_AT_ONCE", 70)
    assert paired_bootstrap(first, second, resamples=500) == whole


@settings(deadline=None)
@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=30))
def test_seeded_symmetric_and_ordered(pairs):
    first, second = zip(*pairs)
    result = paired_bootstrap(first, second, resamples=200)
    assert result == paired_bootstrap(first, second, resamples=200)
    assert result.low <= result.high and 0 < result.p_value <= 1
    mirrored = paired_bootstrap(second, first, resamples=200)
    assert mirrored.difference == pytest.approx(-result.difference)
    assert mirrored.low == pytest.approx(-result.high, abs=1e-9)
    assert mirrored.p_value == pytest.approx(result.p_value)


@pytest.mark.parametrize("first, second", [([], []), ([1], [1, 2])])
def test_scores_must_pair_up(first, second):
    with pytest.raises(UserError, match="same number of scores"):
        paired_bootstrap(first, second)
