"""Options of the scripts in a configuration: those that an experiment sets itself are refused.

They would stand last on the command line, and win: the report would tell of something else than was done.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence

from wfe_plugin.cli import generate
from wfe_plugin.experiment.sections import Section
from wfe_plugin.experiment.steps import StepError
from wfe_plugin.pipeline import train_options
from wfe_plugin.pipeline.errors import PipelineError
from wfe_plugin.pipeline.options import refuse_managed, split_options

NOWHERE = "leave it out"
HELP = {"-h": NOWHERE, "--help": NOWHERE}
# By script, and what to do instead.
OWN = {
    "preprocess.sh": {
        **HELP,
        **{
            f"--{name}{form}": f"use '{name}' in [data]"
            for name in ("train", "valid", "test")
            for form in ("", "-files")
        },
        "--out": "use 'out' in [experiment]",
        "--overwrite": "give it to wfe-experiment",
    },
    "train.sh": {
        **HELP,
        "--data": "use [data]",
        "--out": "use 'out' in [experiment]",
        "--preset": "use 'preset'",
        "--seed": "use 'seeds' in [experiment]",
        "--threads": "give --jobs to wfe-experiment",
        "--baseline": "use 'baseline' in [training NAME]",
        "--add-wfe": "use 'add wfe to' in [training NAME]",
        "--from": "use 'start from' in [training NAME]",
    },
    "generate.sh": {
        **HELP,
        "--model": "use 'training' in [system NAME]",
        "--data": "use [data]",
        "--split": "use 'split' in [test NAME]",
        "--input": "use 'test' in [data]",
        "--out": "use 'out' in [experiment]",
        "--time-only": "use 'speed rounds' in [experiment]",
        "--beam": "use 'beams' in [experiment]",
        "--decoding": "use 'decoding' in [system NAME]",
        "--references": "use 'references' in [test NAME]",
        "--protocol": "use 'protocol' in [test NAME]",
        "--threads": "give --jobs to wfe-experiment",
    },
}
# After "--", of fairseq.
MANAGED = {"preprocess.sh": [], "train.sh": train_options.MANAGED, "generate.sh": generate.MANAGED}


def read_options(section: Section, key: str, script: str) -> tuple[str, ...]:
    """What the key says, for the command line of a script."""
    words = section.words(key)
    ours, extra = split_options(list(words))
    for word in ours:
        refuse_own(section, key, word.partition("=")[0], script)
    try:
        refuse_managed(extra, MANAGED[script], script)
    except PipelineError as error:
        section.fail(key, str(error))
    return words


def refuse_own(section: Section, key: str, option: str, script: str) -> None:
    if option in OWN[script]:
        section.fail(key, f"{option}: wfe-experiment decides on this for {script}; {OWN[script][option]}")


def refuse_tuning(section: Section, option: str) -> None:
    """It must be an option of fairseq that generate.sh leaves to others."""
    refuse_own(section, "tune", option, "generate.sh")
    try:
        refuse_managed([option], [*OWN["generate.sh"], *MANAGED["generate.sh"]], "generate.sh")
    except PipelineError:
        section.fail("tune", f"{option}: generate.sh sets this itself, so that it cannot be tuned")


def check_command(where: str, parse: Callable, arguments: Sequence[str]) -> None:
    """Let a script's own parser find what is wrong now, and not after hours of training."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse(list(arguments))
    except SystemExit:
        raise StepError(f"{where}: {said.getvalue().strip().rpartition(': error: ')[2]}") from None
