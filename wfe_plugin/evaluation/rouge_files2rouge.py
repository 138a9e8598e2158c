"""ROUGE-1.5.5 by an installed files2rouge, for scores to set beside other people's.

files2rouge (github.com/pltrdy/files2rouge) splits a summary into sentences at " .", cuts it off at "<",
as in "<unk>", refuses or drops empty lines, knows one reference only, and ends with status 0 when
it has not been set up. Here texts stay whole, lines stay where they are, and what is not a score
is an error.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_perl, rouge_python
from wfe_plugin.evaluation.rouge_protocol import METRICS

COMMAND = "files2rouge"
NO_WORD = "-"  # for an empty line: something that is not a word to ROUGE
# What would end a sentence: something that no text has. files2rouge puts a blank before it.
NEVER = "[end-of-sentence-that-never-occurs]"


def name() -> str:
    return f"files2rouge ({shutil.which(COMMAND)})"


def obstacle() -> str:
    """Say why it cannot run here and what to do; "" if it can."""
    if shutil.which(COMMAND) is None:
        return "files2rouge is not on the PATH; docs/evaluation.md says how to install it"
    return ""


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    byte_limit: int | None,
    stemmer: str = "porter",
) -> tuple[dict, dict]:
    """Return corpus estimates and sentence scores, by metric and measure."""
    if stemmer != "porter":
        raise UserError("files2rouge stems only by Porter's rules: choose the stemmer porter, or another ROUGE")
    if any(len(texts) > 1 for texts in references):
        raise UserError("files2rouge supports only one reference: give one, or choose another ROUGE")
    if any(f" {NEVER}" in text for text in (*hypotheses, *(text for (text,) in references))):
        raise UserError(f"a text contains {NEVER!r}, which files2rouge would take for the end of a sentence")
    # As by default, and the scores of each sentence.
    arguments = "-c 95 -r 1000 -n 2 -a -d" + (f" -b {byte_limit}" if byte_limit else "")
    with tempfile.TemporaryDirectory(prefix="files2rouge-") as directory:
        files = [Path(directory, side) for side in ("references", "summaries")]
        for file, texts in zip(files, ([text for (text,) in references], hypotheses)):
            file.write_text("".join(f"{_line(text)}\n" for text in texts), encoding="utf-8")
        # With "=", since argparse would take "-c" for an option of its own.
        command = [COMMAND, *map(str, files), "-e", NEVER, f"--args={arguments}"]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if process.returncode or "Average_F" not in process.stdout:
        said = (process.stderr.strip() or process.stdout.strip())[-500:]
        raise UserError(f"files2rouge gave no scores; is it set up as docs/evaluation.md says? Its output: {said}")
    scores, sentence_scores = rouge_perl.parse(process.stdout, len(hypotheses))
    return scores, _in_order(sentence_scores, len(hypotheses))


def _line(text: str) -> str:
    """What files2rouge reads whole; neither "<" nor NO_WORD is part of a word."""
    return text.replace("<", " ").strip() or NO_WORD


def _in_order(sentence_scores: dict, count: int) -> dict:
    """By sentence: files2rouge names files s.0.txt, s.1.txt, ... and ROUGE gets them sorted by name."""
    order = sorted(range(count), key=lambda number: f"s.{number}.txt")
    position = {number: place for place, number in enumerate(order)}
    return {
        metric: {measure: [values[position[number]] for number in range(count)] for measure, values in by.items()}
        for metric, by in sentence_scores.items()
    }


def cross_check(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], byte_limit: int | None, found: tuple[dict, dict]
) -> str:
    """How far our own ROUGE-1.5.5, with Porter's rules alone, is from what files2rouge found."""
    scores, sentences = rouge_python.score(hypotheses, references, byte_limit, "porter")
    theirs, their_sentences = found

    def furthest(measure: str, pairs) -> float:
        return max(abs(one - other) for metric in METRICS for one, other in pairs(metric, measure))

    measures = ("recall", "precision", "f1")
    of_sentences = max(furthest(m, lambda a, b: zip(sentences[a][b], their_sentences[a][b])) for m in measures)
    of_means = max(furthest(m, lambda a, b: [(scores[a][b].value, theirs[a][b].value)]) for m in measures)
    return (
        f"our own ROUGE-1.5.5 with --stemmer porter differs by at most {of_sentences:.3f} in the score of a sentence, "
        f"and by at most {of_means:.3f} in a mean over the resamples, which files2rouge draws in another order"
    )
