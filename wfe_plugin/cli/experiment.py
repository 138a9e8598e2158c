"""``wfe-experiment``: the paper's tables and figures for a data set, in one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.options import positive

DESCRIPTION = """\
Train what is missing, tune, decode, evaluate, and write a report that shows all systems side by
side: ROUGE F1 and recall, gains and significance, repetition and length next to the references'
own, copied and invented words, perplexity, the estimator's confusion matrix, examples, training
curves, sizes and times. Each table is also written as CSV.

If interrupted, run the same command again: it continues where it stopped. Finished work is repeated
only if the configuration, the data or a model that it depends on has changed. Configurations with
the same "out" share data, models and decodings that have the same name and the same settings. Only
one of them can run at a time.
"""
EPILOG = """\
The full configuration; only [data] is required:

  [experiment]
  title = My headlines
  out = results              # directory for everything, relative to this file (default: results)
  preset = small             # of wfe-train (default: small)
  seeds = 1 2                # default: 1
  beams = 1 5 10             # default
  baseline = EncDec          # system that gains are measured against (default: the first)
  proposed = EncDec+WFE      # recommended system: summaries and examples show it beside the
                             # baseline (default: the last one with word-frequency estimation)
  training options = --epochs 20 -- --dropout 0.4    # of wfe-train, for all; after --, of fairseq
  decoding options = --max-len-b 30                  # of fairseq-generate, for all
  tuning beam = 5            # for tuned options, see below (default: the middle one of beams)
  speed rounds = 3           # default; 0: do not measure speed

  [data]
  train = text/train         # prefix of .article and .title, or two files; likewise valid and test
  valid = text/valid
  test = text/test           # several test sets: one per line
  options = --tokenize --lowercase --bpe joint       # of wfe-preprocess
  # or, instead of all these:  prepared = DIRECTORY made by wfe-preprocess

  [test DUC-2004]            # default: one test set, the split called test, scored by gigaword
  split = test1
  protocol = duc2004         # gigaword (default) or duc2004
  references = ref0.txt ref1.txt    # default: the targets of the data

  [training EncDec]          # default: EncDec, EncDec+WFE, EncDec+copying and WFE votes
  preset = small             # default: that of [experiment]
  baseline = yes             # no frequency estimation
  # or: estimator = paper    # default; or literal, votes
  # or: add wfe to = EncDec  # only an estimate, on top of that model, which stays as it is
  # or: start from = EncDec  # with preset = mrt: that model, trained further
  options =                  # of wfe-train, such as --copying

  [system EncDec]            # default: the standard systems, see below
  training = EncDec
  decoding = off             # auto (default with an estimate), full, strict, bound, gate, oracle, off
  options = --no-repeat-ngram-size 3                 # of fairseq-generate

  [system penalty]
  training = EncDec
  tune = --repetition-penalty 1.1 1.5 2    # an option and its values, weak ones first
      --lenpen 0.5 1                       # another option: all pairs of values are tried
  role = alternative         # alternative, wfe or oracle; see below
  compare with = EncDec+WFE  # systems that the report's text compares it with, one per line
                             # (default: the system that its model was made from, or else the baseline)

  [system BART]              # summaries made by another program
  outputs = bart/{set}.txt   # one per line; with several files, {set}, {seed} and {beam} stand for
                             # the test set's NAME, the seed and the beam

Standard systems, if the file has no [training] and no [system]:
- EncDec: the paper's baseline (--baseline)
- EncDec, cap 1: each word at most once
- Rule without training: EncDec with a cap of one, and a tuned out-of-source penalty and word reward
- EncDec+WFE: the paper's method (--estimator paper)
- EncDec+copying: EncDec that may copy words of the source (--baseline --copying)
- EncDec+copying, rule: the rule without training, tuned for EncDec+copying
- WFE votes: the default of wfe-train, the estimate votes on top of EncDec+copying

Tuning: each value of "tune" decodes the validation set with every seed, at the tuning beam. The
value with the best mean of ROUGE-1, -2 and -L over the seeds, by the protocol of the test set, is
used on the test set, for all seeds and beams. The report shows all scores and the choice.

Roles: the report compares all systems with the baseline and with the best alternative, which is the
one with the best mean ROUGE on the test set. By default, systems that decode with the oracle are
"oracle". Systems whose model has no estimate, and other programs, are "alternative". All others are
"wfe".

Outputs of other programs get the same treatment as the data (case, digits, tokenisation), so that
they are compared with the same references as ours.

Speed: in each round, all systems decode the same part of the first test set in turn, at the middle
beam and with the first seed. Times are compared within a round. The report shows medians and
extremes.
"""


def build_parser() -> Parser:
    parser = Parser("wfe-experiment", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("config", metavar="CONFIG", help="configuration file; see below")
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="trainings or workers at a time; they share the cores (default: one per core, at most four; one on a GPU)",
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
