"""Losses in slices: those of the whole vocabulary, and their gradients, in less memory."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wfe_plugin.method.estimator import LiteralEstimator, WordFrequencyEstimator
from wfe_plugin.method.hurdle import CopyingEstimator, hurdle_loss
from wfe_plugin.method.likelihood import nll_of_tokens_in_place
from wfe_plugin.method.loss import true_frequencies, wfe_loss
from wfe_plugin.method.sliced_loss import sliced_loss
from wfe_plugin.method.votes import VotingEstimator

PAD = 1
SMALL_ESTIMATORS = [WordFrequencyEstimator, LiteralEstimator, CopyingEstimator]
ESTIMATORS = [*SMALL_ESTIMATORS, VotingEstimator]


def loss_of(head):
    if isinstance(head, (CopyingEstimator, VotingEstimator)):
        return hurdle_loss
    return lambda estimate, a_star: wfe_loss(estimate.a_hat, a_star)


def a_head_and_a_batch(kind, vocabulary, sentences=4, size=3, seed=0):
    torch.manual_seed(seed)
    head = kind(size, vocabulary).eval()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(5, sentences, size)
    padding = torch.arange(5).unsqueeze(1) >= torch.randint(1, 6, (sentences,))
    words = torch.randint(-1, vocabulary, (5, sentences))
    target = torch.randint(0, vocabulary, (sentences, 6))
    target[0, 3:] = PAD
    return head, states, padding, words, target


def gradients(head, states, padding, words, compute):
    head.zero_grad()
    states = states.clone().requires_grad_()
    loss = compute(head.read(states, padding, words))
    (3 * loss).backward()
    return loss.detach(), [states.grad, *(parameter.grad for parameter in head.parameters())]


def assert_numerical(compute, inputs, step=1e-6):
    """Gradients against differences; torch's own check wants a second backward pass."""
    found = torch.autograd.grad(compute(), inputs)
    with torch.no_grad():
        for tensor, gradient in zip(inputs, found):
            for number, entry in zip(tensor.view(-1), gradient.reshape(-1)):
                value = number.item()
                above, below = compute_at(number, value + step, compute), compute_at(number, value - step, compute)
                number.fill_(value)
                assert entry.item() == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-5)


def compute_at(number, value, compute):
    number.fill_(value)
    return compute().item()


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(ESTIMATORS), st.integers(2, 40), st.integers(1, 50), st.integers(0, 1000))
def test_any_slices_give_the_loss_of_the_whole(kind, vocabulary, slice_words, seed):
    head, states, padding, words, target = a_head_and_a_batch(kind, vocabulary, seed=seed)

    def whole(pending):
        return loss_of(head)(pending.whole(), true_frequencies(target, vocabulary, PAD)).sum()

    def sliced(pending):
        return sliced_loss(pending, loss_of(head), target, PAD, slice_words)

    expected, expected_gradients = gradients(head, states, padding, words, whole)
    loss, found = gradients(head, states, padding, words, sliced)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    for gradient, literal in zip(found, expected_gradients):
        assert torch.allclose(gradient, literal, rtol=1e-3, atol=1e-3)
    with torch.no_grad():
        loss = sliced(head.read(states, padding, words))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("kind", SMALL_ESTIMATORS)
def test_gradient_is_the_numerical_one(kind):
    head, states, padding, words, target = a_head_and_a_batch(kind, vocabulary=7)
    head, states = head.double(), states.double().requires_grad_()

    def compute():
        return sliced_loss(head.read(states, padding, words), loss_of(head), target, PAD, slice_words=3)

    assert_numerical(compute, [states, *head.parameters()])


@pytest.mark.parametrize("kind", SMALL_ESTIMATORS)
def test_frozen_parts_get_no_gradient(kind):
    head, states, padding, words, target = a_head_and_a_batch(kind, vocabulary=7)
    head.frequency_output.weight.requires_grad_(False)
    sliced_loss(head.read(states, padding, words), loss_of(head), target, PAD, 3).backward()
    assert head.frequency_output.weight.grad is None
    assert all(p.grad is not None for p in head.parameters() if p.requires_grad)


def test_small_gradients_survive_half_precision():
    """The scale that half precision needs is applied before the gradient becomes half."""
    head, states, padding, words, target = a_head_and_a_batch(WordFrequencyEstimator, vocabulary=7)
    head, states = head.half(), states.half()
    expected = gradients(
        copy.deepcopy(head).float(),
        states.float(),
        padding,
        words,
        lambda p: sliced_loss(p, loss_of(head), target, PAD),
    )[1]

    def tiny_loss(estimate, a_star):  # with gradients far below the smallest half
        return 2.0**-30 * loss_of(head)(estimate, a_star)

    loss = sliced_loss(head.read(states, padding, words), tiny_loss, target, PAD)
    assert loss.dtype == torch.float32
    (3 * 2.0**24 * loss).backward()
    for parameter, literal in zip(head.parameters(), expected[1:]):
        assert parameter.grad.dtype == torch.float16
        assert torch.allclose(parameter.grad.float() * 2.0**6, literal, rtol=0.05, atol=0.05)


def test_nothing_of_the_size_of_batch_times_vocabulary_is_made():
    """The largest tensor beyond the weights and their gradients is a slice."""
    vocabulary, sentences, slice_words = 5000, 16, 100
    head, states, padding, words, target = a_head_and_a_batch(WordFrequencyEstimator, vocabulary, sentences, size=2)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.numel())
            return result

    with Watch():
        sliced_loss(head.read(states, padding, words), loss_of(head), target, PAD, slice_words).backward()
    assert largest <= 4 * vocabulary  # W2g, (vocabulary, 2H), and its gradient
    assert largest < sentences * vocabulary


class TestNLL:
    def literal(self, logits, target):
        return sum(-torch.log_softmax(row, dim=-1)[word] for row, word in zip(logits, target.tolist()) if word != PAD)

    @pytest.mark.parametrize("tokens, vocabulary", [(1, 3), (7, 5), (40, 60_000)])
    def test_against_loops(self, tokens, vocabulary):
        torch.manual_seed(0)
        logits = (5 * torch.randn(tokens, vocabulary)).requires_grad_()
        target = torch.randint(2, vocabulary, (tokens,))
        target[tokens // 2 + 1 :: 2] = PAD
        expected = self.literal(logits, target)
        (expected_gradient,) = torch.autograd.grad(2 * expected, logits)
        work = logits.clone()
        loss = nll_of_tokens_in_place(work, target, PAD).sum()
        (gradient,) = torch.autograd.grad(2 * loss, logits)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
        assert torch.allclose(gradient, expected_gradient, atol=1e-5)

    def test_gradient_is_the_numerical_one(self):
        torch.manual_seed(0)
        logits = torch.randn(4, 6, dtype=torch.double, requires_grad=True)
        target = torch.tensor([3, PAD, 0, 5])
        assert_numerical(lambda: nll_of_tokens_in_place(logits.clone(), target, PAD).sum(), [logits])
