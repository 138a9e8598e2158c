"""The voting estimator against loops over positions and words."""

import math

import pytest
import torch

from wfe_plugin.method.votes import FEATURES, VotingEstimator, features

H, M = 3, 6


def a_head(counted: bool = True) -> VotingEstimator:
    torch.manual_seed(5)
    head = VotingEstimator(H, M).eval()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(0, 0.5)
    if counted:
        head.count_base_rates([torch.tensor([1, 3]), torch.tensor([3, 3, 4]), torch.tensor([0])])
    return head


def a_batch():
    """Two sentences, of four and three positions; words that the target vocabulary lacks are -1."""
    torch.manual_seed(6)
    states = torch.randn(4, 2, H)
    words = torch.tensor([[5, 3], [-1, 2], [5, 3], [4, -1]])
    padding = torch.tensor([[False, False], [False, False], [False, False], [False, True]])
    return states, padding, words


def literal_features(words, log_rates):
    """Of one sentence, a list for each position."""
    rows = []
    for i, word in enumerate(words):
        known = word >= 0
        rows.append(
            [
                i / len(words),
                math.log(1 + i) / 3,
                math.log(len(words)) / 3 - 1,
                math.log(1 + (words.count(word) if known else 0)),
                float(known and word not in words[:i]),
                log_rates[word] / 4 + 1.5 if known else 0.0,
                float(known),
            ]
        )
    return rows


def test_features_in_loops():
    _, padding, words = a_batch()
    log_rates = torch.randn(M)
    unvoiced = padding | words.lt(0)
    known = words.masked_fill(unvoiced, 0)
    first, seen = features(known, unvoiced, padding, log_rates[known])
    assert first.t().tolist() == [[True, False, False, True], [True, True, False, False]]
    for sentence, length in ((0, 4), (1, 3)):
        expected = literal_features(words[:length, sentence].tolist(), log_rates.tolist())
        assert seen[:length, sentence].flatten().tolist() == pytest.approx(sum(expected, []), abs=1e-6)
    assert seen[3, 1].tolist() == [0.0] * FEATURES


def test_in_loops():
    """One sentence at a time, word by word; the LSTM is torch's own."""
    head, (states, padding, words) = a_head(), a_batch()
    estimate = head(states, padding, words)
    rates = [(count + 0.5) / 4 for count in (1, 1, 0, 2, 1, 0)]
    for sentence, length in ((0, 4), (1, 3)):
        own_words = words[:length, sentence].tolist()
        seen = torch.tensor(literal_features(own_words, [math.log(p) for p in rates]))
        of_encoder = states[:length, sentence]
        read = torch.cat((head.lstm(torch.cat((of_encoder, seen), dim=1))[0], of_encoder), dim=1)
        context = head.context(torch.cat((read.amax(dim=0), read.amin(dim=0))))
        votes = head.votes(torch.tanh(head.judge(torch.cat((read, seen), dim=1))))
        for word in range(M):
            at = [i for i in range(length) if own_words[i] == word]
            g = (
                math.log(rates[word] / (1 - rates[word]))
                + head.occurrence_bias[word]
                + context @ head.output.weight[word]
            )
            g = g + sum(votes[i, 1] for i in at) + (head.source_bias[word] if at else 0)
            r = head.frequency_bias[word] + sum(votes[i, 0] for i in at)
            assert estimate.g[sentence, word].item() == pytest.approx(g.item(), abs=1e-4)
            assert estimate.r[sentence, word].item() == pytest.approx(r.item(), abs=1e-4)


def test_before_training_words_are_as_likely_as_in_training_summaries():
    head = VotingEstimator(H, M).eval()
    head.count_base_rates([torch.tensor([1, 3])] * 7)
    with torch.no_grad():
        head.context.weight.zero_()
        head.context.bias.zero_()
        states, padding, words = a_batch()
        estimate = head(states, padding, torch.full_like(words, -1))
    assert torch.allclose(estimate.g_hat[0], head.log_base_rate().exp(), atol=1e-5)


def test_works_without_base_rates():
    states, padding, words = a_batch()
    assert torch.isfinite(a_head(counted=False)(states, padding, words).g).all()


def test_padding_on_the_left_or_in_between_changes_nothing():
    head = a_head()
    states, padding, words = a_batch()
    expected = head(states, padding, words)
    for places in ([3, 0, 1, 2], [0, 3, 1, 2]):
        moved = states.clone(), padding.clone(), words.clone()
        for tensor, whole in zip(moved, (states, padding, words)):
            tensor[:, 1] = whole[places, 1]
        found = head(*moved)
        assert torch.allclose(found.r, expected.r, atol=1e-6)
        assert torch.allclose(found.g, expected.g, atol=1e-6)
