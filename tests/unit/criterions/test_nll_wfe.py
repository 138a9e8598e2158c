"""The training objective: what is summed, divided and logged."""

import math

import pytest
import torch
from fairseq.criterions.adaptive_loss import AdaptiveLoss
from fairseq.logging import metrics

from helpers.families import FAMILIES, each_family, toy_of
from helpers.literal_search import LiteralSearch
from helpers.toy import stock_lstm, toy_batch, toy_model, toy_sources, toy_task
from wfe_plugin.criterions.mrt import MRTCriterion
from wfe_plugin.criterions.nll_unlikelihood import NLLWithUnlikelihoodCriterion
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion, log_probs
from wfe_plugin.models.wfe_model import ESTIMATORS

WORDS = 8
SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11]]
TARGETS = [[4, 5, 4], [7], [8, 8]]
EOS = 2


def literal_losses(task, model, **options):
    """NLL and WFE loss, each summed over sentences, from plain loops."""
    total_nll, total_wfe = 0.0, 0.0
    for source, target in zip(SOURCES, TARGETS):
        search = LiteralSearch(task, model, source, decoding="off")
        r, g = search.estimate
        total_nll -= search.score(target)
        for word, (r_m, g_m) in enumerate(zip(r[0].tolist(), g[0].tolist())):
            a_hat = max(0.0, r_m) / (1 + math.exp(-g_m))
            a_star = (target + [EOS]).count(word)
            total_wfe += 0.2 * max(0.0, a_hat - a_star - 0.25) ** 2
            total_wfe += max(0.0, a_star - a_hat - 0.25) ** 2
            if model.wfe.wfe_estimator == "paper":  # ours
                total_wfe += 0.2 * max(0.0, 0.1 - r_m) ** 2
    return total_nll, total_wfe


def criterion_of(task, **options):
    return NLLWithWFECriterion(task, **options)


@each_family
def test_loss_against_literal_loops(family):
    task = toy_task(WORDS)
    model = toy_of(family, task, 1)
    batch = toy_batch(task, SOURCES, TARGETS)
    nll, wfe = literal_losses(task, model)
    for weight in (0.0, 1.0, 2.5):
        loss, size, log = criterion_of(task, wfe_weight=weight)(model, batch)
        assert loss.item() == pytest.approx(nll + weight * wfe, rel=1e-4)
        assert log["nll_loss"].item() == pytest.approx(nll, rel=1e-4)
        assert log["wfe_loss"].item() == pytest.approx(wfe, rel=1e-4)
        assert size == log["nsentences"] == 3
        assert log["ntokens"] == 9


def test_data_without_summaries():
    """As fairseq makes batches where the file of the target language is missing."""
    task = toy_task(WORDS)
    with pytest.raises(ValueError, match="no summaries to learn from"):
        criterion_of(task)(toy_model(task, 1), toy_batch(task, SOURCES))


def test_average_over_tokens():
    task = toy_task(WORDS)
    batch = toy_batch(task, SOURCES, TARGETS)
    _, size, _ = criterion_of(task, average_over="tokens")(toy_model(task), batch)
    assert size == 9


@pytest.mark.parametrize("build", [lambda task: toy_model(task, without_wfe=True), stock_lstm])
def test_models_without_head_get_plain_nll(build):
    task = toy_task(WORDS)
    loss, _, log = criterion_of(task)(build(task), toy_batch(task, SOURCES, TARGETS))
    assert loss.item() == log["nll_loss"].item()
    assert "wfe_loss" not in log


def test_label_smoothing_changes_the_loss_and_not_the_nll():
    task = toy_task(WORDS)
    model = toy_model(task, 1)
    batch = toy_batch(task, SOURCES, TARGETS)
    plain, _, plain_log = criterion_of(task)(model, batch)
    smooth, _, smooth_log = criterion_of(task, label_smoothing=0.1)(model, batch)
    assert smooth_log["nll_loss"].item() == pytest.approx(plain_log["nll_loss"].item())
    lprobs = model.get_normalized_probs(model(**batch["net_input"]), log_probs=True)
    real = batch["target"].ne(1)
    spread = -lprobs[real].sum().item()
    share = 0.1 / (lprobs.size(-1) - 1)
    expected = (1 - 0.1 - share) * plain_log["nll_loss"].item() + share * spread
    expected += plain_log["wfe_loss"].item()
    assert smooth.item() == pytest.approx(expected, rel=1e-5)


