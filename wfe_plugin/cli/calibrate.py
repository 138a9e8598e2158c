"""``wfe-calibrate``: choose how a trained model decodes, on a validation set."""

import sys
from collections.abc import Sequence
from typing import Optional

import wfe_plugin
from wfe_plugin import standard_streams
from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive, positive_number
from wfe_plugin.pipeline.protocols import protocol_of

EPILOG = """\
wfe-calibrate chooses three numbers and stores them in the model, where wfe-generate, fairseq-generate
and Python find them (--wfe-decoding auto):
  - the weight of the estimated probability that a word occurs
  - how much of the word's base rate is taken out of it
  - a reward per word, which makes outputs longer (for the paper's estimators: only this)
It takes the numbers with the best mean of ROUGE-1, -2 and -L on the validation set. A mean length
more than 10 % off the references' costs points. Of choices within 0.3 points, it takes the one that
trusts the source most.

--rule tunes the rule without training instead, for any model: a cap of one per word, a penalty on
words that are not in the source, and the reward. It stores nothing. The last line on standard output
has the options for wfe-generate (after "--") and for fairseq-generate.

wfe-train ends with a calibration. Calibrate again for another protocol or other texts. Trainings on
top of the model stay valid.

examples:
  wfe-calibrate models/wfe --protocol recall-75
  wfe-calibrate models/wfe --data elsewhere --pairs 1000
  wfe-calibrate models/encdec --rule
  wfe-calibrate models/wfe -- --unnormalized       # if you also decode with this option
"""


def build_parser() -> Parser:
    parser = Parser(
        "wfe-calibrate",
        fairseq=True,
        usage="%(prog)s MODEL [options] [-- fairseq options]",
        description="Choose how a trained model with a word-frequency estimate decodes.",
        epilog=EPILOG,
    )
    parser.add_argument("model", metavar="MODEL", help="directory made by wfe-train or wfe-export, or a checkpoint")
    parser.add_argument(
        "--data", metavar="DIR", help="directory made by wfe-preprocess (default: what the model was trained on)"
    )
    parser.add_argument("--rule", action="store_true", help="tune the rule without training; see above")
    parser.add_argument("--split", default="valid", metavar="NAME", help="binarized set (default: %(default)s)")
    parser.add_argument(
        "--protocol", default="f1", metavar="NAME", help="f1, or recall-N for recall within N bytes (default: f1)"
    )
    parser.add_argument("--beam", type=positive, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--pairs",
        type=positive,
        default=400,
        metavar="N",
        help="use N pairs of the set, spread evenly (default: %(default)s)",
    )
    parser.add_argument(
        "--minutes",
        type=positive_number,
        metavar="N",
        help="stop after N minutes and take the best so far (default: no limit)",
    )
    parser.add_argument("--threads", type=positive, metavar="N", help="threads of torch (default: torch's)")
    parser.add_argument("--cpu", action="store_true", help="use the CPU even if there is a GPU")
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    args, fairseqs = build_parser().parse_both(sys.argv[1:] if argv is None else argv)

    def work() -> None:
        protocol_of(args.protocol)
        import torch  # slow

        wfe_plugin.register()
        from wfe_plugin.pipeline.calibrate import recalibrate, tune_rule

        if args.threads:
            torch.set_num_threads(args.threads)
        settings = {
            "split": args.split,
            "protocol": args.protocol,
            "beam": args.beam,
            "seconds": args.minutes and 60 * args.minutes,
            "max_pairs": args.pairs,
            "arguments": [*(["--cpu"] if args.cpu else []), *fairseqs],
            "say": say,
        }
        if args.rule:
            print(tune_rule(args.model, args.data, **settings).options)
        else:
            say(f"done: {recalibrate(args.model, args.data, **settings)}: {args.model}")

    return run("wfe-calibrate", work, interrupted="the model is as it was")


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"calibrate: {message}")


if __name__ == "__main__":
    sys.exit(main())
