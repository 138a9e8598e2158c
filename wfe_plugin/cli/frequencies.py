"""``wfe-frequencies``: how well a model estimates frequencies (Table 4 of the paper)."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Sequence
from pathlib import Path

from wfe_plugin import standard_streams
from wfe_plugin.cli.evaluate import refuse_to_replace, show
from wfe_plugin.evaluation.confusion import ESTIMATES, TRUE_COUNTS, FrequencyReport
from wfe_plugin.evaluation.errors import EvaluationError
from wfe_plugin.experiment.frequencies import measure_frequencies
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.errors import PipelineError, told

DESCRIPTION = """\
Compare the word frequencies that a model estimates for the sentences of a data set with
those in the references. The table counts the references' words by their true frequency and by
the estimate, rounded.
"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wfe-frequencies", description=DESCRIPTION)
    parser.add_argument("--model", required=True, help="a checkpoint, or the directory that train.sh made")
    parser.add_argument("--data", required=True, metavar="DIR", help="directory of binarised data")
    parser.add_argument("--split", default="test", help="which of its sets (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON; - for standard output, alone")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    standard_streams.show_any_text()
    try:
        refuse_to_replace(options.json, read_files(options))
        report = measure_frequencies(options.model, options.data, options.split)
        show(as_text(report), as_dictionary(report), options.json)
    except (EvaluationError, PipelineError, OSError) as error:
        print(f"wfe-frequencies: error: {told(error)}", file=sys.stderr)
        return 1
    return 0


def read_files(options: argparse.Namespace) -> list[Path]:
    model, data = Path(options.model), Path(options.data)
    return [model, model / checkpoints.BEST, *data.glob("dict.*"), *data.glob(f"{glob.escape(options.split)}.*")]


def as_text(report: FrequencyReport) -> str:
    return "\n".join(
        [
            report.table(),
            "",
            f"{report.recall:8.2f} %  of the references' words are estimated to occur (recall)",
            f"{report.allowed_recall:8.2f} %  of them are allowed by the bound (budget above 0)",
            f"{report.mean_allowed_words:8.1f}    words are allowed in a sentence, of all words",
            f"{report.sentences:8}    sentences",
        ]
    )


def as_dictionary(report: FrequencyReport) -> dict:
    return {
        "true_counts": list(TRUE_COUNTS),
        "estimates": list(ESTIMATES),
        "matrix": report.matrix.tolist(),
        "recall": report.recall,
        "allowed_recall": report.allowed_recall,
        "mean_allowed_words": report.mean_allowed_words,
        "sentences": report.sentences,
    }


if __name__ == "__main__":
    sys.exit(main())
