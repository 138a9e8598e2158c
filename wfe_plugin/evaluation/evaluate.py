"""One system, or two and their difference: everything that ``wfe-evaluate`` measures and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wfe_plugin.evaluation.grounding import Grounding, grounding
from wfe_plugin.evaluation.repetition import Repetition, repetition
from wfe_plugin.evaluation.rouge import RougeResult, rouge
from wfe_plugin.evaluation.rouge_protocol import MEASURES, METRICS
from wfe_plugin.evaluation.significance import PairedDifference, paired_bootstrap
from wfe_plugin.evaluation.text_files import read_parallel

REPETITION_ROWS = {
    "any_word": "outputs repeating any word, %",
    "content_word": "... a content word, %",
    "bigram": "... a bigram, %",
    "rep_1": "rep-1: repeated words, %",
    "rep_2": "rep-2: repeated bigrams, %",
    "mean_length": "words per output",
}
GROUNDING_ROWS = {
    "copied": "words copied from the source, %",
    "invented": "words in neither text, %",
}


@dataclass(frozen=True)
class System:
    """One file of hypotheses and what was measured of it."""

    file: str
    empty_lines: int
    rouge: RougeResult
    repetition: Repetition
    grounding: Grounding | None  # None without sources


NOTICEABLE = 0.01  # a share of words


@dataclass(frozen=True)
class Evaluation:
    """Everything that is reported, for people or for programs."""

    systems: list[System]
    reference_files: list[str]
    reference_repetition: Repetition
    reference_grounding: Grounding | None
    empty_references: int
    foreign_share: float  # of the references' words: those with letters that ROUGE-1.5.5 does not know, 0 to 1
    differences: dict[str, PairedDifference]  # by metric; empty for a single system


def evaluate_files(
    references: Sequence[str | Path],
    hypotheses: Sequence[str | Path],
    protocol: str = "gigaword",
    implementation: str = "auto",
    sources: str | Path | None = None,
    stemmer: str | None = None,
    lang: str = "en",
) -> Evaluation:
    """Measure one or two files of hypotheses, one summary per line, against files of references.

    Args:
        references: one file per reference
        hypotheses: the system's file, and perhaps another system's to compare it with
        protocol: one of `rouge_protocol.PROTOCOLS`
        implementation: one of `rouge_protocol.IMPLEMENTATIONS`
        sources: what was summarised; without it nothing is said of where words come from
        stemmer: one of `rouge_protocol.STEMMERS`
        lang: whose function words are no content words
    """
    # References first: a file of the wrong length is measured against them.
    files = [*references, *hypotheses, *([sources] if sources else [])]
    texts = read_parallel(files)
    reference_texts = texts[: len(references)]
    by_sentence = list(zip(*reference_texts))
    source_texts = texts[-1] if sources else None

    def grounded(outputs: Sequence[str]) -> Grounding | None:
        return grounding(outputs, source_texts, by_sentence) if source_texts else None

    systems = [
        System(
            file=str(file),
            empty_lines=_count_empty(lines),
            rouge=rouge(lines, by_sentence, protocol, implementation, stemmer),
            repetition=repetition(lines, lang),
            grounding=grounded(lines),
        )
        for file, lines in zip(hypotheses, texts[len(references) :])
    ]
    differences = {}
    if len(systems) == 2:
        for metric in METRICS:
            first, second = (system.rouge.headline_sentence_scores(metric) for system in systems)
            differences[metric] = paired_bootstrap(first, second)
    all_references = [text for lines in reference_texts for text in lines]
    return Evaluation(
        systems=systems,
        reference_files=[str(file) for file in references],
        reference_repetition=repetition(all_references, lang),
        reference_grounding=grounded(reference_texts[0]),
        empty_references=_count_empty(all_references),
        foreign_share=_share_of_foreign_words(all_references),
        differences=differences,
    )


def _count_empty(lines: Sequence[str]) -> int:
    return sum(not line.strip() for line in lines)


def _share_of_foreign_words(lines: Sequence[str]) -> float:
    words = [word for line in lines for word in line.split()]
    foreign = sum(any(character.isalpha() and not character.isascii() for character in word) for word in words)
    return foreign / max(1, len(words))


def as_table(evaluation: Evaluation) -> str:
    first = evaluation.systems[0].rouge
    protocol = first.protocol
    sentences = evaluation.systems[0].repetition.outputs
    lines = [
        f"protocol    {protocol.name}: {protocol.description}, options {protocol.options}",
        f"ROUGE by    {first.implementation}",
        f"data        {sentences} sentences, {len(evaluation.reference_files)} reference(s) each",
    ]
    lines += [f"note        {note}" for note in _notes(evaluation)]
    for system in evaluation.systems:
        lines += ["", f"{system.file}", *_rouge_rows(system.rouge)]
    if evaluation.differences:
        lines += ["", *_difference_rows(evaluation)]
    return "\n".join(lines + ["", *_measure_rows(evaluation)])


def _notes(evaluation: Evaluation) -> list[str]:
    note = evaluation.systems[0].rouge.note
    notes = [note] if note else []
    for system in evaluation.systems:
        if system.empty_lines:
            notes.append(f"{system.file} has {system.empty_lines} empty line(s), which score 0")
    if evaluation.empty_references:
        notes.append(f"{evaluation.empty_references} reference line(s) are empty: nothing matches")
    if evaluation.foreign_share > NOTICEABLE:
        notes.append(
            f"{100 * evaluation.foreign_share:.0f} % of the references' words have letters outside ASCII, which ROUGE-1.5.5 "
            "leaves out: it takes köln for k ln, and scores text in other scripts wrongly"
        )
    return notes


def _rouge_rows(result: RougeResult) -> list[str]:
    headline = result.protocol.headline
    others = [measure for measure in MEASURES if measure != headline]
    rows = [f"  {'':10}{headline:>8}   {'95% interval':<16}" + "".join(f"{m:>11}" for m in others)]
    for metric in METRICS:
        estimate = result.headline(metric)
        interval = f"[{estimate.low:.2f}, {estimate.high:.2f}]"
        rest = "".join(f"{result.scores[metric][m].value:>11.2f}" for m in others)
        rows.append(f"  {metric.upper():10}{estimate.value:>8.2f}   {interval:<16}{rest}")
    return rows


def _difference_rows(evaluation: Evaluation) -> list[str]:
    headline = evaluation.systems[0].rouge.protocol.headline
    rows = [
        " minus ".join(system.file for system in evaluation.systems)
        + f", {headline} (paired bootstrap over sentences)",
        f"  {'':10}{'':>8}   {'95% interval':<16}{'p':>11}",
    ]
    for metric, result in evaluation.differences.items():
        interval = f"[{result.low:+.2f}, {result.high:+.2f}]"
        numbers = f"{result.difference:>+8.2f}   {interval:<16}{result.p_value:>11.4f}"
        rows.append(f"  {metric.upper():10}{numbers}")
    return rows


def _measure_rows(evaluation: Evaluation) -> list[str]:
    """Repetition and, with sources, where words come from; a column for each system and the references."""
    labels = ["system", "other"][: len(evaluation.systems)] + ["references"]
    rows = ["repetition" + " " * 23 + "".join(f"{label:>12}" for label in labels)]

    def add(names: dict[str, str], columns: list) -> None:
        for field, label in names.items():
            values = [getattr(column, field) for column in columns]
            shown = "".join(f"{'-' if value is None else f'{value:.2f}':>12}" for value in values)
            rows.append(f"  {label:31}{shown}")

    add(REPETITION_ROWS, [*(system.repetition for system in evaluation.systems), evaluation.reference_repetition])
    if evaluation.reference_grounding:
        add(GROUNDING_ROWS, [*(system.grounding for system in evaluation.systems), evaluation.reference_grounding])
    return rows


def as_dictionary(evaluation: Evaluation) -> dict:
    first = evaluation.systems[0].rouge
    return {
        "protocol": first.protocol.name,
        "options": first.protocol.options,
        "headline": first.protocol.headline,
        "implementation": first.implementation,
        "notes": _notes(evaluation),
        "sentences": evaluation.systems[0].repetition.outputs,
        "systems": [
            {
                "file": system.file,
                "rouge": {
                    metric: {measure: estimate._asdict() for measure, estimate in by_measure.items()}
                    for metric, by_measure in system.rouge.scores.items()
                },
                "repetition": asdict(system.repetition),
                **_grounding(system.grounding),
            }
            for system in evaluation.systems
        ],
        "references": {
            "files": evaluation.reference_files,
            "repetition": asdict(evaluation.reference_repetition),
            **_grounding(evaluation.reference_grounding),
        },
        "differences": {metric: asdict(result) for metric, result in evaluation.differences.items()},
    }


def _grounding(found: Grounding | None) -> dict:
    return {"grounding": asdict(found)} if found else {}
