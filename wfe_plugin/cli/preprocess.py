"""``wfe-preprocess``: text pairs to binarised fairseq data."""

import sys
from collections.abc import Sequence
from typing import Optional

from wfe_plugin import standard_streams
from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive

SIDES = ("source", "target")
EPILOG = """\
examples:
  wfe-preprocess --train data/train --valid data/valid --test data/test --out prepared \\
                --tokenize --lowercase --bpe joint --merges 8000
  wfe-preprocess --train-files train.article.txt train.title.txt \\
                --valid-files valid.article.filter.txt valid.title.filter.txt \\
                --test-files input.txt task1_ref0.txt --out gigaword --gigaword \\
                --source-threshold 5 --target-threshold 5 -- --dataset-impl mmap
  wfe-preprocess --train train.jsonl.gz --valid valid.jsonl --source-field body --target-field headline --out prepared
  wfe-preprocess --like prepared --test new/test --out new-test

Files may be compressed (.gz). Text that is already segmented, for example by SentencePiece, is left as
it is unless you give options that change it. Windows line ends and byte-order marks are accepted.

Output:
  - fairseq data with the languages "source" and "target"; several test sets are called test, test1,
    test2, ...
  - the BPE codes
  - treatment.json: everything that was done to the text
  - text/: the validation and test text as perfect summaries would look (the references)
Nothing appears under --out until everything has succeeded. wfe-treat applies the same treatment to
new text, and undoes it.

Training pairs with an empty or overlong side are dropped and reported. Such pairs of the validation
and test sets are only reported, so that line N of the output stays line N of the input. Lines of
more than 20,000 characters are cut.
"""


def build_parser() -> Parser:
    parser = Parser(
        "wfe-preprocess",
        fairseq=True,
        usage="%(prog)s --train PREFIX --valid PREFIX [--test PREFIX ...] --out DIR [options] [-- fairseq options]",
        description="Prepare text pairs, one text per line, for training and generation with fairseq.",
        epilog=EPILOG,
    )
    add_files(parser)
    add_treatment(parser)
    vocabulary = parser.add_argument_group("vocabulary and length")
    for side in SIDES:
        vocabulary.add_argument(
            f"--{side}-threshold",
            type=positive,
            default=1,
            metavar="N",
            help=f"{side} words (or BPE pieces) with fewer than N occurrences count as unknown (default: 1)",
        )
        vocabulary.add_argument(
            f"--{side}-vocab-size", type=positive, metavar="N", help=f"keep the N most frequent {side} words"
        )
    for side in SIDES:
        vocabulary.add_argument(
            f"--max-{side}-length",
            type=positive,
            default=1024,
            metavar="N",
            help=f"longest {side} text, in words or BPE pieces (default: %(default)s)",
        )

    running = parser.add_argument_group("running")
    running.add_argument("--workers", type=positive, default=1, metavar="N", help="parallel processes (default: 1)")
    running.add_argument("--overwrite", action="store_true", help="replace DIR if it exists")
    return parser


def add_files(parser: Parser) -> None:
    files = parser.add_argument_group("text")
    for name, several in (("train", None), ("valid", None), ("test", "+")):
        files.add_argument(
            f"--{name}",
            metavar="PREFIX",
            nargs=several,
            default=[] if several else None,
            help=f"{name} set{'s' if several else ''}: PREFIX.article and PREFIX.title, or one file of JSON lines (.jsonl)",
        )
        files.add_argument(
            f"--{name}-files",
            metavar=("SOURCE", "TARGET"),
            nargs=2,
            action="append",
            default=[],
            help="the same, with any two file names" + ("; can be repeated" if several else ""),
        )
    files.add_argument("--source-suffix", default="article", metavar="S", help="default: %(default)s")
    files.add_argument("--target-suffix", default="title", metavar="S", help="default: %(default)s")
    for side, default in zip(SIDES, ("article", "title")):
        files.add_argument(
            f"--{side}-field",
            default=default,
            metavar="NAME",
            help=f"{side} field of JSON lines (default: %(default)s)",
        )
    files.add_argument("--out", required=True, metavar="DIR", help="directory to create")

    files.add_argument(
        "--like",
        metavar="DIR",
        help="prepare new sets for an existing model: with the treatment, BPE and vocabulary of DIR",
    )


def add_treatment(parser: Parser) -> None:
    treatment = parser.add_argument_group("treatment (default: none; the text is taken as tokenized)")
    treatment.add_argument("--tokenize", action="store_true", help="tokenize raw text (Moses, by sacremoses)")
    treatment.add_argument(
        "--lang",
        default="en",
        metavar="L",
        help="language of the text, for --tokenize and for repeated content words (default: %(default)s)",
    )
    treatment.add_argument("--lowercase", action="store_true", help="convert to lower case")
    treatment.add_argument("--digits", action="store_true", help="replace each digit with #")
    treatment.add_argument(
        "--gigaword",
        action="store_true",
        help="Gigaword conventions: --lowercase --digits, and the word UNK becomes <unk>; "
        "with --tokenize if the text is raw",
    )
    treatment.add_argument(
        "--bpe",
        choices=("none", "joint", "separate"),
        default="none",
        help="learn BPE on the training text, for both sides together or for each by itself (default: none)",
    )
    treatment.add_argument("--merges", type=positive, metavar="N", help="BPE merges (default: 8000)")


def main(argv: Optional[Sequence[str]] = None) -> int:
    parser = build_parser()
    own, fairseqs = parser.parse_both(sys.argv[1:] if argv is None else argv)

    def work() -> None:
        from wfe_plugin.pipeline.preprocess import preprocess
        from wfe_plugin.pipeline.preprocess_options import PreprocessOptions

        options = PreprocessOptions(**vars(own), fairseq_options=fairseqs)
        parser.check(options.validate)
        preprocess(options, say)

    return run("wfe-preprocess", work, interrupted="nothing was written")


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"preprocess: {message}")


if __name__ == "__main__":
    sys.exit(main())
