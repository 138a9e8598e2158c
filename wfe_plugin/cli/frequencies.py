"""``wfe-frequencies``: how well a model estimates frequencies (Table 4 of the paper)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from wfe_plugin.cli.common import Parser, run, show

DESCRIPTION = """\
Compare the word frequencies that a model estimates for a data set with those in the
references. The table counts the words of the references by true frequency and by estimate, rounded.
"""


def build_parser() -> Parser:
    parser = Parser("wfe-frequencies", description=DESCRIPTION)
    parser.add_argument("--model", required=True, help="a checkpoint, or a directory made by wfe-train")
    parser.add_argument("--data", required=True, metavar="DIR", help="directory made by wfe-preprocess")
    parser.add_argument("--split", default="test", help="binarized set (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON; - prints only JSON")
    return parser


def measure(options: argparse.Namespace) -> None:
    from wfe_plugin.experiment.frequencies import as_text, measure_frequencies

    report = measure_frequencies(options.model, options.data, options.split)
    show(as_text(report), report.as_dictionary(), options.json)


def main(argv: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    return run("wfe-frequencies", lambda: measure(options))


if __name__ == "__main__":
    sys.exit(main())
