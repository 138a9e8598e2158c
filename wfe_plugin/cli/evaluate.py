"""``wfe-evaluate``: ROUGE and repetition of one system, or of two and their difference."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from wfe_plugin import standard_streams, whole_files
from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.evaluate import Evaluation, as_dictionary, as_table, evaluate_files
from wfe_plugin.evaluation.rouge import IMPLEMENTATIONS
from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.pipeline.errors import told

DESCRIPTION = """\
Score summaries as the literature does, and show how much they repeat themselves
beside how much the references do.

protocols:
  gigaword   full-length F1 (ROUGE-1.5.5 -m -n 2 -w 1.2 -a)
  duc2004    recall at 75 bytes (ROUGE-1.5.5 -m -b 75 -n 2 -w 1.2 -a)
"""
EPILOG = """\
Every file holds one summary per line, in the same order. Scores are percentages.
ROUGE-1.5.5 prints the mean of its bootstrap resamples, the difference of two systems
is one of plain means: it may be some hundredths off the difference of the scores.

example:
  wfe-evaluate --protocol duc2004 --references ref0.txt ref1.txt ref2.txt ref3.txt \\
      --hypotheses wfe.txt --versus baseline.txt --json scores.json
"""


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
    parser.add_argument(
        "--sources",
        metavar="FILE",
        help="what was summarised: shows how many words were copied from it, and how many come from nowhere",
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
        inputs = [*options.references, options.hypotheses, *filter(None, [options.versus, options.sources])]
        refuse_to_replace(options.json, inputs)
        evaluation = evaluate(options)
        show(as_table(evaluation), as_dictionary(evaluation), options.json)
    except (UserError, OSError) as error:  # OSError: no room for temporary files
        print(f"wfe-evaluate: error: {told(error)}", file=sys.stderr)
        return 1
    return 0


def refuse_to_replace(target: str | None, inputs: Iterable[str | Path]) -> None:
    """Results must not take the place of what they were made from."""
    for path in inputs:
        if target and os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path):
            raise UserError(f"--json {target}: is what is to be read; name another file")


def show(table: str, content: dict, target: str | None) -> None:
    """Results for people, for programs or both, as --json says."""
    if target != "-":
        with standard_streams.output() as output:
            print(table, file=output)
    if target:
        write_json(content, target)


def evaluate(options: argparse.Namespace) -> Evaluation:
    return evaluate_files(
        options.references,
        [options.hypotheses, *([options.versus] if options.versus else [])],
        options.protocol,
        options.rouge,
        getattr(options, "sources", None),
    )


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
        raise UserError(
            f"{target}: cannot be written ({error.strerror}). Name a file in a directory that exists and is writable."
        ) from None


if __name__ == "__main__":
    sys.exit(main())