def logged(logs):
    with metrics.aggregate(new_root=True) as aggregator:
        NLLWithWFECriterion.reduce_metrics(logs)
    return aggregator.get_smoothed_values()


def test_logged_values():
    log = dict(loss=30.0, nll_loss=20.0, wfe_loss=10.0, ntokens=8, nsentences=2, sample_size=2)
    values = logged([log])
    assert values["loss"] == 15.0
    assert values["nll_loss"] == pytest.approx(20 / 8 / math.log(2), abs=1e-3)
    assert values["ppl"] == pytest.approx(math.exp(20 / 8), abs=0.02)
    assert values["wfe_loss"] == 5.0


def test_two_workers_log_and_learn_what_one_would():
    """Sums over two halves of a batch are those of the whole."""
    task = toy_task(WORDS)
    model = toy_model(task, 2)
    criterion = criterion_of(task)
    sources, targets = toy_sources(6, WORDS, 1), toy_sources(6, WORDS, 2)
    whole, size, log = criterion(model, toy_batch(task, sources, targets))
    whole.backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    parts = [criterion(model, toy_batch(task, sources[cut], targets[cut])) for cut in (slice(0, 2), slice(2, 6))]
    for loss, _, _ in parts:
        loss.backward()
    assert sum(size for _, size, _ in parts) == size
    assert logged([log for *_, log in parts]) == pytest.approx(logged([log]), rel=1e-3)
    for parameter, gradient in zip(model.parameters(), expected):
        assert torch.allclose(parameter.grad, gradient, atol=1e-4)
    assert criterion.logging_outputs_can_be_summed()


@pytest.mark.parametrize(
    "family, estimator", [*((family, "paper") for family in FAMILIES), *(("lstm", name) for name in ESTIMATORS)]
)
def test_loss_is_finite_in_bfloat16_autocast_at_the_papers_vocabulary(family, estimator):
    task = toy_task(68_883)
    model = toy_of(family, task, weight_scale=0.1, wfe_estimator=estimator).train()
    batch = toy_batch(task, SOURCES, TARGETS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _, _ = criterion_of(task)(model, batch)
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def gradients(criterion, model, batch):
    model.zero_grad()
    loss, _, _ = criterion(model, batch)
    loss.backward()
    return loss.item(), {
        name: weights.grad.clone() for name, weights in model.named_parameters() if weights.grad is not None
    }


def test_an_adaptive_softmax_learns_as_by_fairseq():
    """Without a word whose place in its class is that of padding in the vocabulary: fairseq leaves it out."""
    task = toy_task(30)
    options = dict(adaptive_softmax_cutoff="8,16", decoder_embed_dim=16, dropout=0.0, without_wfe=True)
    model = toy_of("transformer", task, **options).train()
    batch = toy_batch(task, SOURCES, [[4, 5, 4, 20], [7, 30, 31], [8, 12]])
    found, ours = gradients(criterion_of(task), model, batch)
    expected, theirs = gradients(AdaptiveLoss(task, sentence_avg=True), model, batch)
    assert found == pytest.approx(expected, rel=1e-5)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], atol=1e-5), name


@pytest.mark.parametrize(
    "criterion, options",
    [(NLLWithWFECriterion, dict(label_smoothing=0.1)), (NLLWithUnlikelihoodCriterion, {}), (MRTCriterion, dict(mrt_max_length=4))],
)  # fmt: skip
def test_an_adaptive_softmax_learns_by_all_criteria(criterion, options):
    task = toy_task(30)
    model = toy_of("transformer", task, adaptive_softmax_cutoff="8,16", decoder_embed_dim=16).train()
    batch = toy_batch(task, SOURCES, [[4, 5, 4, 9], [7, 17], [33, 17]])
    _, found = gradients(criterion(task, **options), model, batch)
    assert found.keys() == dict(model.named_parameters()).keys()


def test_log_probabilities_of_an_adaptive_softmax():
    task = toy_task(30)
    model = toy_of("transformer", task, adaptive_softmax_cutoff="8,16", decoder_embed_dim=16)
    net_output = model(**toy_batch(task, SOURCES, TARGETS)["net_input"])
    with torch.no_grad():
        expected = model.get_normalized_probs(net_output, log_probs=True)
    assert torch.allclose(log_probs(model, net_output), expected, atol=1e-5)
