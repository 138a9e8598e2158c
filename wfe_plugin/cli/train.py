"""``wfe-train``: prepared data to a trained model."""

import argparse
import sys
from collections.abc import Sequence
from typing import Optional

import wfe_plugin
from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive, positive_number, seed
from wfe_plugin.pipeline.presets import ESTIMATORS, PRESETS
from wfe_plugin.pipeline.train_options import BEST_BY, TrainOptions

PRESET_HELP = "\n".join(
    f"  {name:17} {preset.description};\n"
    f"  {'':17} batch {preset.batch_size}, at most {preset.epochs} epochs, patience {preset.patience}"
    for name, preset in PRESETS.items()
)
EPILOG = f"""\
A training has three phases:
  1  the model, in OUT/model: an encoder-decoder that may also copy words of the source
  2  the estimate of word frequencies on top of it; the model itself stays as it is
  3  the calibration: how much weight the estimate has in decoding, and a reward per word, chosen
     on the validation set for --protocol; it takes at most a tenth of the training time
--baseline trains the paper's encoder-decoder alone (with --copying: phase 1), --add-wfe phases 2 and 3 on top of a model that is there.
--estimator paper and literal train model and estimate together, as the paper does, and need no
calibration. --epochs, --patience, --minutes and --best-by apply to phase 1 (with --add-wfe: to
phase 2), and so do fairseq's options of optimizers, learning rates and criteria.

examples:
  wfe-train --data prepared --out models/default
  wfe-train --data prepared --out models/encdec --baseline -- --dropout 0.4
  wfe-train --data prepared --out models/wfe --add-wfe models/encdec --protocol recall-75
  wfe-train --data prepared --out models/paper --estimator paper
  wfe-train --data prepared --out models/unlikelihood --baseline -- --criterion nll_unlikelihood
  wfe-train --data prepared --out models/mrt --preset mrt --from models/encdec
  wfe-train --data gigaword --out models/gigaword --preset paper --gpus 4

presets:
{PRESET_HELP}

estimators of word frequencies:
  votes    the probability that a word occurs; each word of the source votes for itself
  paper    upper bound and gate with the paper's loss; the sum of Figure 2 is divided by a constant,
           and the bound has a bias
  literal  the same by Figure 2 to the letter

The best checkpoint, OUT/checkpoint_best.pt, is that of the epoch with the best score on the
validation set: the negative log-likelihood of the summaries (nll), the loss that is trained,
which includes the loss of the frequency estimate or of unlikelihood (loss), the mean F1 of
ROUGE-1, -2 and -L with beam 5 (rouge; about 2000 pairs of a large validation set), or with
--preset mrt what is missing to that F1 on the whole validation set (risk).
Early stopping goes by nll, by loss (--best-by loss, and in phase 2), or by risk. Training stops
when the score has not improved for --patience epochs, or when another epoch, as long as those so far
on average, would exceed --minutes (validation included; earlier training of the model is not).

If a training is interrupted in any phase, the same command continues it after its last finished epoch,
and it ends as if undisturbed (with --minutes, after as many epochs as the clock allows). The whole output
of fairseq is in OUT/train.log, as JSON lines among others.

Several GPUs share the batch of the preset. Several machines must see the same --data and --out
under the same names: run this command on each, at the same time, each with its own --machine:
  wfe-train ... --gpus 4 --machines 2 --machine 0 --master HOST:PORT    # on HOST
  wfe-train ... --gpus 4 --machines 2 --machine 1 --master HOST:PORT
Processes on a CPU instead of GPUs: wfe-train ... --gpus 2 -- --cpu
"""


def build_parser() -> Parser:
    parser = Parser(
        "wfe-train",
        fairseq=True,
        usage="%(prog)s --data DIR --out DIR [options] [-- fairseq options]",
        description="Train a summarizer on prepared data.",
        epilog=EPILOG,
    )
    parser.add_argument("--data", required=True, metavar="DIR", help="directory made by wfe-preprocess")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory for the model")
    parser.add_argument("--preset", choices=list(PRESETS), help="see below (default: by the number of training pairs)")
    parser.add_argument("--baseline", action="store_true", help="no word-frequency estimation: EncDec")
    parser.add_argument(
        "--add-wfe",
        metavar="MODEL",
        help="train an estimate alone, on top of a model made by wfe-train --baseline, which stays as it is",
    )
    parser.add_argument(
        "--from",
        dest="start_from",
        metavar="MODEL",
        help="for --preset mrt: the model to train further, made by wfe-train; it determines the size of the new "
        "one, and whether it estimates word frequencies",
    )
    parser.add_argument("--estimator", choices=ESTIMATORS, help=f"see below (default: {ESTIMATORS[0]})")
    parser.add_argument(
        "--copying",
        action=argparse.BooleanOptionalAction,
        help="the model may copy words of the source through its attention (default: with the default's LSTMs, not with "
        "--baseline, --estimator paper and literal, which are the paper's models)",
    )
    parser.add_argument("--epochs", type=positive, metavar="N", help="phase 1: at most N (default: the preset's)")
    parser.add_argument("--patience", type=positive, metavar="N", help="phase 1: default: the preset's")
    parser.add_argument(
        "--minutes", type=positive_number, metavar="N", help="phase 1: at most N, in whole epochs (default: no limit)"
    )
    parser.add_argument(
        "--best-by",
        choices=BEST_BY,
        help="phase 1: see below (default: nll; loss with --add-wfe; risk with --preset mrt)",
    )
    parser.add_argument("--estimate-epochs", type=positive, metavar="N", help="phase 2: default: the preset's")
    parser.add_argument("--estimate-patience", type=positive, metavar="N", help="phase 2: default: the preset's")
    parser.add_argument("--no-calibration", dest="calibration", action="store_false", help="leave out phase 3")
    parser.add_argument(
        "--protocol", metavar="NAME", help="phase 3: f1, or recall-N for recall within N bytes (default: f1)"
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads of each process (default: torch's)")
    parser.add_argument("--gpus", type=positive, default=1, metavar="N", help="on this machine (default: 1)")
    parser.add_argument("--machines", type=positive, default=1, metavar="N", help="default: 1")
    parser.add_argument("--machine", type=int, default=0, metavar="I", help="number of this machine, from 0")
    parser.add_argument("--master", metavar="HOST:PORT", help="a free port of machine 0")
    return parser


def parse(argv: Sequence[str]) -> TrainOptions:
    """The options of a command line; those after "--" are fairseq's."""
    parser = build_parser()
    own, fairseqs = parser.parse_both(argv)
    options = TrainOptions(**vars(own), fairseq_options=fairseqs)
    parser.check(options.validate)
    return options


def main(argv: Optional[Sequence[str]] = None) -> int:
    options = parse(sys.argv[1:] if argv is None else argv)

    def work() -> None:
        wfe_plugin.register()
        from wfe_plugin.pipeline.train import train

        train(options)

    return run("wfe-train", work, interrupted="the same command continues where it stopped")


if __name__ == "__main__":
    sys.exit(main())
