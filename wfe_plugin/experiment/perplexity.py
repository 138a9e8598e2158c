"""How likely a model finds given summaries: of outputs under EncDec, a measure of fluency."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from fairseq import checkpoint_utils, utils
from fairseq.data import LanguagePairDataset
from fairseq.sequence_scorer import SequenceScorer

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.treat import Treatment

BATCH = 64


def perplexities(
    model: str | Path, data: str | Path, split: str, outputs: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Perplexity per word of several lists of summaries of the same set, by name.

    exp(-(sum of log p(output | source)) / (words + outputs)): the end of each summary counts as a
    word. Words are those between blanks, not pieces, so that segmentations can be compared. A word
    that the vocabulary lacks has the probability of the unknown word.

    Args:
        model: a checkpoint, or the directory of a trained model; its estimate is not used
        data: directory that `wfe-preprocess` made
        split: the set that was summarised
        outputs: finished summaries, one for each sentence of the set
    """
    path = Path(model)
    path = path / checkpoints.BEST if path.is_dir() else path
    (network,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], arg_overrides={"data": str(data)})
    network.eval()
    if torch.cuda.is_available():
        network.cuda()
    task.load_dataset(split)
    treatment = Treatment.load(data)
    return {
        name: _perplexity(
            network, task, task.dataset(split), [treatment.apply(_plain(text), "target") for text in texts]
        )
        for name, texts in outputs.items()
    }


def _plain(text: str) -> str:
    """Only blanks between words, as in the text that models are trained on."""
    return " ".join(text.split())


@torch.no_grad()
def _perplexity(network, task, pairs, targets: Sequence[str]) -> float:
    if len(targets) != len(pairs):
        raise UserError(f"{len(targets)} summaries for {len(pairs)} sentences: give one per sentence")
    words = sum(len(_whole_words(line)) for line in targets) + len(targets)
    encoded = [task.target_dictionary.encode_line(line, add_if_not_exist=False).long() for line in targets]
    scored = LanguagePairDataset(
        pairs.src,
        pairs.src_sizes,
        pairs.src_dict,
        encoded,
        [len(line) for line in encoded],
        task.target_dictionary,
        left_pad_source=pairs.left_pad_source,
        left_pad_target=pairs.left_pad_target,
        shuffle=False,
    )
    scorer = SequenceScorer(task.target_dictionary)
    total = 0.0
    for batch in task.get_batch_iterator(scored, max_sentences=BATCH).next_epoch_itr(shuffle=False):
        batch = utils.move_to_cuda(batch) if torch.cuda.is_available() else batch
        total += sum(float(best["positional_scores"].sum()) for (best,) in scorer.generate([network], batch))
    return math.exp(-total / words)


def _whole_words(line: str) -> list[str]:
    """The words of a segmented line: a piece that ends in "@@" is no end of a word."""
    return [piece for piece in line.split() if not piece.endswith("@@")]
