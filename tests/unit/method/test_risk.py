"""Minimum risk training: the risk against literal loops, its gradient and limits; ROUGE as a cost."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.literal_scores import literal_risk
from wfe_plugin.evaluation import rouge_python
from wfe_plugin.evaluation.rouge_cost import COSTS, RougeCost
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.method.risk import by_sentence, distinct, expected_risk

NONE = float("-inf")


def test_by_hand():
    """P = 1/2, 1/8 and α = 1/2: weights √(1/2) : √(1/8) = 2 : 1; costs 0 and 0.6."""
    log_p = torch.tensor([[0.5, 0.125]]).log()
    assert expected_risk(log_p, torch.tensor([[0.0, 0.6]]), 0.5).tolist() == pytest.approx([0.2])


SENTENCE = st.lists(st.tuples(st.floats(-20, 0), st.floats(0, 1)), min_size=1, max_size=5)


@given(st.lists(SENTENCE, min_size=1, max_size=4), st.floats(0.001, 2))
def test_against_literal_loops(sentences, alpha):
    counts = list(map(len, sentences))
    log_p, cost = (torch.tensor([pair[i] for pairs in sentences for pair in pairs]) for i in (0, 1))
    found = expected_risk(by_sentence(log_p, counts, NONE), by_sentence(cost, counts, 0.0), alpha)
    expected = [literal_risk(*zip(*pairs), alpha) for pairs in sentences]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_gradient():
    """α Q(y) (Δ(y) - risk), by finite differences; none where there is no candidate."""
    log_p = torch.tensor([[-1.0, -3.0, -2.0], [-0.5, -4.0, NONE]], dtype=torch.double)
    cost = torch.tensor([[0.0, 0.7, 0.4], [0.0, 1.0, 0.0]], dtype=torch.double)
    alpha = 0.3
    log_p.requires_grad_()
    expected_risk(log_p, cost, alpha).sum().backward()
    for sentence, candidates in ((0, 3), (1, 2)):
        values = log_p[sentence, :candidates].tolist()
        costs = cost[sentence, :candidates].tolist()
        for i in range(candidates):
            up, down = (
                literal_risk([v + step * (j == i) for j, v in enumerate(values)], costs, alpha)
                for step in (1e-4, -1e-4)
            )
            assert log_p.grad[sentence, i].item() == pytest.approx((up - down) / 2e-4, abs=1e-5)
    assert log_p.grad[1, 2] == 0


def test_sharpness():
    """Nearly 0: the mean; large: the cost of the likeliest."""
    log_p, cost = torch.tensor([[-9.0, -2.0, -30.0, NONE]]), torch.tensor([[0.0, 0.6, 0.9, 0.0]])
    assert expected_risk(log_p, cost, 1e-6).item() == pytest.approx(0.5, abs=1e-4)
    assert expected_risk(log_p, cost, 0.0).item() == pytest.approx(0.5)
    assert expected_risk(log_p, cost, 1e4).item() == pytest.approx(0.6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_gives_float32(dtype):
    log_p = torch.tensor([[-300.0, -200.0]], dtype=dtype, requires_grad=True)
    risk = expected_risk(log_p, torch.tensor([[0.0, 1.0]], dtype=dtype), 0.005)
    risk.sum().backward()
    assert risk.dtype == torch.float32 and torch.isfinite(log_p.grad).all() and log_p.grad.any()


def test_candidates_are_distinct_and_begin_with_the_reference():
    assert distinct([4, 2], [[5, 2], [4, 2], [5, 2], [2]]) == [(4, 2), (5, 2), (2,)]
    assert distinct([4, 2], []) == [(4, 2)]


# Words that ROUGE stems, cuts in two, and does not see; pieces of words.
SYMBOLS = "<unk> runs running stock@@ s stocks don't u.s. -- the ' price@@ dogs dog".split()
INDICES = st.lists(st.integers(1, len(SYMBOLS) - 1), max_size=8)


def text(indices):
    return " ".join(SYMBOLS[i] for i in indices).replace("@@ ", "").replace("@@", "")


@given(INDICES, st.lists(INDICES, min_size=1, max_size=3))
def test_costs_are_those_of_the_evaluation(reference, outputs):
    _, scores = rouge_python.score([text(output) for output in outputs], [[text(reference)]] * len(outputs), None)
    f1 = {metric: [value / 100 for value in scores[metric]["f1"]] for metric in METRICS}
    for name in METRICS:
        assert RougeCost(name, SYMBOLS, 0)(reference, outputs) == pytest.approx([1 - v for v in f1[name]], abs=1e-5)
    means = [1 - sum(values) / 3 for values in zip(*f1.values())]
    assert RougeCost("rouge", SYMBOLS, 0)(reference, outputs) == pytest.approx(means, abs=1e-5)


def test_unknown_words_match_nothing():
    cost = RougeCost("rouge-1", ["<unk>", "a", "b@@"], 0)
    # Nor do they vanish: "a ?" has one of two words right. An open BPE piece is a word of its own.
    assert cost([1, 0], [[1, 0], [1], [2, 0], [1, 2]]) == pytest.approx([0.5, 1 / 3, 1.0, 0.5], abs=1e-4)


def test_a_perfect_output_costs_nothing():
    for name in COSTS:
        assert RougeCost(name, SYMBOLS, 0)([1, 5, 6], [[1, 5, 6], [2, 3, 4, 6], []]) == [0.0, 0.0, 1.0]
