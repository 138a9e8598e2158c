"""``wfe-explain``: why a model said what it said."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from wfe_plugin.cli.common import Parser, add_input_fields, run
from wfe_plugin.errors import UserError
from wfe_plugin.method.word_budgets import WordBudgets
from wfe_plugin.pipeline.options import positive
from wfe_plugin.whole_files import write_text

EPILOG = """\
examples:
  wfe-explain --model model "The Bank of Japan said on Monday that it would keep interest rates unchanged."
  wfe-explain --model model --input articles.txt --html why.html
  wfe-explain --model model --json < articles.txt
  wfe-explain --model model --budget 'germany=0 pinochet=1 olympics=+' --input articles.txt
  wfe-explain --model model --serve

Budgets of whole words: 0: never; N: at most N times; +: must appear. With BPE, a word is forbidden in
all of its segmentations, but no piece that other words share.

For each text you see:
  - the words with the highest estimates: how often they may occur, how likely they are to occur at
    all, the share of training summaries that contain them, and what the mask adds to their
    log-probability
  - the summary word by word: its log-probability in the model alone, what each rule added, what was
    left of its budget, and the words that the model preferred
"""


def build_parser() -> Parser:
    parser = Parser("wfe-explain", description="Show why a model chose each word of a summary.", epilog=EPILOG)
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="raw text to summarize (default: standard input)")
    parser.add_argument("--model", required=True, help="directory made by wfe-train or wfe-export, or a checkpoint")
    parser.add_argument(
        "--data", metavar="DIR", help="directory made by wfe-preprocess (default: what the model was trained on)"
    )
    parser.add_argument("--input", metavar="FILE", help="read one text per line, instead of TEXT; - is standard input")
    add_input_fields(parser)
    parser.add_argument("--beam", type=positive, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--decoding", default="auto", help="as for wfe-generate (default: %(default)s)")
    parser.add_argument(
        "--out-of-source-penalty",
        type=float,
        default=0.0,
        metavar="X",
        help="lower the log-probability of words that are not in the source by X",
    )
    parser.add_argument("--word-cap", type=int, default=0, metavar="N", help="each word at most N times")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--html", metavar="FILE", help="write one self-contained page")
    shape.add_argument("--json", action="store_true", help="one JSON object per line")
    shape.add_argument("--serve", action="store_true", help="serve a playground on 127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port of --serve (default: %(default)s)")
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = build_parser().parse_args(argv)
    return run("wfe-explain", lambda: work(args))


def work(args: argparse.Namespace) -> None:
    import wfe_plugin

    wfe_plugin.register()
    from wfe_plugin.pipeline import explanation_page
    from wfe_plugin.pipeline.explain import explain
    from wfe_plugin.pipeline.inputs import read_inputs
    from wfe_plugin.pipeline.summarizer import Summarizer

    if args.texts and args.input:
        raise UserError("--input: give either a file or texts, not both")
    summarizer = Summarizer(args.model, data=args.data)
    if args.serve:
        return serve(summarizer, args.port)
    texts, budgets = args.texts, []
    if not texts:
        texts, budgets = read_inputs(args.input or "-", args.text_field, args.budget_field)
    own = WordBudgets.of(args.budget)
    found = explain(
        summarizer,
        texts,
        args.beam,
        args.decoding,
        [own.updated(budget) for budget in budgets] if budgets else own,
        out_of_source_penalty=args.out_of_source_penalty,
        word_cap=args.word_cap,
    )
    if args.html:
        write_text(Path(args.html), explanation_page.page(found))
        print(f"{args.html}: {len(found)} explanations")
    for explanation in () if args.html else found:
        print(explanation.as_line() if args.json else explanation_page.text(explanation))


def serve(summarizer, port: int) -> None:
    from wfe_plugin.pipeline.playground import make_server

    with make_server(summarizer, port) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
