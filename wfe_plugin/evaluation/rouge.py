"""ROUGE as the summarisation literature runs it: ROUGE-1.5.5 with fixed options.

The arbiter is the Perl script; where it cannot run, a Python implementation that
follows it to the last digit takes over, and the result says so. All scores are
percentages, as papers print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_files2rouge, rouge_perl, rouge_python
from wfe_plugin.evaluation.rouge_protocol import IMPLEMENTATIONS, PROTOCOLS, STEMMERS, Estimate, Protocol


@dataclass(frozen=True)
class RougeResult:
    """Corpus and sentence scores of one system.

    ``scores["rouge-1"]["f1"]`` is an :class:`Estimate`, and
    ``sentence_scores["rouge-1"]["f1"]`` holds one percentage per sentence.
    """

    protocol: Protocol
    implementation: str
    note: str  # why another implementation was not used, or how far this one is from ours; mostly empty
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
    stemmer: str | None = None,
) -> RougeResult:
    """Score hypotheses against one or more references for each.

    A text is one summary, taken as one sentence; line breaks count as spaces. An empty hypothesis
    scores zero.

    Args:
        implementation: "perl", "python", "files2rouge", or "auto" for Perl where it can run and Python elsewhere
        stemmer: "wordnet", as published with ROUGE-1.5.5 (default), or "porter", as files2rouge stems
    """
    for value, known in ((protocol, PROTOCOLS), (implementation, IMPLEMENTATIONS), (stemmer, (None, *STEMMERS))):
        if value not in known:
            raise UserError(f"{value!r}: choose one of: {', '.join(map(str, known))}")
    _check_texts(hypotheses, references)
    hypotheses = [_as_one_line(text) for text in hypotheses]
    references = [[_as_one_line(text) for text in texts] for texts in references]
    backend, note = _backend(implementation)
    default = "porter" if backend is rouge_files2rouge else "wordnet"
    limit = PROTOCOLS[protocol].byte_limit
    found = backend.score(hypotheses, references, limit, stemmer or default)
    if backend is rouge_files2rouge:
        note = rouge_files2rouge.cross_check(hypotheses, references, limit, found)
    name = backend.name() + (", Porter's stemmer alone" if stemmer == "porter" else "")
    return RougeResult(PROTOCOLS[protocol], name, note, *found)


def _backend(implementation: str) -> tuple[ModuleType, str]:
    """The module that scores, and why it is not the one that is preferred."""
    if implementation == "python":
        return rouge_python, ""
    if implementation == "files2rouge":
        if obstacle := rouge_files2rouge.obstacle():
            raise UserError(obstacle)
        return rouge_files2rouge, ""
    obstacle = rouge_perl.obstacle()
    if not obstacle:
        return rouge_perl, ""
    if implementation == "perl":
        raise UserError(f"ROUGE-1.5.5 in Perl cannot run: {obstacle}")
    return rouge_python, f"ROUGE-1.5.5 in Perl could not run: {obstacle}"


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
