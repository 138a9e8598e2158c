"""The best epoch of a training by ROUGE on the validation set: train.sh --best-by rouge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.pipeline import checkpoints, decode
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.display import say
from wfe_plugin.pipeline.treat import Treatment
from wfe_plugin.whole_files import write_json

if TYPE_CHECKING:
    from wfe_plugin.pipeline.training import Training

SCORES = "rouge.json"
# Decoding takes longer than validation: of a large validation set, about so many pairs are decoded.
PAIRS = 2000


def best_by_rouge(training: Training, epochs: list[Epoch]) -> int:
    """The number of the epoch with the best mean F1; epochs that were decoded before are not decoded again."""
    training.data.check_unchanged()
    data = training.data.directory
    references = read_lines(data / "text" / "valid.target")
    treatment = Treatment.load(data)
    scores = read_scores(training.out / SCORES)
    for epoch in epochs:
        if str(epoch.number) in scores:
            continue
        found = decode.split(
            decode.Decoding(
                data=data,
                models=[epoch.path],
                mode="off" if training.baseline else "full",
                beam=5,
                threads=training.options.threads,
                any_length=not checkpoints.has_positions(checkpoints.load(epoch.path)),
                extra=["--cpu"] if training.options.on_cpu else [],
            ),
            "valid",
            parts=max(1, len(references) // PAIRS),
        )
        result = rouge(
            [treatment.undo(hypotheses[0].text) for hypotheses in found.values()],
            [[references[number]] for number in found],
        )
        score = sum(result.headline(metric).value for metric in METRICS) / len(METRICS)
        scores[str(epoch.number)] = score
        write_json(training.out / SCORES, scores)
        say(f"epoch {epoch.number}: mean ROUGE F1 {score:.2f} on {len(found)} validation pairs")
    return max((epoch.number for epoch in epochs), key=lambda number: scores[str(number)])


def read_scores(path: Path) -> dict[str, float]:
    """By epoch; empty if there is no such file, or it is damaged: then they are found anew."""
    try:
        return {
            str(int(number)): float(score) for number, score in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
