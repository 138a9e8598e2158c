"""The estimates of a trained model on a data set, for Table 4 of the paper."""

from __future__ import annotations

from pathlib import Path

import torch
from fairseq import checkpoint_utils, utils

import wfe_plugin
from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.confusion import FrequencyReport
from wfe_plugin.method.loss import true_frequencies
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.trained_on import check_vocabularies, data_directory

BATCH = 64  # sentences


def measure_frequencies(model_path: str, data: str, split: str = "test") -> FrequencyReport:
    """Compare a model's estimates with the true frequencies in a split.

    Args:
        model_path: a checkpoint, or the directory of a trained model
        data: directory of binarised data
        split: which of its sets
    """
    wfe_plugin.register()
    path = Path(model_path)
    if path.is_dir():
        path = path / checkpoints.BEST
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint")
    trained_on = data_directory(checkpoints.load(path))  # which says in plain words what is wrong with it
    if trained_on:
        check_vocabularies(path.absolute(), trained_on, Path(data))
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], arg_overrides={"data": str(data)})
    (model,) = models
    if getattr(model, "wfe_head", None) is None:
        raise UserError(f"{path}: this model estimates no frequencies (it has no WFE sub-model)")
    check_set(Path(data), split)
    task.load_dataset(split)
    model.eval()
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        model.cuda()
    words = word_columns(task.target_dictionary)
    report = FrequencyReport()
    batches = task.get_batch_iterator(
        task.dataset(split), max_sentences=BATCH, ignore_invalid_inputs=True
    ).next_epoch_itr(shuffle=False)
    with torch.no_grad():
        for batch in batches:
            batch = utils.move_to_cuda(batch) if use_cuda else batch
            estimate = model(**batch["net_input"])[1]["wfe"].whole()
            truth = true_frequencies(batch["target"], len(task.target_dictionary), task.target_dictionary.pad())
            report.add(estimate.a_hat[:, words], estimate.r_hat[:, words], truth[:, words])
    return report


def word_columns(dictionary) -> list[int]:
    """The words of a dictionary: all but fairseq's begin, padding and end. UNK is a word."""
    special = {dictionary.bos(), dictionary.pad(), dictionary.eos()}
    return [index for index in range(len(dictionary)) if index not in special]


def as_text(report: FrequencyReport) -> str:
    return "\n".join(
        [
            report.table(),
            "",
            f"{report.recall:8.2f} %  of the references' words are estimated to occur (recall)",
            f"{report.allowed_recall:8.2f} %  of them are allowed by the bound (budget above 0)",
            f"{report.mean_allowed_words:8.1f}    words are allowed in a sentence, of all words",
            f"{report.sentences:8}    sentences",
        ]
    )
