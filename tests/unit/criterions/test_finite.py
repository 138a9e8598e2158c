"""Losses that are no numbers: which they are, and of which pairs."""

import math

import pytest
import torch

from helpers.toy import toy_batch, toy_model, toy_task
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.errors import UserError

ALL = r"3 of the 3 pairs of a batch \(numbers from 0: 0, 1, 2\)"


@pytest.mark.parametrize(
    "options, change, losses, pairs",
    [
        ({}, lambda model: model.encoder.embed_tokens.weight.fill_(math.nan),
         "nll_loss is nan, wfe_loss is nan, loss is nan", ALL),
        ({}, lambda model: model.wfe_head.frequency_output.weight.fill_(math.nan),
         "nll_loss is [0-9.]+, wfe_loss is nan", ALL),
        # Word 7 is in the second source only.
        ({}, lambda model: model.encoder.embed_tokens.weight[7].fill_(math.nan),
         "nll_loss is nan", r"1 of the 3 pairs of a batch \(numbers from 0: 1\)"),
        # Finite estimates, with a square beyond float32: any of the pairs may have caused it.
        ({}, lambda model: model.wfe_head.frequency_output.weight.mul_(1e25),
         "nll_loss is [0-9.]+, wfe_loss is inf", ALL),
        (dict(without_wfe=True), lambda model: model.decoder.embed_tokens.weight.fill_(math.nan),
         "^nll_loss is nan, loss is nan", ALL),
    ],
)  # fmt: skip
def test_told(options, change, losses, pairs):
    task = toy_task(8)
    model = toy_model(task, **options)
    with torch.no_grad():
        change(model)
    batch = toy_batch(task, [[4, 5, 6], [7], [8, 9, 10, 11]], [[4, 5, 4], [7], [8, 8]])
    with pytest.raises(UserError, match=f"{losses}.*{pairs}.*smaller --lr"):
        NLLWithWFECriterion(task)(model, batch)
