"""Random outputs: drawn as fairseq draws them, only faster."""

import math
from argparse import Namespace

import pytest
import torch
from fairseq.search import Sampling
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy import toy_batch, toy_model, toy_task
from wfe_plugin.generation.sampling import QuickSampling, draw, draw_quickly

WORDS = 6


def test_frequencies_are_the_weights():
    """Within five standard deviations, of 40,000 draws; weights need not sum to one."""
    torch.manual_seed(1)
    weights = torch.tensor([0.0, 2.0, 0.0, 1.0, 5.0, 0.0])
    counts = torch.bincount(draw(weights.expand(40_000, -1)), minlength=6) / 40_000
    for share, weight in zip(counts.tolist(), weights.tolist()):
        p = weight / 8
        assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / 40_000)


@settings(deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 50), st.sampled_from([torch.float16, torch.float32]))
def test_no_word_without_weight(seed, words, dtype):
    torch.manual_seed(seed)
    weights = torch.rand(20, words) * (torch.rand(20, words) < 0.3)
    weights[:, seed % words] += 1e-3
    found = draw(weights.to(dtype))
    assert (weights.to(dtype).gather(1, found.unsqueeze(1)) > 0).all()


@pytest.mark.parametrize("unlucky", [0.0, 1.0])
def test_the_ends_of_the_distribution(unlucky, monkeypatch):
    """Random numbers are below 1, but their product with the total may be rounded up to it."""
    monkeypatch.setattr(torch, "rand_like", lambda like: torch.full_like(like, unlucky))
    assert draw(torch.tensor([[0.0, 0.3, 0.6, 0.0]])).tolist() == [2 if unlucky else 1]


@pytest.mark.parametrize("step", [0, 2])
def test_a_step_is_that_of_fairseq(step):
    """With one word that is certain in each row, both must take it, and score it alike."""
    dictionary = toy_task(WORDS).target_dictionary
    certain = torch.tensor([[1, 2], [0, 5], [3, 3]]) if step else torch.tensor([[1, 1], [5, 5], [3, 3]])
    lprobs = torch.full((3, 2, WORDS + 4), float("-inf"))
    lprobs.scatter_(2, certain.unsqueeze(2), -0.25)
    scores = torch.arange(18.0).view(3, 2, 3)
    found, expected = (search(dictionary).step(step, lprobs.clone(), scores) for search in (QuickSampling, Sampling))
    assert torch.allclose(found[0], expected[0]) and found[1].tolist() == expected[1].tolist() == certain.tolist()
    if step:
        assert found[2].tolist() == expected[2].tolist()


@pytest.mark.parametrize("decoding", ["off", "full"])
def test_generators_with_and_without_a_bound(decoding):
    """Outputs are as long as those that fairseq draws, on average."""
    task = toy_task(WORDS)
    model = toy_model(task, 1).eval()
    batch = toy_batch(task, [[4, 5, 6]] * 60)
    options = Namespace(beam=8, sampling=True, max_len_a=0, max_len_b=6, wfe_decoding=decoding)
    lengths = []
    for quick in (False, True):
        generator = task.build_generator([model], options)
        if quick:
            draw_quickly(generator)
        torch.manual_seed(3)
        found = task.inference_step(generator, [model], batch)
        lengths.append(torch.tensor([float(len(output["tokens"])) for outputs in found for output in outputs]))
    assert isinstance(generator.search, QuickSampling)
    error = math.sqrt(sum(one.var().item() / len(one) for one in lengths))
    assert error > 0 and abs(lengths[0].mean() - lengths[1].mean()) <= 5 * error
