"""True frequencies and the WFE loss against Equation 6, written out in loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.method.estimator import BudgetEstimate, FrequencyEstimate
from wfe_plugin.method.loss import estimate_loss, true_frequencies, wfe_loss

PAD = 1


def literal_loss(a_hat, a_star, c1=0.2, c2=1.0, epsilon=0.25, b=2.0):
    return sum(c1 * max(0.0, e - t - epsilon) ** b + c2 * max(0.0, t - e - epsilon) ** b for e, t in zip(a_hat, a_star))


def test_true_frequencies_by_hand():
    target = torch.tensor([[4, 5, 4, 2], [6, 2, PAD, PAD]])
    counts = true_frequencies(target, 7, PAD)
    #                             <s> pad eos unk  4  5  6
    assert counts.tolist() == [[0, 0, 1, 0, 2, 1, 0], [0, 0, 1, 0, 0, 0, 1]]
    assert counts.dtype == torch.float32


@given(st.lists(st.lists(st.integers(2, 9), max_size=6), min_size=1, max_size=4))
def test_true_frequencies_count(sentences):
    longest = max(map(len, sentences))
    target = (
        torch.tensor([sentence + [PAD] * (longest - len(sentence)) for sentence in sentences])
        .long()
        .view(len(sentences), longest)
    )
    counts = true_frequencies(target, 10, PAD).tolist()
    assert counts == [[s.count(word) for word in range(10)] for s in sentences]


def test_loss_by_hand():
    """The paper's constants: c1=0.2, c2=1, epsilon=0.25, b=2."""
    a_hat = torch.tensor([[1.25, 0.75, 2.25, 0.0, 0.25]])
    a_star = torch.tensor([[1.0, 1.0, 1.0, 2.0, 0.0]])
    # within the margin: 0, 0; over by 1: 0.2 * 1; under by 1.75: 3.0625; margin: 0
    assert wfe_loss(a_hat, a_star).tolist() == pytest.approx([0.2 + 3.0625])


def test_an_estimate_that_keeps_budgets_above_zero():
    r = torch.tensor([[-0.4, 0.05, 0.1, 1.0]])
    numbers = r, torch.full_like(r, 100.0)  # open gates
    a_star = torch.zeros(1, 4)
    # Equation 6: only the last word, by 0.75; then 0.5 and 0.05 below 0.1
    assert estimate_loss(FrequencyEstimate(*numbers), a_star).tolist() == pytest.approx([0.2 * 0.5625])
    assert estimate_loss(BudgetEstimate(*numbers), a_star).tolist() == pytest.approx([0.2 * (0.5625 + 0.25 + 0.0025)])
    assert estimate_loss(BudgetEstimate(*numbers), a_star, over_cost=1.0).tolist() == pytest.approx([0.815])


@given(
    st.lists(st.tuples(st.floats(0, 6, width=32), st.integers(0, 4)), min_size=1, max_size=8),
    st.floats(0, 2, width=32),
    st.floats(0, 2, width=32),
    st.floats(0, 1, width=32),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
)
def test_loss_against_literal_loops(words, c1, c2, epsilon, b):
    a_hat, a_star = zip(*words)
    loss = wfe_loss(torch.tensor([a_hat]), torch.tensor([a_star]), c1, c2, epsilon, b)
    expected = literal_loss(a_hat, a_star, c1, c2, epsilon, b)
    assert loss.item() == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0])
def test_gradient(power):
    """Against numerical ones in float64. There are kinks at ±ε for b = 1 only."""
    torch.manual_seed(0)
    a_hat = (2 * torch.rand(3, 7, dtype=torch.float64)).requires_grad_()
    a_star = torch.randint(0, 3, (3, 7)).double()
    assert torch.autograd.gradcheck(lambda a: wfe_loss(a, a_star, 0.2, 1.0, 0.25, power), (a_hat,))


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
def test_half_precision_at_the_papers_vocabulary(precision):
    """Estimates of ten for every word, whose squares sum to far beyond what float16 can hold."""
    a_hat = torch.full((2, 68_887), 10.0, dtype=precision, requires_grad=True)
    loss = wfe_loss(a_hat, torch.zeros(2, 68_887))
    assert loss.dtype == torch.float32
    assert loss.tolist() == pytest.approx([0.2 * 9.75**2 * 68_887] * 2, rel=1e-3)
    loss.sum().backward()
    expected = torch.full((2, 68_887), 0.2 * 2 * 9.75)
    assert torch.allclose(a_hat.grad.float(), expected, rtol=1e-2)
