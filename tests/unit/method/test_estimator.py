"""The WFE sub-model against Figure 2 and Equation 3, written out in loops."""

import math

import pytest
import torch
from torch import nn

from wfe_plugin.method.estimator import (
    FrequencyEstimate,
    LiteralEstimator,
    WordFrequencyEstimator,
    max_and_min_over_time,
    sum_over_time,
)
from wfe_plugin.method.loss import wfe_loss


def matrix_times(matrix, vector):
    return [sum(w * x for w, x in zip(row, vector)) for row in matrix]


def literal_figure_2(head, states):
    """r and g of one sentence from its states, a list of lists, line by line."""
    w1r, w2r, w1g, w2g = (
        layer.weight.tolist()
        for layer in (head.frequency_hidden, head.frequency_output, head.occurrence_hidden, head.occurrence_output)
    )
    size = len(states[0])
    h1r = [matrix_times(w1r, h) for h in states]  # line 1
    summed = [sum(h[k] for h in h1r) for k in range(size)]  # line 2
    r = matrix_times(w2r, summed)  # line 3
    h1g = [matrix_times(w1g, h) for h in states]  # line 4
    highest = [max(h[k] for h in h1g) for k in range(size)]  # line 5
    lowest = [min(h[k] for h in h1g) for k in range(size)]  # line 6
    g = matrix_times(w2g, highest + lowest)  # line 7
    return r, g


def test_by_hand():
    """H=1, M=1: every weight 2 but the last, which is 3 for the minimum."""
    head = LiteralEstimator(1, 1)
    with torch.no_grad():
        head.frequency_hidden.weight.fill_(2.0)
        head.frequency_output.weight.fill_(2.0)
        head.occurrence_hidden.weight.fill_(2.0)
        head.occurrence_output.weight.copy_(torch.tensor([[2.0, 3.0]]))
    states = torch.tensor([[[0.5]], [[-1.0]], [[1.0]]])
    estimate = head(states, torch.zeros(3, 1, dtype=torch.bool))
    # r = 2 * 2 * (0.5 - 1 + 1) = 2;  g = 2 * max(1, -2, 2) + 3 * min(1, -2, 2) = -2
    assert estimate.r.item() == pytest.approx(2.0)
    assert estimate.g.item() == pytest.approx(-2.0)
    assert estimate.r_hat.item() == pytest.approx(2.0)
    assert estimate.g_hat.item() == pytest.approx(1 / (1 + math.exp(2)))
    assert estimate.a_hat.item() == pytest.approx(2 / (1 + math.exp(2)))


@pytest.mark.parametrize("seed", range(5))
def test_against_literal_loops(seed):
    torch.manual_seed(seed)
    head = LiteralEstimator(4, 9)
    states = torch.randn(6, 3, 4)
    lengths = [6, 2, 4]
    padding = torch.arange(6).unsqueeze(1) >= torch.tensor(lengths)
    estimate = head(states, padding)
    for sentence, length in enumerate(lengths):
        r, g = literal_figure_2(head, states[:length, sentence].tolist())
        assert estimate.r[sentence].tolist() == pytest.approx(r, abs=1e-5)
        assert estimate.g[sentence].tolist() == pytest.approx(g, abs=1e-5)


def test_padding_does_not_matter():
    torch.manual_seed(0)
    head = LiteralEstimator(4, 9)
    states = torch.randn(6, 2, 4)
    padding = torch.zeros(6, 2, dtype=torch.bool)
    padding[4:, 1] = True
    expected = head(states, padding)
    for filling in (1.0, -1e4, float("nan"), float("inf")):
        states[4:, 1] = filling
        estimate = head(states, padding)
        assert torch.equal(estimate.r, expected.r)
        assert torch.equal(estimate.g, expected.g)


def test_pooling_by_hand():
    states = torch.tensor([[[1.0, -5.0]], [[-2.0, 7.0]], [[99.0, -99.0]]])
    padding = torch.tensor([[False], [False], [True]])
    assert sum_over_time(states, padding).tolist() == [[-1.0, 2.0]]
    assert max_and_min_over_time(states, padding).tolist() == [[1.0, 7.0, -2.0, -5.0]]


