"""The hurdle model of frequencies, and the estimator that sees the source's words."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.toy import estimates, toy_batch, toy_model, toy_sources, toy_task
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.method.bound import add_log_mask, frequency_bound
from wfe_plugin.method.hurdle import RARE, RARELY_AGAIN, CopyingEstimator, HurdleEstimate, hurdle_loss
from wfe_plugin.models.wfe_model import corresponding_words

numbers = st.floats(-12, 12, width=32)


def literal_loss(r, g, count):
    """-log P(count), without the factorial of the Poisson distribution."""
    occurs = 1 / (1 + math.exp(-g))
    if count == 0:
        return -math.log(1 - occurs)
    mean = math.log(1 + math.exp(r))
    return -math.log(occurs) + mean - (count - 1) * math.log(mean)


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 4)), min_size=1, max_size=6))
def test_loss_against_literal_loops(words):
    r, g, counts = (torch.tensor([[float(word[i]) for word in words]]) for i in range(3))
    expected = sum(literal_loss(*word) for word in words)
    assert hurdle_loss(HurdleEstimate(r, g), counts).item() == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_extreme_estimates_have_a_finite_loss_and_gradient():
    r = torch.tensor([[-200.0, 200.0, -200.0]], requires_grad=True)
    g = torch.tensor([[200.0, -200.0, -200.0]], requires_grad=True)
    loss = hurdle_loss(HurdleEstimate(r, g), torch.tensor([[3.0, 1.0, 0.0]]))
    loss.sum().backward()
    assert torch.isfinite(loss).all() and torch.isfinite(r.grad).all() and torch.isfinite(g.grad).all()


def test_gradient():
    torch.manual_seed(0)
    counts = torch.tensor([[0.0, 1.0, 2.0, 4.0]], dtype=torch.double)
    r, g = (torch.randn(1, 4, dtype=torch.double, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda r, g: hurdle_loss(HurdleEstimate(r, g), counts.double()), (r, g))


def test_the_likeliest_estimate_has_the_mean_frequency():
    """Of ten summaries six have the word: five of them once, and one three times."""
    counts = torch.tensor([0.0] * 4 + [1.0] * 5 + [3.0]).unsqueeze(1)
    r, g = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([r, g], max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = hurdle_loss(HurdleEstimate(r.expand(10, 1), g.expand(10, 1)), counts).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    estimate = HurdleEstimate(r, g)
    assert estimate.g_hat.item() == pytest.approx(0.6, abs=1e-3)
    assert estimate.r_hat.item() == pytest.approx(8 / 6, abs=1e-3)
    assert estimate.a_hat.item() == pytest.approx(0.8, abs=1e-3)


def test_decoding_charges_the_probabilities():
    """P(N ≥ 1) = 0.6; a second use is a quarter as likely: µ = 0.25."""
    estimate = HurdleEstimate(torch.tensor([[math.log(math.expm1(0.25))]]), torch.tensor([[math.log(0.6 / 0.4)]]))
    bound = frequency_bound(estimate)
    for said, expected in ((0, math.log(0.6)), (1, math.log(0.25 * 0.6)), (2, -math.inf)):
        generated = torch.zeros(1, said).long()
        assert add_log_mask(torch.zeros(1, 1), bound, generated).item() == pytest.approx(expected, abs=1e-5)


def test_words_start_as_rare():
    head = CopyingEstimator(4, 9)
    estimate = head(torch.zeros(3, 2, 4), torch.zeros(3, 2, dtype=torch.bool), torch.full((3, 2), -1))
    assert torch.allclose(estimate.g, torch.tensor(RARE)) and torch.allclose(estimate.r, torch.tensor(RARELY_AGAIN))


PAD = 1


def test_positions_vote_for_their_own_words():
    torch.manual_seed(0)
    head = CopyingEstimator(4, 7)
    states = torch.randn(3, 2, 4)
    padding = torch.tensor([[False, False], [False, False], [False, True]])
    words = torch.tensor([[5, 3], [6, -1], [5, PAD]])
    estimate = head(states, padding, words)
    without = head(states, padding, torch.full_like(words, -1))
    expected = [field.clone() for field in without]
    for sentence, position, word in ((0, 0, 5), (0, 1, 6), (0, 2, 5), (1, 0, 3)):
        for field, vote in zip(expected, head.votes(states[position, sentence])):
            field[sentence, word] += vote
    for field, literal in zip(estimate, expected):
        assert torch.allclose(field, literal, atol=1e-5)


def test_words_that_both_dictionaries_have():
    task = toy_task(3)
    task.source_dictionary.add_symbol("elsewhere")
    task.target_dictionary.symbols.reverse()
    task.target_dictionary.indices = {word: i for i, word in enumerate(task.target_dictionary.symbols)}
    found = corresponding_words(task.source_dictionary, task.target_dictionary)
    size = len(task.target_dictionary)
    for index, word in enumerate(task.source_dictionary.symbols):
        if word in ("elsewhere", "<unk>"):
            assert found[index] == -1
        else:
            assert found[index] == size - 1 - index


class TestModel:
    def test_the_criterion_knows_which_loss_belongs_to_it(self):
        task = toy_task(8)
        model = toy_model(task, wfe_estimator="copying")
        batch = toy_batch(task, toy_sources(4, 8), toy_sources(4, 8, seed=1))
        _, _, logged = NLLWithWFECriterion(task)(model, batch)
        estimate = estimates(model, batch)
        expected = 0.0
        for r, g, target in zip(*estimate, batch["target"]):
            words = [word for word in target.tolist() if word != PAD]
            expected += sum(literal_loss(r[w].item(), g[w].item(), words.count(w)) for w in range(len(g)))
        assert logged["wfe_loss"].item() == pytest.approx(expected, rel=1e-3)

    def test_the_model_below_has_no_dropout(self):
        """The estimate would learn from other states than it decodes with."""
        task = toy_task(8)
        model = toy_model(task, wfe_estimator="copying", wfe_only=True, dropout=0.5)
        model.load_state_dict(model.state_dict())
        batch = toy_batch(task, toy_sources(4, 8), toy_sources(4, 8, seed=1))
        decoding = model(**batch["net_input"])[1]["wfe"].whole()
        training = model.train()(**batch["net_input"])[1]["wfe"].whole()
        assert model.wfe_head.training
        torch.testing.assert_close(decoding.g, training.g)
