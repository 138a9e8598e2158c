"""``wfe-evaluate``: ROUGE and repetition of one system, or of two and their difference."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wfe_plugin import standard_streams, whole_files
from wfe_plugin.evaluation.errors import EvaluationError
from wfe_plugin.evaluation.repetition import Repetition, repetition
from wfe_plugin.evaluation.rouge import IMPLEMENTATIONS, RougeResult, rouge
from wfe_plugin.evaluation.rouge_protocol import MEASURES, METRICS, PROTOCOLS
from wfe_plugin.evaluation.significance import PairedDifference, paired_bootstrap
from wfe_plugin.evaluation.text_files import read_parallel
from wfe_plugin.pipeline.errors import told

DESCRIPTION = """\
Score summaries as the literature does, and show how much they repeat themselves
beside how much the references do.

protocols:
  gigaword   full-length F1 (ROUGE-1.5.5 -m -n 2 -w 1.2 -a)
  duc2004    recall at 75 bytes (ROUGE-1.5.5 -m -b 75 -n 2 -w 1.2 -a)
"""
EPILOG = """\
Every file holds one summary a line, in the same order. Scores are percentages.
ROUGE-1.5.5 prints the mean of its bootstrap resamples, the difference of two systems
is one of plain means: it may be some hundredths off the difference of the scores.

example:
  wfe-evaluate --protocol duc2004 --references ref0.txt ref1.txt ref2.txt ref3.txt \\
      --hypotheses wfe.txt --versus baseline.txt --json scores.json
"""
REPETITION_ROWS = {
    "any_word": "outputs repeating any word, %",
    "content_word": "... a content word, %",
    "bigram": "... a bigram, %",
    "rep_1": "rep-1: repeated words, %",
    "rep_2": "rep-2: repeated bigrams, %",
    "mean_length": "words per output",
}


@dataclass(frozen=True)
class System:
    """One file of hypotheses and what was measured of it."""

    file: str
    empty_lines: int
    rouge: RougeResult
    repetition: Repetition


@dataclass(frozen=True)
class Evaluation:
    """Everything that is reported, for people or for programs."""

    systems: list[System]
    reference_files: list[str]
    reference_repetition: Repetition
    empty_references: int
    differences: dict[str, PairedDifference]  # by metric; empty for a single system


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wfe-evaluate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--protocol", required=True, choices=list(PROTOCOLS))
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        metavar="REF",
        help="one file for each reference that a sentence has",
    )
    parser.add_argument("--hypotheses", required=True, metavar="HYP", help="the system's output")
    parser.add_argument(
        "--versus",
        metavar="OTHER_HYP",
        help="another system's output: shows the differences and whether they are significant",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON; - for standard output, alone")
    parser.add_argument(
        "--rouge",
        default="auto",
        choices=IMPLEMENTATIONS,
        help="auto (default): the Perl script where it can run, else Python",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    standard_streams.show_any_text()
    try:
        inputs = [*options.references, options.hypotheses, *filter(None, [options.versus])]
        refuse_to_replace(options.json, inputs)
        evaluation = evaluate(options)
        show(as_table(evaluation), as_dictionary(evaluation), options.json)
    except (EvaluationError, OSError) as error:  # OSError: no room for temporary files
        print(f"wfe-evaluate: error: {told(error)}", file=sys.stderr)
        return 1
    return 0


def refuse_to_replace(target: str | None, inputs: Iterable[str | Path]) -> None:
    """Results must not take the place of what they were made from."""
    for path in inputs:
        if target and os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path):
            raise EvaluationError(f"--json {target}: is what is to be read; name another file")


def show(table: str, content: dict, target: str | None) -> None:
    """Results for people, for programs or both, as --json says."""
    if target != "-":
        with standard_streams.output() as output:
            print(table, file=output)
    if target:
        write_json(content, target)


def evaluate(options: argparse.Namespace) -> Evaluation:
    hypothesis_files = [options.hypotheses] + ([options.versus] if options.versus else [])
    # References first: a file of the wrong length is measured against them.
    texts = read_parallel([*options.references, *hypothesis_files])
    reference_texts = texts[: len(options.references)]
    references = list(zip(*reference_texts))
    all_references = [text for lines in reference_texts for text in lines]
    systems = [
        System(
            file=file,
            empty_lines=_count_empty(hypotheses),
            rouge=rouge(hypotheses, references, options.protocol, options.rouge),
            repetition=repetition(hypotheses),
        )
        for file, hypotheses in zip(hypothesis_files, texts[len(options.references) :])
    ]
    differences = {}
    if options.versus:
        for metric in METRICS:
            first, second = (system.rouge.headline_sentence_scores(metric) for system in systems)
            differences[metric] = paired_bootstrap(first, second)
    return Evaluation(
        systems=systems,
        reference_files=options.references,
        reference_repetition=repetition(all_references),
        empty_references=_count_empty(all_references),
        differences=differences,
    )


def _count_empty(lines: Sequence[str]) -> int:
    return sum(not line.strip() for line in lines)


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
    return "\n".join(lines + ["", *_repetition_rows(evaluation)])


def _notes(evaluation: Evaluation) -> list[str]:
    note = evaluation.systems[0].rouge.note
    notes = [note] if note else []
    for system in evaluation.systems:
        if system.empty_lines:
            notes.append(f"{system.file} has {system.empty_lines} empty line(s), which score 0")
    if evaluation.empty_references:
        notes.append(f"{evaluation.empty_references} reference line(s) are empty: nothing matches")
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


def _repetition_rows(evaluation: Evaluation) -> list[str]:
    labels = ["system", "other"][: len(evaluation.systems)] + ["references"]
    columns = [system.repetition for system in evaluation.systems]
    columns.append(evaluation.reference_repetition)
    rows = ["repetition" + " " * 22 + "".join(f"{label:>12}" for label in labels)]
    for field, label in REPETITION_ROWS.items():
        values = "".join(f"{getattr(column, field):>12.2f}" for column in columns)
        rows.append(f"  {label:30}{values}")
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
            }
            for system in evaluation.systems
        ],
        "references": {
            "files": evaluation.reference_files,
            "repetition": asdict(evaluation.reference_repetition),
        },
        "differences": {metric: asdict(result) for metric, result in evaluation.differences.items()},
    }


def write_json(content: dict, target: str) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if target == "-":
        with standard_streams.output() as output:
            # JSON is UTF-8, whatever the terminal's encoding is.
            output.buffer.write(text.encode("utf-8", "backslashreplace"))
        return
    path = Path(target)
    try:
        if path.exists() and not path.is_file():  # such as /dev/stderr
            path.write_text(text, encoding="utf-8")
        else:
            whole_files.write_text(path, text)
    except OSError as error:
        raise EvaluationError(
            f"{target}: cannot be written ({error.strerror}). Name a file in a directory that exists and is writable."
        ) from None


if __name__ == "__main__":
    sys.exit(main())
