"""``wfe-generate``: a trained model and text to summaries."""

import argparse
import sys
from collections.abc import Sequence
from typing import Optional

import wfe_plugin
from wfe_plugin import standard_streams
from wfe_plugin.cli.common import Parser, add_input_fields
from wfe_plugin.cli.common import run as run_command
from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.pipeline.options import positive, refuse_managed

DECODINGS = ("auto", "full", "strict", "bound", "gate", "oracle", "off")

EPILOG = """\
examples:
  wfe-generate --model models/wfe --data prepared --out summaries
  wfe-generate --model models/wfe --input articles.txt --out summaries --beam 10 --nbest 10
  wfe-generate --model models/wfe --input - < articles.txt > summaries.txt
  wfe-generate --model models/wfe --input articles.jsonl.gz --text-field body --budget-field budget --out new
  wfe-generate --model models/wfe --data prepared --budget 'germany=0 olympics=+' --out corrected --explain
  wfe-generate --model a/checkpoint_best.pt:b/checkpoint_best.pt --data duc --split test1 \\
               --references ref0.txt ref1.txt ref2.txt ref3.txt --protocol duc2004 \\
               --out ensemble -- --unnormalized
  wfe-generate --model models/encdec --data prepared --out blocked -- --no-repeat-ngram-size 3

Output:
  summaries.txt    one summary per line, in the order of the input; BPE is undone, and text is
                   detokenized if the data were tokenized
  nbest.tsv        line number (from 1), rank, score and text; the score is log2 of the probability,
                   divided by the length unless you give -- --unnormalized
  generation.json  how the summaries were made
  scores.json      with references: as wfe-evaluate --json writes it
Summaries that were made in another way are replaced only with --overwrite. An empty line gives an
empty summary. Of an overlong text, only the beginning is summarized.

A binarized set is scored against its own summaries (DIR/text/SPLIT.target) unless you name other
references. To treat your own references as the data were treated:
  wfe-treat plain DIR < raw.txt > references.txt

Other ways to avoid repetition, after -- and with any --decoding:
  --no-repeat-ngram-size N           no sequence of N words twice
  --ignore-when-blocking 'WORD ...'  allow sequences with these words to repeat
  --word-cap N                       each word at most N times
  --repetition-penalty X             multiply the log-probability of earlier words by X (1 or more)
  --frequency-penalty X              subtract X for each earlier occurrence of the word
  --presence-penalty X               subtract X once if the word occurred
  --coverage-penalty B               prefer finished outputs whose attention covers the source
  --gnmt-length-penalty A            normalize scores of finished outputs by length as Wu et al. (2016) do
With BPE, words are pieces, written as in the dictionary (dict.target.txt).

For faster decoding with a large vocabulary and a model that estimates word frequencies, after --:
  --wfe-shortlist N                  search only the N words with the highest estimates for each sentence;
                                     scores are then approximate
"""

MANAGED = (
    "--path --gen-subset --input --buffer-size --beam --nbest --wfe-decoding --quiet --results-path --user-dir "
    "--task --source-lang --target-lang --skip-invalid-size-inputs-valid-test --distributed-world-size "
    "--distributed-rank --num-shards --shard-id --score-reference --model-overrides"
).split()


def build_parser() -> Parser:
    parser = Parser(
        "wfe-generate",
        fairseq=True,
        usage="%(prog)s --model MODEL (--data DIR [--split NAME] | --input FILE) --out DIR [options] "
        "[-- fairseq options]",
        description="Summarize a binarized set or raw text, and score the summaries.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--model",
        required=True,
        help="directory made by wfe-train or wfe-export, or a checkpoint; for an ensemble, several separated by colons",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="directory made by wfe-preprocess (default: what the model was trained on)"
    )
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--split", metavar="NAME", help="binarized set (default: test)")
    text.add_argument(
        "--input",
        metavar="FILE",
        help="raw text instead, one per line; .gz and JSON lines (.jsonl) too; - is standard input",
    )
    add_input_fields(parser)
    add_results(parser)
    parser.add_argument("--beam", type=positive, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--nbest", type=positive, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--decoding",
        choices=DECODINGS,
        default="auto",
        help="how to use the word-frequency estimate (default: as calibrated; off for models without one)",
    )
    parser.add_argument("--references", nargs="+", default=[], metavar="FILE", help="one file per reference")
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="gigaword", help="default: %(default)s")
    add_processes(parser)
    return parser


