"""Dropout from random bytes: as often, and as large, as nn.Dropout."""

import pytest
import torch

from wfe_plugin.method.dropout import Dropout


def test_a_fifth_is_dropped_and_the_mean_stays():
    torch.manual_seed(1)
    x = torch.ones(100, 1001, requires_grad=True)
    y = Dropout(0.2)(x)
    assert y.mean().item() == pytest.approx(1, abs=0.01)
    assert y.eq(0).float().mean().item() == pytest.approx(51 / 256, abs=0.01)
    assert y.unique().tolist() == [0, pytest.approx(256 / 205)]
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_numbers_are_dropped_independently():
    """Neighbours share a draw of eight bytes: both are dropped as often as 0.5 · 0.5 says."""
    torch.manual_seed(1)
    dropped = Dropout(0.5)(torch.ones(8000, 8)).eq(0).float()
    both = dropped.t() @ dropped / len(dropped)
    expected = torch.full((8, 8), 0.25).fill_diagonal_(0.5)
    torch.testing.assert_close(both, expected, rtol=0, atol=0.03)


def test_the_seed_decides():
    x = torch.ones(1000)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(Dropout(0.2)(x))
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])


def test_none_outside_of_training():
    x = torch.ones(1000)
    assert Dropout(0.2).eval()(x) is x
