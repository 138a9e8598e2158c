"""What the summaries of one system are worth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from wfe_plugin.evaluation.repetition import repetition
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.text_files import read_lines, read_parallel
from wfe_plugin.experiment.config import TestSet
from wfe_plugin.experiment.steps import StepError
from wfe_plugin.pipeline.treat import Treatment

# What `evaluate` finds, by name.
FACTS = ("implementation", "note", "rouge", "sentences", "repetition")


def read_references(test: TestSet, data: Path) -> list[list[str]]:
    """The references of each sentence, in the shape that finished summaries have."""
    targets = data / "text" / f"{test.split}.target"
    if not test.references:
        return [[line] for line in read_lines(targets)]
    treatment = Treatment.load(data)
    # Beside the targets, so that a file of another length is noticed.
    _, *texts = read_parallel([targets, *test.references])
    return [[treatment.plain(line) for line in lines] for lines in zip(*texts)]


def evaluate(summaries: Path, references: list[list[str]], protocol: str) -> dict:
    """ROUGE, by sentence as well, and repetition, as JSON values."""
    lines = read_lines(summaries)
    if len(lines) != len(references):
        raise StepError(
            f"{summaries}: {len(lines)} summaries of {len(references)} sentences; remove {summaries.parent}, "
            "and the same command decodes again"
        )
    result = rouge(lines, references, protocol)
    return {
        "implementation": result.implementation,
        "note": result.note,
        "rouge": {metric: result.headline(metric)._asdict() for metric in METRICS},
        "sentences": {metric: result.headline_sentence_scores(metric) for metric in METRICS},
        "repetition": asdict(repetition(lines)),
    }