def add_results(parser: Parser) -> None:
    result = parser.add_mutually_exclusive_group()
    result.add_argument(
        "--out", metavar="DIR", help="directory for the summaries; - prints them (default with --input -)"
    )
    result.add_argument(
        "--time-only",
        type=positive,
        metavar="N",
        help="write nothing; measure the search on about N pairs of a binarized set",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace summaries in DIR that were made in another way"
    )
    parser.add_argument(
        "--explain",
        type=positive,
        nargs="?",
        const=20,
        default=0,
        metavar="N",
        help="write explanations.html and .jsonl about the first N texts (default: %(const)s), see wfe-explain",
    )


def add_processes(parser: Parser) -> None:
    running = parser.add_argument_group("several processes (docs/distributed.md)")
    running.add_argument(
        "--threads", type=positive, metavar="N", help="threads per process (default: torch's, shared by the processes)"
    )
    several = running.add_mutually_exclusive_group()
    several.add_argument(
        "--processes",
        type=positive,
        default=1,
        metavar="N",
        help="split the work over N processes, one per GPU or per core (default: 1)",
    )
    several.add_argument(
        "--part",
        metavar="I/N",
        help="decode only part I of N, from 1, into summaries.I-of-N.txt; run all parts as a job array and join them with cat",
    )


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and those for fairseq."""
    parser = build_parser()
    args, extra = parser.parse_both(argv)
    if args.nbest > args.beam:
        parser.error(f"--nbest {args.nbest} needs a --beam of at least {args.nbest}, not {args.beam}")
    for name in ("input", "part"):
        if args.time_only and getattr(args, name):
            parser.error(f"--time-only needs a binarised set: leave out --{name}")
    if args.time_only and args.processes > 1:
        parser.error("--time-only measures one process: leave out --processes")
    if not args.out and args.input == "-":
        args.out = "-"
    if not args.out and not args.time_only:
        parser.error("give --out or --time-only")
    if args.out == "-" and (args.explain or args.references or args.nbest > 1):
        parser.error("--explain, --references and --nbest need a directory for --out")
    if (args.part or args.processes > 1) and (args.explain or "-" in (args.input, args.out)):
        parser.error("--explain, standard input and standard output need one process: leave out --part and --processes")
    parser.check(lambda: refuse_managed(extra, MANAGED, "wfe-generate"))
    return args, extra


def run(args: argparse.Namespace, extra: Sequence[str]) -> None:
    wfe_plugin.register()
    from wfe_plugin.pipeline import generate, processes  # with torch and fairseq
    from wfe_plugin.pipeline.parts import Part

    values = {**vars(args), "part": args.part and Part.parse(args.part), "fairseq_options": extra}
    sentences, count = values.pop("time_only"), values.pop("processes")
    if sentences:
        generate.measure(generate.Request(**{**values, "out": ""}), sentences, say)
    elif count > 1:
        processes.generate(generate.Request(**values), count, say)
    else:
        generate.generate(generate.Request(**values), tell if args.out == "-" else say)


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"generate: {message}")


def tell(message: str) -> None:
    """The same, where summaries go to standard output."""
    print(f"generate: {message}", file=sys.stderr, flush=True)


def main(argv: Optional[Sequence[str]] = None) -> int:
    def work():
        run(*parse(sys.argv[1:] if argv is None else argv))

    return run_command("wfe-generate", work, "nothing was written")


if __name__ == "__main__":
    sys.exit(main())
