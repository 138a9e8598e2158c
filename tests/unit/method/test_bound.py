"""The bound against Equations 4 and 5, written out in loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.method.bound import (
    add_log_mask,
    frequency_bound,
    log_mask,
    occurrences,
    reference_log_mask,
    select_sentences,
)
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.method.estimator import FrequencyEstimate

EOS = 2
INF = float("inf")


def log(x):
    return math.log(x) if x > 0 else -INF


def literal_mask(r_hat, g_hat, generated):
    """ã_j of one hypothesis: r̃ is updated word by word, as Equation 5 says."""
    r_tilde = list(r_hat)
    for word in generated:
        r_tilde[word] -= 1
    return [log(max(0.0, min(1.0, r))) + log(g) for r, g in zip(r_tilde, g_hat)]


def test_log_mask_by_hand():
    left = torch.tensor([2.5, 1.0, 0.5, 0.0, -1.0, INF])
    log_weight = torch.tensor([0.0, math.log(0.5), math.log(0.5), 0.0, 0.0, 0.0])
    assert log_mask(left, log_weight).tolist() == pytest.approx([0.0, math.log(0.5), math.log(0.25), -INF, -INF, 0.0])


def test_occurrences_by_hand():
    words = torch.tensor([[7, 8, 7, 7], [5, 6, 5, 6]])
    assert occurrences(words).tolist() == [[3, 1, 3, 3], [2, 2, 2, 2]]


estimates = st.integers(3, 7).flatmap(
    lambda vocabulary: st.tuples(
        st.lists(
            st.tuples(
                st.lists(st.floats(-1, 3.5, width=32), min_size=vocabulary, max_size=vocabulary),
                st.lists(st.floats(-5, 5, width=32), min_size=vocabulary, max_size=vocabulary),
            ),
            min_size=1,
            max_size=3,
        ),
        st.integers(1, 3),
        st.integers(0, 5),
        st.randoms(use_true_random=False),
    )
)


@given(estimates, st.sampled_from(["full", "strict", "bound", "gate"]), st.booleans())
def test_against_literal_loops(case, mode, exempt_eos):
    rows, beam, length, random = case
    estimate = FrequencyEstimate(torch.tensor([r for r, _ in rows]), torch.tensor([g for _, g in rows]))
    vocabulary = estimate.r.size(1)
    bound = frequency_bound(estimate, mode, unbounded=[EOS] if exempt_eos else [])
    lprobs = torch.randn(len(rows) * beam, vocabulary)
    generated = [[random.randrange(vocabulary) for _ in range(length)] for _ in range(len(rows) * beam)]
    masked = add_log_mask(lprobs.clone(), bound, torch.tensor(generated).long().view(len(generated), length))
    for row, words in enumerate(generated):
        r, g = rows[row // beam]
        r_hat = [max(0.0, x) for x in r] if mode != "gate" else [INF] * vocabulary
        g_hat = [1 / (1 + math.exp(-x)) for x in g] if mode != "bound" else [1.0] * vocabulary
        if mode == "strict":
            r_hat = [min(x, max(1.0, x * y)) for x, y in zip(r_hat, g_hat)]
        if exempt_eos:
            r_hat[EOS], g_hat[EOS] = INF, 1.0
        expected = [p + m for p, m in zip(lprobs[row].tolist(), literal_mask(r_hat, g_hat, words))]
        assert masked[row].tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("r_hat, allowed", [(0.0, 0), (0.1, 1), (1.0, 1), (1.01, 2), (2.0, 2), (2.5, 3)])
def test_a_word_can_be_generated_as_often_as_its_budget_rounded_up(r_hat, allowed):
    bound = frequency_bound(FrequencyEstimate(torch.tensor([[r_hat]]), torch.zeros(1, 1)))
    generated = torch.zeros(1, 0).long()
    times = 0
    while torch.isfinite(add_log_mask(torch.zeros(1, 1), bound, generated)).item():
        generated = torch.cat((generated, torch.zeros(1, 1).long()), dim=1)
        times += 1
    assert times == allowed == math.ceil(r_hat)


@pytest.mark.parametrize(
    "r_hat, g_hat, budget", [(0.4, 0.5, 0.4), (1.0, 0.5, 1.0), (2.8, 0.25, 1.0), (2.0, 0.75, 1.5), (3.0, 0.5, 1.5)]
)
def test_strict_lets_a_word_come_again_only_as_far_as_its_estimated_frequency(r_hat, g_hat, budget):
    g = math.log(g_hat / (1 - g_hat))
    estimate = FrequencyEstimate(torch.tensor([[r_hat]]), torch.tensor([[g]]))
    bound = frequency_bound(estimate, "strict")
    assert bound.budget.item() == pytest.approx(budget)
    # The first use costs what it costs in the paper.
    assert bound.first_mask.item() == pytest.approx(frequency_bound(estimate).first_mask.item())


def test_minimum_budget_lifts_only_what_it_names():
    estimate = FrequencyEstimate(torch.tensor([[0.0, 0.5, 3.0]]), torch.zeros(1, 3))
    bound = frequency_bound(estimate, minimum_budget=torch.tensor([[2.0, 0.0, 1.0]]))
    assert bound.budget.tolist() == [[2.0, 0.5, 3.0]]


def test_reference_log_mask_is_that_of_the_search():
    torch.manual_seed(1)
    estimate = FrequencyEstimate(2 * torch.rand(2, 6), torch.randn(2, 6))
    bound = frequency_bound(estimate, unbounded=[EOS])
    target = torch.tensor([[3, 4, 3, 3, EOS], [5, 5, 4, EOS, 1]])
    masks = reference_log_mask(bound, target)
    for sentence in range(2):
        one = select_sentences(bound, torch.tensor([sentence]))
        for j in range(5):
            masked = add_log_mask(torch.zeros(1, 6), one, target[sentence : sentence + 1, :j])
            assert masks[sentence, j].item() == pytest.approx(masked[0, target[sentence, j]].item())


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="full"):
        frequency_bound(FrequencyEstimate(torch.ones(1, 2), torch.ones(1, 2)), "hard")


def test_closed_gates_leave_scores_that_can_be_told_apart():
    """In float32, -1e25 - 0.5 is -1e25; and exp(-1000) is 0 also in double precision."""
    estimate = FrequencyEstimate(torch.ones(1, 3), torch.tensor([[-1e25, -999.0, 0.0]]))
    mask = frequency_bound(estimate, "full").first_mask
    assert mask.tolist()[0] == pytest.approx([-1000.0, -999.0, math.log(0.5)])
    assert math.exp(-1000.0) == 0.0


class TestWeights:
    """Budgets 2, ½, 0, 1 and 1; gates ½, ¼, ½, ½ and 0; base rates ½, 1/64, ¼, ⅛ and ½."""

    estimate = FrequencyEstimate(
        torch.tensor([[2.0, 0.5, 0.0, 1.0, 1.0]]), torch.tensor([[0.5, 0.25, 0.5, 0.5, 0.0]]).logit()
    )
    log_base_rate = torch.tensor([1 / 2, 1 / 64, 1 / 4, 1 / 8, 1 / 2]).log()

    def mask(self, gate_weight, base_rate_weight, **options):
        calibration = Calibration(gate_weight, base_rate_weight)
        bound = frequency_bound(self.estimate, calibration=calibration, log_base_rate=self.log_base_rate, **options)
        return (bound.first_mask / math.log(2)).tolist()[0]

    def test_gate_and_base_rate_by_hand(self):
        """In bits. The second word is four times as likely as usual, and gains all that its budget costs and more."""
        assert self.mask(1.0, 0.0)[:4] == pytest.approx([-1, -1 - 2, -INF, -1])
        assert self.mask(1.0, 0.5)[:4] == pytest.approx([-1 + 0.5, -1 - 2 + 3, -INF, -1 + 1.5])
        assert self.mask(0.75, 1.0)[:4] == pytest.approx([-0.75 + 1, -1 - 1.5 + 6, -INF, -0.75 + 3])
        # A closed gate closes, but with a finite number.
        assert self.mask(0.5, 1.0)[4] == pytest.approx(-500 / math.log(2) + 1)

    def test_spent_budgets_cost_beside_the_weight(self):
        bound = frequency_bound(self.estimate, calibration=Calibration(1.0, 0.5), log_base_rate=self.log_base_rate)
        masked = add_log_mask(torch.zeros(1, 5), bound, torch.tensor([[0, 3]])) / math.log(2)
        assert masked[0, :4].tolist() == pytest.approx([-0.5, 0.0, -INF, -INF])

    def test_exempt_words_have_a_budget_but_no_weight(self):
        assert self.mask(1.0, 0.5, exempt=(1, 2), unbounded=[3])[:4] == pytest.approx([-0.5, -1, -INF, 0.0])

    @pytest.mark.parametrize("mode, expected", [("bound", [0, -1, -INF, 0]), ("gate", [-0.5, 1, 0, 0.5])])
    def test_modes(self, mode, expected):
        assert self.mask(1.0, 0.5, mode=mode)[:4] == pytest.approx(expected)

    def test_weight_of_base_rates_that_nobody_counted(self):
        with pytest.raises(UserError, match="base rates"):
            frequency_bound(self.estimate, calibration=Calibration(1.0, 0.5))


def test_a_word_gains_once():
    """ĝ = ½ and p̄ = 1/32: the first use gains log 16, the second nothing; a budget of 3 leaves it free."""
    estimate = FrequencyEstimate(torch.tensor([[3.0, 3.0]]), torch.zeros(1, 2))
    rates = torch.tensor([1 / 32, 1.0]).log()
    bound = frequency_bound(estimate, calibration=Calibration(1.0, 1.0), log_base_rate=rates)
    first = add_log_mask(torch.zeros(1, 2), bound, torch.zeros(1, 0).long())
    second = add_log_mask(torch.zeros(1, 2), bound, torch.tensor([[0, 1]]))
    assert first[0].tolist() == pytest.approx([math.log(16), math.log(0.5)])
    assert second[0].tolist() == pytest.approx([0.0, math.log(0.5)])
    assert reference_log_mask(bound, torch.tensor([[0, 0, 1]]))[0].tolist() == pytest.approx(
        [math.log(16), 0.0, math.log(0.5)]
    )
