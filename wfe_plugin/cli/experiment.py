"""``wfe-experiment``: the paper's tables and figures for a data set, in one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive

DESCRIPTION = """\
Train what is missing, tune, decode, evaluate and write a report: all systems side by side with
ROUGE F1 and recall, gains and significance, repetition and length beside the references' own,
words that were copied or invented, perplexity, the estimator's confusion matrix, examples,
training curves, sizes and times. Each table is also written as CSV.

Interrupted, the same command continues where it was. What is done is not done again, unless the
configuration, the data or a model that it depends on has changed. Configurations with the same
"out" share what has the same name and the same settings: data, models and decodings. Only one
can run there at a time.
"""
EPILOG = """\
the configuration in full; everything but [data] may be left out:

  [experiment]
  title = My headlines
  out = results              # directory for everything, relative to this file (default: results)
  preset = small             # of wfe-train (default: small)
  seeds = 1 2                # default: 1
  beams = 1 5 10             # default
  baseline = EncDec          # system that gains are measured against (default: the first)
  proposed = EncDec+WFE      # system that is recommended: summaries and examples show it beside the
                             # baseline (default: the last one with word-frequency estimation)
  training options = --epochs 20 -- --dropout 0.4    # of wfe-train, for all; after --, of fairseq
  decoding options = --max-len-b 30                  # of fairseq-generate, for all
  tuning beam = 5            # for tuned options, see below (default: the middle one of beams)
  speed rounds = 3           # default; 0: do not measure speeds

  [data]
  train = text/train         # prefix of .article and .title, or two files; so are valid and test
  valid = text/valid
  test = text/test           # several test sets: one per line
  options = --tokenize --lowercase --bpe joint       # of wfe-preprocess
  # or, instead of all these:  prepared = DIRECTORY that wfe-preprocess made

  [test DUC-2004]            # default: one, the split called test, by gigaword
  split = test1
  protocol = duc2004         # gigaword (default) or duc2004
  references = ref0.txt ref1.txt    # default: the targets of the data

  [training EncDec]          # default: EncDec, EncDec+WFE and WFE votes
  preset = small             # default: that of [experiment]
  baseline = yes             # no frequency estimation
  # or: estimator = paper    # default; or literal, votes
  # or: add wfe to = EncDec  # an estimate alone, on top of that model, which stays as it is
  # or: start from = EncDec  # with preset = mrt: that model, trained further
  options =                  # of wfe-train

  [system EncDec]            # default: EncDec, cap, rule without training, EncDec+WFE, WFE votes
  training = EncDec
  decoding = off             # auto (default with an estimate), full, strict, bound, gate, oracle, off
  options = --no-repeat-ngram-size 3                 # of fairseq-generate

  [system penalty]
  training = EncDec
  tune = --repetition-penalty 1.1 1.5 2    # an option and its values, weak ones first
      --lenpen 0.5 1                       # another one: all pairs of values are tried
  role = alternative         # alternative, wfe or oracle; see below
  compare with = EncDec+WFE  # what it is compared with in words, one per line (default: the system
                             # that its model was made from, or else the baseline)

  [system BART]              # summaries that another program made
  outputs = bart/{set}.txt   # one per line; {set}, {seed} and {beam} are replaced by the test set's
                             # NAME, the seed and the beam, where there are several files

Tuning: each value of "tune" decodes the validation set with every seed, at the tuning beam. The
one with the best mean of ROUGE-1, -2 and -L over the seeds, by the protocol of the test set, is
used on the test set, for all seeds and beams. The report shows all scores and the choice.

Roles: the report compares all systems with the baseline, and with the best alternative, that is,
the one with the best mean ROUGE on the test set. By default, systems that decode with the oracle
are "oracle", those whose model has no estimate, and other programs, are "alternative", and the
rest is "wfe".

Outputs of other programs are treated as the data were (case, digits, tokenisation), so that they
are compared with the same references as ours.

Speed: in each round all systems decode the same part of the first test set in turn, at the middle
beam, with the first seed. Times are compared within a round; medians and extremes are shown.
"""


def build_parser() -> Parser:
    parser = Parser("wfe-experiment", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("config", metavar="CONFIG", help="configuration file, see below")
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="trainings or workers at once, which share the cores (default: one per core, at most four; one on a GPU)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace data and models that were made with other settings"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    return run("wfe-experiment", lambda: experiment(options), "the same command continues")


def experiment(options: argparse.Namespace) -> None:
    import wfe_plugin

    wfe_plugin.register()
    from wfe_plugin.experiment.run import run_experiment

    run_experiment(options.config, options.jobs, options.overwrite, parsers)


def parsers() -> dict[str, Callable[[Sequence[str]], object]]:
    """What finds mistakes in the options of a configuration before anything is done."""
    from wfe_plugin.cli import train
    from wfe_plugin.pipeline.decode import quiet_fairseq, read_options

    def read(arguments: Sequence[str]) -> None:
        with quiet_fairseq():
            read_options(Path("data"), arguments)

    return {"wfe-train": train.parse, "wfe-generate": read}


if __name__ == "__main__":
    sys.exit(main())
