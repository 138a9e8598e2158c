"""``wfe-evaluate``: ROUGE and repetition of one system, or of two and their difference."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from wfe_plugin.cli.common import Parser, run, show
from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import IMPLEMENTATIONS, PROTOCOLS, STEMMERS

DESCRIPTION = """\
Score summaries as the literature does, and compare how much they repeat themselves
with how much the references do.

protocols:
  gigaword   full-length F1 (ROUGE-1.5.5 -m -n 2 -w 1.2 -a)
  duc2004    recall at 75 bytes (ROUGE-1.5.5 -m -b 75 -n 2 -w 1.2 -a)
"""
EPILOG = """\
Each file has one text per line, in the same order. Scores are percentages.

files2rouge scores slightly lower than ROUGE-1.5.5 as published because it stems only by Porter's
rules; --stemmer porter reproduces its figures. ROUGE-1.5.5 reports the mean of its bootstrap
resamples. The difference of two systems is that of their plain means, so it may be off by a few
hundredths.

example:
  wfe-evaluate --protocol duc2004 --references ref0.txt ref1.txt ref2.txt ref3.txt \\
      --hypotheses wfe.txt --versus baseline.txt --json scores.json
"""


def build_parser() -> Parser:
    parser = Parser("wfe-evaluate", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--protocol", required=True, choices=list(PROTOCOLS))
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        metavar="REF",
        help="one file per reference",
    )
    parser.add_argument("--hypotheses", required=True, metavar="HYP", help="the system's output")
    parser.add_argument(
        "--versus",
        metavar="OTHER_HYP",
        help="another system's output: shows the differences and whether they are significant",
    )
    parser.add_argument(
        "--sources",
        metavar="FILE",
        help="the source texts: shows how many words were copied, and how many were invented",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON; - prints only JSON")
    parser.add_argument(
        "--rouge",
        default="auto",
        choices=IMPLEMENTATIONS,
        help="auto (default): the Perl script where it can run, else Python; files2rouge: an installed copy",
    )
    parser.add_argument(
        "--stemmer",
        choices=STEMMERS,
        help="wordnet (default): as published with ROUGE-1.5.5; porter: only Porter's rules, as in files2rouge",
    )
    parser.add_argument(
        "--lang",
        default="en",
        help="language of the texts, for repeated content words (default: %(default)s; known: de, en, es, fr)",
    )
    return parser


def refuse_to_replace(target: str | None, inputs: Sequence[str]) -> None:
    """Results must not take the place of what they were made from."""
    for path in inputs:
        if target and os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path):
            raise UserError(f"--json {target}: is one of the files to read; name another file")


def evaluate(options: argparse.Namespace) -> None:
    from wfe_plugin.evaluation.evaluate import as_dictionary, as_table, evaluate_files

    systems = [options.hypotheses, *([options.versus] if options.versus else [])]
    refuse_to_replace(options.json, [*options.references, *systems, *filter(None, [options.sources])])
    found = evaluate_files(
        options.references,
        systems,
        options.protocol,
        options.rouge,
        options.sources,
        options.stemmer,
        options.lang,
    )
    show(as_table(found), as_dictionary(found), options.json)


def main(argv: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    return run("wfe-evaluate", lambda: evaluate(options))


if __name__ == "__main__":
    sys.exit(main())
