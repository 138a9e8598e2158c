"""Unlikelihood: the loss against literal loops, its gradient, and the criterion."""

import math

import pytest
import torch
from fairseq.logging import metrics
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from helpers.toy import toy_batch, toy_model, toy_task
from wfe_plugin.criterions.nll_unlikelihood import (
    NLLWithUnlikelihoodConfig,
    NLLWithUnlikelihoodCriterion,
)
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.method.unlikelihood import LEAST, unlikelihood_loss

PAD = 1
WORDS = 8
SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11]]
TARGETS = [[4, 5, 4], [7], [8, 8]]


def literal_loss(lprobs, target):
    """Of one sentence: lprobs[t][word], target[t]."""
    total = 0.0
    for t, word in enumerate(target):
        if word == PAD:
            continue
        candidates = {earlier for earlier in target[:t] if earlier not in (word, PAD)}
        for candidate in candidates:
            total -= math.log(max(1 - math.exp(lprobs[t][candidate]), LEAST))
    return total


def test_by_hand():
    """Words 2 3 2 with p = 1/4 everywhere: step two has one candidate, 2, and so
    has step three, 3, where 2 is the target itself."""
    lprobs = torch.full((1, 3, 4), 0.25).log()
    loss = unlikelihood_loss(lprobs, torch.tensor([[2, 3, 2]]), PAD)
    assert loss.tolist() == pytest.approx([-2 * math.log(0.75)])


@given(
    st.lists(st.lists(st.integers(2, 5), max_size=6), min_size=1, max_size=4),
    st.booleans(),
    st.integers(0, 1000),
)
def test_against_literal_loops(sentences, left_padded, seed):
    width = max(map(len, sentences)) + 1
    rows = []
    for sentence in sentences:
        padding = [PAD] * (width - len(sentence))
        rows.append(padding + sentence if left_padded else sentence + padding)
    generator = torch.Generator().manual_seed(seed)
    lprobs = torch.log_softmax(3 * torch.randn(len(rows), width, 6, generator=generator), dim=-1)
    found = unlikelihood_loss(lprobs, torch.tensor(rows), PAD).tolist()
    expected = [literal_loss(lprobs[b].tolist(), row) for b, row in enumerate(rows)]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_gradient():
    """That of the formula, by finite differences; and none across sentences."""
    target = torch.tensor([[2, 3, 2, 4], [3, 3, 5, PAD]])
    logits = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(1)).double()

    def literal(values):
        lprobs = torch.log_softmax(values, dim=-1).tolist()
        return sum(literal_loss(lprobs[b], target[b].tolist()) for b in range(2))

    logits.requires_grad_()
    unlikelihood_loss(torch.log_softmax(logits, dim=-1), target, PAD).sum().backward()
    with torch.no_grad():
        for place in [(0, 1, 2), (0, 3, 3), (0, 2, 5), (1, 2, 3), (1, 3, 3), (1, 2, 2)]:
            step = torch.zeros_like(logits)
            step[place] = 1e-3
            slope = (literal(logits + step) - literal(logits - step)) / 2e-3
            assert logits.grad[place].item() == pytest.approx(slope, abs=1e-4)
    logits.grad = None
    unlikelihood_loss(torch.log_softmax(logits, dim=-1), target, PAD)[0].backward()
    assert logits.grad[0].any() and not logits.grad[1].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_certain_words_have_a_finite_loss_and_gradient(dtype):
    logits = torch.zeros(1, 2, 4, dtype=dtype)
    logits[0, 1, 2] = 500.0  # certain to repeat the first word
    logits.requires_grad_()
    lprobs = torch.log_softmax(logits, dim=-1)
    loss = unlikelihood_loss(lprobs, torch.tensor([[2, 3]]), PAD)
    loss.sum().backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(-math.log(LEAST), rel=1e-4)
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("without_wfe", [False, True])
def test_criterion_adds_its_loss_to_the_others(without_wfe):
    task = toy_task(WORDS)
    model = toy_model(task, 1, without_wfe=without_wfe)
    batch = toy_batch(task, SOURCES, TARGETS)
    plain, size, plain_log = NLLWithWFECriterion(task)(model, batch)
    lprobs = model.get_normalized_probs(model(**batch["net_input"]), log_probs=True)
    expected = sum(map(literal_loss, lprobs.tolist(), batch["target"].tolist()))
    for weight in (0.0, 0.5, 1.0):
        criterion = NLLWithUnlikelihoodCriterion(task, unlikelihood_weight=weight)
        loss, same_size, log = criterion(model, batch)
        assert loss.item() == pytest.approx(plain.item() + weight * expected, rel=1e-4)
        assert log["unlikelihood_loss"].item() == pytest.approx(expected, rel=1e-4)
        assert log["nll_loss"].item() == pytest.approx(plain_log["nll_loss"].item())
        assert ("wfe_loss" in log) == (not without_wfe)
        assert size == same_size


def test_other_models_of_fairseq_can_be_trained():
    task = toy_task(WORDS)
    encoder = LSTMEncoder(task.source_dictionary, 4, 5)
    decoder = LSTMDecoder(task.target_dictionary, 4, 5, 5, encoder_output_units=5)
    model = LSTMModel(encoder, decoder)
    loss, _, log = NLLWithUnlikelihoodCriterion(task)(model, toy_batch(task, SOURCES, TARGETS))
    loss.backward()
    assert log["unlikelihood_loss"] > 0


def test_logged_a_sentence():
    logs = [dict(loss=9.0, nll_loss=5.0, unlikelihood_loss=4.0, ntokens=4, nsentences=n, sample_size=n) for n in (1, 3)]
    with metrics.aggregate(new_root=True) as aggregator:
        NLLWithUnlikelihoodCriterion.reduce_metrics(logs)
    assert aggregator.get_smoothed_values()["unlikelihood_loss"] == 2.0


def test_built_from_options():
    options = OmegaConf.structured(NLLWithUnlikelihoodConfig(unlikelihood_weight=0.3, wfe_weight=2.0))
    criterion = NLLWithUnlikelihoodCriterion.build_criterion(options, toy_task(WORDS))
    assert criterion.unlikelihood_weight == 0.3 and criterion.wfe_weight == 2.0


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_that_make_no_sense_are_refused(weight):
    with pytest.raises(ValueError, match="--unlikelihood-weight"):
        NLLWithUnlikelihoodConfig(unlikelihood_weight=weight).validate()