def test_activations():
    estimate = FrequencyEstimate(torch.tensor([[-1.0, 0.0, 2.5]]), torch.tensor([[0.0, -200.0, 200.0]]))
    assert estimate.r_hat.tolist() == [[0.0, 0.0, 2.5]]
    assert estimate.g_hat.tolist() == [[0.5, 0.0, 1.0]]
    # The logarithm of the gate is exact where the gate itself underflows.
    assert estimate.log_g_hat.tolist()[0] == pytest.approx([-math.log(2), -200.0, 0.0])
    assert estimate.a_hat.tolist() == [[0.0, 0.0, 2.5]]


def test_half_precision_gives_float32_estimates():
    head = LiteralEstimator(8, 20)
    states, padding = torch.randn(5, 2, 8), torch.zeros(5, 2, dtype=torch.bool)
    expected = head(states, padding)
    for dtype in (torch.float16, torch.bfloat16):
        estimate = head.to(dtype)(states.to(dtype), padding)
        assert estimate.r.dtype == estimate.a_hat.dtype == torch.float32
        assert torch.allclose(estimate.r, expected.r, atol=0.05)


def test_no_biases():
    """The paper's head has four matrices and nothing else."""
    shapes = {name: tuple(p.shape) for name, p in LiteralEstimator(3, 7).named_parameters()}
    assert shapes == {
        "frequency_hidden.weight": (3, 3),
        "frequency_output.weight": (7, 3),
        "occurrence_hidden.weight": (3, 3),
        "occurrence_output.weight": (7, 6),
    }


class TestPaper:
    def test_is_figure_2_with_the_sum_over_30_and_a_bias(self):
        torch.manual_seed(3)
        head = WordFrequencyEstimator(4, 6)
        assert head.frequency_output.weight.eq(0).all()  # or noise would spread the budgets of rare words
        nn.init.normal_(head.frequency_output.weight)
        states = torch.randn(5, 1, 4)
        r, g = literal_figure_2(head, states[:, 0].tolist())
        estimate = head(states, torch.zeros(5, 1, dtype=torch.bool))
        assert estimate.r[0].tolist() == pytest.approx([value / 30 + 0.2 for value in r], abs=1e-6)
        assert estimate.g[0].tolist() == pytest.approx(g, abs=1e-5)

    def test_weights_of_version_0_1_0_compute_what_they_did(self):
        torch.manual_seed(4)
        old, new = LiteralEstimator(4, 6), WordFrequencyEstimator(4, 6)
        state = {f"head.{name}": value for name, value in old.state_dict().items() if not name.startswith("base_")}
        new.upgrade_state(state, "head.")
        new.load_state_dict({name.removeprefix("head."): value for name, value in state.items()})
        states, padding = torch.randn(5, 2, 4), torch.zeros(5, 2, dtype=torch.bool)
        for before, after in zip(old(states, padding), new(states, padding)):
            assert torch.allclose(before, after, atol=1e-5)


class TestBaseRates:
    def test_counted_by_hand(self):
        head = LiteralEstimator(2, 4)
        assert head.log_base_rate() is None
        head.count_base_rates([torch.tensor([1, 3, 3]), torch.tensor([1]), torch.tensor([1, 0])])
        assert head.base_counts.tolist() == [1, 3, 0, 1] and head.base_pairs == 3
        expected = [math.log(x / 4) for x in (1.5, 3.5, 0.5, 1.5)]
        assert head.log_base_rate().tolist() == pytest.approx(expected)

    def test_half_precision_keeps_them(self):
        head = LiteralEstimator(2, 2)
        head.count_base_rates([torch.tensor([1])] * 4001)
        expected = head.log_base_rate()
        assert torch.equal(head.half().log_base_rate(), expected)


def test_gradient_of_estimator_and_loss():
    """To every weight and to the encoder's states, with padding."""
    torch.manual_seed(0)
    head = WordFrequencyEstimator(state_size=3, vocabulary_size=4).double()
    states = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    padding = torch.zeros(5, 2, dtype=torch.bool)
    padding[3:, 1] = True
    a_star = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    names, weights = zip(*head.named_parameters())

    def loss(states, *weights):
        estimate = torch.func.functional_call(head, dict(zip(names, weights)), (states, padding))
        return wfe_loss(estimate.a_hat, a_star)

    assert torch.autograd.gradcheck(loss, (states, *weights))
