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
  3  the calibration: the weight of the estimate in decoding and a reward per word, chosen on the
     validation set for --protocol; it takes at most a tenth of the training time
--baseline trains only the paper's encoder-decoder; --baseline --copying trains only phase 1.
--add-wfe trains phases 2 and 3 on top of an existing model. --estimator paper and literal train
the paper's encoder-decoder and the estimate together, as the paper does, and need no calibration.
--epochs, --patience, --minutes and --best-by apply to phase 1 (with --add-wfe: to phase 2). So do
fairseq's options for optimizers, learning rates and criteria.

examples:
  wfe-train --data prepared --out models/default
  wfe-train --data prepared --out models/encdec --baseline -- --dropout 0.4
  wfe-train --data prepared --out models/copying --baseline --copying
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
  literal  like paper, but follows Figure 2 to the letter

The best checkpoint, OUT/checkpoint_best.pt, is from the epoch with the best score on the
validation set. --best-by chooses the score:
  nll      the negative log-likelihood of the summaries
  loss     the training loss, which includes the loss of the frequency estimate or of unlikelihood
  rouge    the mean F1 of ROUGE-1, -2 and -L with beam 5 (on about 2000 pairs of a large set)
  risk     with --preset mrt: what that F1 on the whole validation set lacks to its maximum
Early stopping goes by nll, by loss (--best-by loss, and in phase 2), or by risk. Training stops
when the score has not improved for --patience epochs. It also stops when another epoch of average
length would exceed --minutes (this includes validation, but not earlier training of the model).

If a training is interrupted in any phase, run the same command again: it continues after the last
finished epoch and ends as if undisturbed (with --minutes, after as many epochs as the clock
allows). OUT/train.log has the full output of fairseq, including JSON lines.

Several GPUs share the batch of the preset. Several machines must see the same --data and --out
under the same names. Run this command on each, at the same time, each with its own --machine:
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
        help="train only an estimate, on top of a model made by wfe-train --baseline, which stays as it is",
    )
    parser.add_argument(
        "--from",
        dest="start_from",
        metavar="MODEL",
        help="for --preset mrt: the model to train further, made by wfe-train; the new model has the same size, and "
        "estimates word frequencies if this one does",
    )
    parser.add_argument("--estimator", choices=ESTIMATORS, help=f"see below (default: {ESTIMATORS[0]})")
    parser.add_argument(
        "--copying",
        action=argparse.BooleanOptionalAction,
        help="let the model copy words of the source through its attention (default: yes for the LSTMs of phase 1; no "
        "with --baseline, --estimator paper and literal, which train the paper's models)",
    )
    parser.add_argument(
        "--epochs", type=positive, metavar="N", help="phase 1: at most N epochs (default: the preset's)"
    )
    parser.add_argument("--patience", type=positive, metavar="N", help="phase 1 (default: the preset's)")
    parser.add_argument(
        "--minutes",
        type=positive_number,
        metavar="N",
        help="phase 1: at most N minutes, in whole epochs (default: no limit)",
    )
    parser.add_argument(
        "--best-by",
        choices=BEST_BY,
        help="phase 1: see below (default: rouge for a model that copies, else nll; loss with --add-wfe; risk with "
        "--preset mrt)",
    )
    parser.add_argument("--estimate-epochs", type=positive, metavar="N", help="phase 2 (default: the preset's)")
    parser.add_argument("--estimate-patience", type=positive, metavar="N", help="phase 2 (default: the preset's)")
    parser.add_argument("--no-calibration", dest="calibration", action="store_false", help="skip phase 3")
    parser.add_argument(
        "--protocol", metavar="NAME", help="phase 3: f1, or recall-N for recall within N bytes (default: f1)"
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads per process (default: torch's)")
    parser.add_argument("--gpus", type=positive, default=1, metavar="N", help="GPUs of this machine (default: 1)")
    parser.add_argument("--machines", type=positive, default=1, metavar="N", help="number of machines (default: 1)")
    parser.add_argument("--machine", type=int, default=0, metavar="I", help="which machine this is, from 0")
    parser.add_argument("--master", metavar="HOST:PORT", help="machine 0 and a free port there")
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
