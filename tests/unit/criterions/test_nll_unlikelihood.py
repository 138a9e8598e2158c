"""Unlikelihood as a criterion: added to the losses of nll_wfe."""

import pytest
from fairseq.logging import metrics
from omegaconf import OmegaConf

from helpers.literal_scores import literal_unlikelihood
from helpers.toy import stock_lstm, toy_batch, toy_model, toy_task
from wfe_plugin.criterions.nll_unlikelihood import NLLWithUnlikelihoodConfig, NLLWithUnlikelihoodCriterion
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.method.unlikelihood import LEAST


@pytest.mark.parametrize(
    "build", [lambda task: toy_model(task, 1), lambda task: toy_model(task, 1, without_wfe=True), stock_lstm]
)
def test_its_loss_is_added_to_the_others(build):
    task = toy_task(8)
    model = build(task)
    batch = toy_batch(task, [[4, 5, 6], [7], [8, 9, 10, 11]], [[4, 5, 4], [7], [8, 8]])
    plain, size, plain_log = NLLWithWFECriterion(task)(model, batch)
    lprobs = model.get_normalized_probs(model(**batch["net_input"]), log_probs=True)
    pairs = zip(lprobs.tolist(), batch["target"].tolist())
    expected = sum(literal_unlikelihood(*pair, task.target_dictionary.pad(), LEAST) for pair in pairs)
    for weight in (0.0, 0.5, 1.0):
        criterion = NLLWithUnlikelihoodCriterion(task, unlikelihood_weight=weight)
        loss, same_size, log = criterion(model, batch)
        loss.backward()
        assert loss.item() == pytest.approx(plain.item() + weight * expected, rel=1e-4)
        assert log["unlikelihood_loss"].item() == pytest.approx(expected, rel=1e-4)
        assert log["nll_loss"].item() == pytest.approx(plain_log["nll_loss"].item())
        assert ("wfe_loss" in log) == ("wfe_loss" in plain_log)
        assert size == same_size


def test_logged_a_sentence():
    logs = [dict(loss=9.0, nll_loss=5.0, unlikelihood_loss=4.0, ntokens=4, nsentences=n, sample_size=n) for n in (1, 3)]
    with metrics.aggregate(new_root=True) as aggregator:
        NLLWithUnlikelihoodCriterion.reduce_metrics(logs)
    assert aggregator.get_smoothed_values()["unlikelihood_loss"] == 2.0


def test_built_from_options():
    options = OmegaConf.structured(NLLWithUnlikelihoodConfig(unlikelihood_weight=0.3, wfe_weight=2.0))
    criterion = NLLWithUnlikelihoodCriterion.build_criterion(options, toy_task(8))
    assert criterion.unlikelihood_weight == 0.3 and criterion.wfe_weight == 2.0
