"""What the summaries of one system are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.grounding import grounding
from wfe_plugin.evaluation.repetition import repetition
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.text_files import read_lines, read_parallel
from wfe_plugin.experiment.plan import TestSet
from wfe_plugin.experiment.steps import fingerprint

# What `evaluate` finds, by name.
FACTS = ("implementation", "note", "rouge", "sentences", "repetition", "grounding")


@dataclass(frozen=True)
class Texts:
    """A test set in the shape that finished summaries have."""

    sources: list[str]
    references: list[list[str]]  # several for each sentence
    lang: str = "en"

    @property
    def identity(self) -> str:
        return fingerprint(self.references if self.lang == "en" else [self.lang, self.references])


def read_texts(test: TestSet, data: Path) -> Texts:
    targets = data / "text" / f"{test.split}.target"
    sources = read_lines(data / "text" / f"{test.split}.source")
    from wfe_plugin.pipeline.treat import Treatment, read_settings

    lang = read_settings(data).lang
    if not test.references:
        return Texts(sources, [[line] for line in read_lines(targets)], lang)
    treatment = Treatment.load(data)
    # Beside the targets, so that a file of another length is noticed.
    _, *texts = read_parallel([targets, *test.references])
    return Texts(sources, [[treatment.plain(line) for line in lines] for lines in zip(*texts)], lang)


def evaluate(summaries: Path, texts: Texts, protocols: Sequence[str]) -> dict:
    """ROUGE by each protocol, by sentence as well, repetition and where words come from, as JSON values."""
    lines = read_lines(summaries)
    if len(lines) != len(texts.references):
        raise UserError(
            f"{summaries}: {len(lines)} summaries for {len(texts.references)} sentences; remove {summaries.parent} "
            "and run the same command, which decodes again"
        )
    found = {protocol: rouge(lines, texts.references, protocol) for protocol in protocols}
    first = found[protocols[0]]
    return {
        "implementation": first.implementation,
        "note": first.note,
        "rouge": {
            protocol: {metric: result.headline(metric)._asdict() for metric in METRICS}
            for protocol, result in found.items()
        },
        "sentences": {
            protocol: {metric: result.headline_sentence_scores(metric) for metric in METRICS}
            for protocol, result in found.items()
        },
        "repetition": asdict(repetition(lines, texts.lang)),
        "grounding": asdict(grounding(lines, texts.sources, texts.references)),
    }
