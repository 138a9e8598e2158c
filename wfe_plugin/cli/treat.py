"""``wfe-treat``: what was done to the training text, done to other text or undone."""

import argparse
import sys
from collections.abc import Sequence
from typing import Optional

from wfe_plugin import standard_streams
from wfe_plugin.cli.common import Parser, run
from wfe_plugin.errors import UserError

EPILOG = """\
examples:
  wfe-treat apply prepared --side source < raw.txt > for-the-model.txt
  wfe-treat undo prepared < from-the-model.txt > summaries.txt
  wfe-treat plain prepared < references.txt > comparable-references.txt

Each command writes exactly one line per line that it reads.
"""


def build_parser() -> Parser:
    parser = Parser(
        "wfe-treat",
        description="Apply the treatment of a prepared data directory to new text, or undo it on model output.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("apply", "raw text to what the model reads"),
        ("undo", "model output to readable text"),
        ("plain", "raw references to what a perfect output would look like after undo"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("directory", metavar="DIR", help="directory made by wfe-preprocess")
        if name == "apply":
            command.add_argument("--side", choices=("source", "target"), default="source", help="default: %(default)s")
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = build_parser().parse_args(argv)
    return run("wfe-treat", lambda: treat(args))


def treat(args: argparse.Namespace) -> None:
    from wfe_plugin.pipeline.text import MAX_CHARACTERS, clean_lines
    from wfe_plugin.pipeline.treat import Treatment

    treatment = Treatment.load(args.directory)
    text = standard_streams.opened("input").buffer
    with standard_streams.output() as output:
        for number, line in enumerate(clean_lines(text, "<stdin>"), start=1):
            if len(line) > MAX_CHARACTERS:
                raise UserError(f"<stdin>:{number}: {len(line)} characters; at most {MAX_CHARACTERS} are allowed")
            treated = (
                treatment.apply(line, args.side) if args.command == "apply" else getattr(treatment, args.command)(line)
            )
            # Not as the terminal has it: the text for models is UTF-8.
            output.buffer.write(treated.encode("utf-8") + b"\n")


if __name__ == "__main__":
    sys.exit(main())
