"""The best epoch of a training by ROUGE on the validation set: wfe-train --best-by rouge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.display import say
from wfe_plugin.pipeline.protocols import protocol_of
from wfe_plugin.pipeline.validation import ValidationPairs, judge
from wfe_plugin.whole_files import write_json

if TYPE_CHECKING:
    from wfe_plugin.pipeline.training import Training

SCORES = "rouge.json"
PAIRS = 2000  # of a large validation set: decoding takes longer than validation
BEAM = 5


def best_by_rouge(training: Training, epochs: list[Epoch]) -> int:
    """The number of the epoch with the best mean F1; epochs that were decoded before are not decoded again."""
    training.data.check_unchanged()
    mode = "off" if training.baseline else "full"
    arguments = ["--cpu"] if training.options.on_cpu else []
    if training.options.threads:
        torch.set_num_threads(training.options.threads)
    scores = read_scores(training.out / SCORES)
    for epoch in epochs:
        if str(epoch.number) in scores:
            continue
        pairs = ValidationPairs(epoch.path, training.data.directory, "valid", PAIRS, arguments)
        score = judge(pairs.summarize(beam=BEAM, wfe_decoding=mode), pairs.references, protocol_of("f1")).score
        scores[str(epoch.number)] = score
        write_json(training.out / SCORES, scores)
        say(f"epoch {epoch.number}: mean ROUGE F1 {score:.2f} on {len(pairs.references)} validation pairs")
    return max((epoch.number for epoch in epochs), key=lambda number: scores[str(number)])


def read_scores(path: Path) -> dict[str, float]:
    """By epoch, as far as they are known."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
