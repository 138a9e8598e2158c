"""Losses that are no numbers, half precision, and gradients."""

import math

import pytest
import torch

from helpers.toy import toy_batch, toy_model, toy_task
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.errors import UserError
from wfe_plugin.method.estimator import WordFrequencyEstimator
from wfe_plugin.method.loss import wfe_loss

SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11]]
TARGETS = [[4, 5, 4], [7], [8, 8]]
LARGE = 68_887  # words, the paper's target vocabulary


def loss_of(change, **options):
    """The criterion's result for a batch of three, after a change to a good model."""
    task = toy_task(8)
    model = toy_model(task)
    with torch.no_grad():
        change(model)
    criterion = NLLWithWFECriterion(task, **options)
    return criterion(model, toy_batch(task, SOURCES, TARGETS))


def test_diverged_parameters_are_told():
    with pytest.raises(UserError, match="nll_loss is nan, wfe_loss is nan, loss is nan") as raised:
        loss_of(lambda model: model.encoder.embed_tokens.weight.fill_(math.nan))
    assert "3 of the 3 pairs of a batch (numbers from 0: 0, 1, 2)" in str(raised.value)
    assert "smaller --lr" in str(raised.value)


def test_the_wfe_loss_alone():
    with pytest.raises(UserError, match=r"nll_loss is [0-9.]+, wfe_loss is nan") as raised:
        loss_of(lambda model: model.wfe_head.frequency_output.weight.fill_(math.nan))
    assert "3 of the 3 pairs" in str(raised.value)


def test_the_pair_is_told():
    """Word 7 is in the second source only."""

    def change(model):
        model.encoder.embed_tokens.weight[7].fill_(math.nan)

    with pytest.raises(UserError, match=r"1 of the 3 pairs of a batch \(numbers from 0: 1\)"):
        loss_of(change)


def test_an_infinite_loss_from_finite_estimates():
    """A square beyond float32; any of the pairs may have caused it."""
    with pytest.raises(UserError, match="nll_loss is [0-9.]+, wfe_loss is inf") as raised:
        loss_of(lambda model: model.wfe_head.frequency_output.weight.mul_(1e25))
    assert "3 of the 3 pairs" in str(raised.value)


def test_a_model_without_head():
    with pytest.raises(UserError, match=r"^nll_loss is nan, loss is nan"):
        task = toy_task(8)
        model = toy_model(task, without_wfe=True)
        torch.nn.init.constant_(model.decoder.embed_tokens.weight, math.nan)
        NLLWithWFECriterion(task)(model, toy_batch(task, SOURCES, TARGETS))


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
def test_half_precision_at_the_papers_vocabulary(precision):
    """Estimates of ten for every word, whose squares sum to far beyond what float16 can hold."""
    a_hat = torch.full((2, LARGE), 10.0, dtype=precision, requires_grad=True)
    loss = wfe_loss(a_hat, torch.zeros(2, LARGE))
    assert loss.dtype == torch.float32
    assert loss.tolist() == pytest.approx([0.2 * 9.75**2 * LARGE] * 2, rel=1e-3)
    loss.sum().backward()
    expected = torch.full((2, LARGE), 0.2 * 2 * 9.75)
    assert torch.allclose(a_hat.grad.float(), expected, rtol=1e-2)


# Gradients, against numerical ones in float64. The loss has kinks at ±ε for b = 1 only.


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0])
def test_gradient_of_the_loss(power):
    torch.manual_seed(0)
    a_hat = (2 * torch.rand(3, 7, dtype=torch.float64)).requires_grad_()
    a_star = torch.randint(0, 3, (3, 7)).double()
    assert torch.autograd.gradcheck(lambda a: wfe_loss(a, a_star, 0.2, 1.0, 0.25, power), (a_hat,))


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
