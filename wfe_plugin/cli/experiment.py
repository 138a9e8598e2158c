"""``wfe-experiment``: the paper's tables and figures for a data set, in one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive

DESCRIPTION = """\
Train what is missing, tune, decode, evaluate and write a report: all systems side by side, ROUGE
by system and beam with gains and significance, a sentence on what that says of each, repetition
beside the references' own, lengths, the estimator's confusion matrix, examples, training curves,
sizes and times.

Interrupted, the same command continues where it was. What is done is not done again, unless the
configuration, the data or a model that it depends on has changed. Configurations with the same
"out" share what has the same name and the same settings: data, models and decodings. Only one
can run there at a time.
"""
EPILOG = """\
the configuration, in full; all but [data] may be left out:

  [experiment]
  title = My headlines
  out = results              # directory for everything, from where this file is (default: results)
  preset = small             # of train.sh (default: small)
  seeds = 1 2                # default: 1
  beams = 1 5 10             # default
  baseline = EncDec          # system that gains are measured against (default: the first)
  proposed = EncDec+WFE      # system that examples show beside it (default: the next)
  training options = --epochs 20 -- --dropout 0.4    # of train.sh, for all; after --, of fairseq
  decoding options = -- --max-len-b 30               # of generate.sh, likewise
  tuning beam = 5            # for tuned options, see below (default: the middle one of beams)
  speed rounds = 3           # default; 0: do not measure speeds

  [data]
  train = text/train         # prefix of .article and .title, or two files; so are valid and test
  valid = text/valid
  test = text/test           # several test sets: one a line
  options = --tokenize --lowercase --bpe joint       # of preprocess.sh
  # or, instead of all these:  prepared = DIRECTORY that preprocess.sh made

  [test DUC-2004]            # default: one, the split called test, by gigaword
  split = test1
  protocol = duc2004         # gigaword (default) or duc2004
  references = ref0.txt ref1.txt    # default: the targets of the data

  [training EncDec]          # default: EncDec, EncDec+WFE and WFE, copying
  preset = small             # default: that of [experiment]
  baseline = yes             # no frequency estimation
  # or: add wfe to = EncDec  # estimation alone, on top of that model, which stays as it is
  # or: start from = EncDec  # with preset = mrt: that model, trained further
  options =                  # of train.sh

  [system EncDec]            # default: EncDec, EncDec+WFE, strict, bound, gate, copying, oracle
  training = EncDec
  decoding = off             # full, strict, bound, gate, oracle or off
  options = -- --no-repeat-ngram-size 3              # of generate.sh; after --, of fairseq

  [system penalty]
  training = EncDec
  tune = --repetition-penalty 1.1 1.5 2    # an option of fairseq and its values, weak ones first
      --lenpen 0.5 1                       # a further one: all pairs of values are tried
  role = alternative         # alternative, wfe or oracle; see below
  compare with = EncDec+WFE  # what it is compared with in words, one a line (default: the system that
                             # its model was made from, or else the baseline)

Tuning: each value of "tune" decodes the validation set with every seed, at the tuning beam. The
one with the best mean of ROUGE-1, -2 and -L F1 over the seeds, of equals the first, is used on
the test sets, for all seeds and beams. The report shows all scores and the choice.

Roles: the report compares all systems with the baseline, and with the best alternative, that is,
the one with the best mean ROUGE on the test set. By default, systems that decode with the oracle
are "oracle", those whose training has "baseline = yes" are "alternative", and the rest is "wfe".

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
        help="trainings or decodings at once, which share the cores (default: one a core, at most four; one on a GPU)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace data and models that were made with other settings"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    return run("wfe-experiment", lambda: experiment(options), "the same command continues")


def experiment(options: argparse.Namespace) -> None:
    from wfe_plugin.experiment.run import run_experiment

    run_experiment(options.config, options.jobs, options.overwrite)


if __name__ == "__main__":
    sys.exit(main())
