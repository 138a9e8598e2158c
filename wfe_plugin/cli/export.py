"""``wfe-export``: a directory with everything that a model needs to decode, and nothing else."""

import sys
from collections.abc import Sequence
from typing import Optional

import wfe_plugin
from wfe_plugin import standard_streams
from wfe_plugin.cli.common import Parser, run

EPILOG = """\
example:
  wfe-export models/wfe --out exported --scores summaries/scores.json

The directory holds model.pt (weights without optimizer state, and the calibration),
dict.source.txt and dict.target.txt, the BPE codes, treatment.json, and a model card in README.md.
Give it to wfe-generate and wfe_plugin.Summarizer as the model, or to fairseq's commands as the data
with DIR/model.pt as --path. You can move and copy it. It needs no other files.
"""


def build_parser() -> Parser:
    parser = Parser("wfe-export", description="Write a model as one self-contained directory.", epilog=EPILOG)
    parser.add_argument("model", metavar="MODEL", help="directory made by wfe-train, or a checkpoint")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory to create")
    parser.add_argument(
        "--data", metavar="DIR", help="directory made by wfe-preprocess (default: what the model was trained on)"
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="FILE",
        help="scores for the model card: scores.json of wfe-generate, or a file of wfe-evaluate --json",
    )
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = build_parser().parse_args(argv)

    def work() -> None:
        wfe_plugin.register()
        from wfe_plugin.pipeline.export import export

        export(**vars(args))
        standard_streams.say(f"export: done: {args.out}")

    return run("wfe-export", work, "nothing was written")


if __name__ == "__main__":
    sys.exit(main())
