"""ROUGE as the summarisation literature runs it: ROUGE-1.5.5 with fixed options.

The arbiter is the Perl script; where it cannot run, a Python implementation that
follows it to the last digit takes over, and the result says so. All scores are
percentages, as papers print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_perl, rouge_python
from wfe_plugin.evaluation.rouge_protocol import IMPLEMENTATIONS, PROTOCOLS, Estimate, Protocol


@dataclass(frozen=True)
class RougeResult:
    """Corpus and sentence scores of one system.

    ``scores["rouge-1"]["f1"]`` is an :class:`Estimate`, and
    ``sentence_scores["rouge-1"]["f1"]`` holds one percentage per sentence.
    """

    protocol: Protocol
    implementation: str
    note: str  # why the Perl script was not used; empty when it was, or was not wanted
    scores: dict[str, dict[str, Estimate]]
    sentence_scores: dict[str, dict[str, list[float]]]

    def headline(self, metric: str) -> Estimate:
        return self.scores[metric][self.protocol.headline]

    def headline_sentence_scores(self, metric: str) -> list[float]:
        return self.sentence_scores[metric][self.protocol.headline]


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    protocol: str = "gigaword",
    implementation: str = "auto",
) -> RougeResult:
    """Score hypotheses against one or more references for each.

    A text is one summary, taken as one sentence; line breaks count as spaces.
    An empty hypothesis scores zero. ``implementation`` is "perl", "python", or
    "auto" for Perl where it can run and Python elsewhere.
    """
    if protocol not in PROTOCOLS:
        raise UserError(f"unknown protocol {protocol!r}: choose from {', '.join(PROTOCOLS)}")
    if implementation not in IMPLEMENTATIONS:
        raise UserError(f"unknown implementation {implementation!r}: choose from {', '.join(IMPLEMENTATIONS)}")
    _check_texts(hypotheses, references)
    obstacle = "" if implementation == "python" else rouge_perl.obstacle()
    if implementation == "perl" and obstacle:
        raise UserError(f"ROUGE-1.5.5 in Perl cannot run: {obstacle}")
    use_python = implementation == "python" or obstacle
    backend = rouge_python if use_python else rouge_perl
    hypotheses = [_as_one_line(text) for text in hypotheses]
    references = [[_as_one_line(text) for text in texts] for texts in references]
    scores, sentence_scores = backend.score(hypotheses, references, PROTOCOLS[protocol].byte_limit)
    return RougeResult(
        protocol=PROTOCOLS[protocol],
        implementation=backend.name(),
        note=f"ROUGE-1.5.5 in Perl could not run: {obstacle}" if obstacle else "",
        scores=scores,
        sentence_scores=sentence_scores,
    )


def _as_one_line(text: str) -> str:
    return text.replace("\n", " ")


def _check_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses but references for {len(references)} sentences: "
            "give one list of references for every hypothesis"
        )
    if not hypotheses:
        raise UserError("nothing to score: give at least one hypothesis")
    for number, texts in enumerate(references, start=1):
        if isinstance(texts, str) or not texts:
            raise UserError(f"sentence {number}: expected a list of one or more references, got {texts!r}")
