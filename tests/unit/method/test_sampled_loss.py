"""The loss from a part of the vocabulary: equal to the whole where all words are drawn, and in the mean of all draws."""

import itertools

import pytest
import torch

from wfe_plugin.method import sampled_loss as module
from wfe_plugin.method.hurdle import hurdle_loss
from wfe_plugin.method.sampled_loss import sampled_loss
from wfe_plugin.method.sliced_loss import sliced_loss
from wfe_plugin.method.votes import VotingEstimator

PAD, VOCABULARY = 1, 14


@pytest.fixture
def batch(monkeypatch):
    """Words 0 to 3 are frequent; 4 and 5 are in the summaries, 5 and 6 in the sources."""
    monkeypatch.setattr(module, "FREQUENT", 4)
    torch.manual_seed(0)
    head = VotingEstimator(3, VOCABULARY).eval()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    head.count_base_rates([torch.tensor([4, 5, 2]), torch.tensor([3, 2])])
    states, padding = torch.randn(3, 2, 3), torch.tensor([[False, False], [False, False], [False, True]])
    words = torch.tensor([[5, 6], [-1, 6], [2, -1]])
    target = torch.tensor([[4, 5, 2], [3, 2, PAD]])
    return head, lambda: head.read(states, padding, words), target


def gradients(head, loss):
    return torch.autograd.grad(loss, [p for p in head.parameters() if p.requires_grad])


def test_all_words_drawn(batch):
    head, read, target = batch
    exact = sliced_loss(read(), hurdle_loss, target, PAD)
    found = sampled_loss(read(), hurdle_loss, target, PAD, drawn=torch.arange(4, VOCABULARY))
    assert found.item() == pytest.approx(exact.item(), rel=1e-5)
    for one, other in zip(gradients(head, found), gradients(head, exact)):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_the_mean_of_all_draws_is_the_exact_loss(batch):
    """Words 7 to 13 are left to chance: all pairs of them, each as likely as the others."""
    head, read, target = batch
    exact = sliced_loss(read(), hurdle_loss, target, PAD)
    draws = list(itertools.combinations(range(7, VOCABULARY), 2))
    found = [sampled_loss(read(), hurdle_loss, target, PAD, drawn=torch.tensor(draw)) for draw in draws]
    assert torch.stack(found).std() > 0.1
    mean = torch.stack(found).mean()
    assert mean.item() == pytest.approx(exact.item(), rel=1e-5)
    for one, other in zip(gradients(head, mean), gradients(head, exact)):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_small_vocabularies_are_not_sampled(batch):
    head, read, target = batch
    assert sampled_loss(read(), hurdle_loss, target, PAD) == sliced_loss(read(), hurdle_loss, target, PAD)
