"""Options of the commands in a configuration: those that an experiment sets itself are refused.

They would come last on the command line and win: the report would describe something that was not done.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence

from wfe_plugin.errors import UserError
from wfe_plugin.experiment.sections import Section
from wfe_plugin.pipeline.options import split_options

NOWHERE = "leave it out"
# By command, and what to do instead.
OWN = {
    "wfe-preprocess": {
        **{
            f"--{name}{form}": f"use '{name}' in [data]"
            for name in ("train", "valid", "test")
            for form in ("", "-files")
        },
        "--out": "use 'out' in [experiment]",
        "--overwrite": "give it to wfe-experiment",
    },
    "wfe-train": {
        "--data": "use [data]",
        "--out": "use 'out' in [experiment]",
        "--preset": "use 'preset'",
        "--seed": "use 'seeds' in [experiment]",
        "--threads": "give --jobs to wfe-experiment",
        "--baseline": "use 'baseline' in [training NAME]",
        "--estimator": "use 'estimator' in [training NAME]",
        "--add-wfe": "use 'add wfe to' in [training NAME]",
        "--from": "use 'start from' in [training NAME]",
    },
    "wfe-generate": {
        "--model": "use 'training' in [system NAME]",
        "--path": "use 'training' in [system NAME]",
        "--data": "use [data]",
        "--split": "use 'split' in [test NAME]",
        "--gen-subset": "use 'split' in [test NAME]",
        "--input": "use 'test' in [data]",
        "--out": "use 'out' in [experiment]",
        "--results-path": "use 'out' in [experiment]",
        "--beam": "use 'beams' in [experiment]",
        "--nbest": "the best summary is what counts",
        "--decoding": "use 'decoding' in [system NAME]",
        "--wfe-decoding": "use 'decoding' in [system NAME]",
        "--references": "use 'references' in [test NAME]",
        "--protocol": "use 'protocol' in [test NAME]",
        "--threads": "give --jobs to wfe-experiment",
        "--cpu": NOWHERE,
        "--user-dir": NOWHERE,
        "--task": NOWHERE,
        "--source-lang": NOWHERE,
        "--target-lang": NOWHERE,
        "--score-reference": NOWHERE,
        "--model-overrides": NOWHERE,
    },
}


def read_options(section: Section, key: str, command: str) -> tuple[str, ...]:
    """What the key says, for the command line of a command."""
    words = section.words(key)
    # A system's options are all fairseq's, and "--" in front of them changes nothing.
    ours = words if command == "wfe-generate" else split_options(list(words))[0]
    for word in ours:
        refuse_own(section, key, word.partition("=")[0], command)
    return words


def refuse_own(section: Section, key: str, option: str, command: str) -> None:
    if option in OWN[command]:
        section.fail(key, f"{option}: wfe-experiment sets this for {command}; {OWN[command][option]}")


def refuse_tuning(section: Section, option: str) -> None:
    """It must be an option that the experiment leaves to others."""
    refuse_own(section, "tune", option, "wfe-generate")


def check_command(where: str, parse: Callable, arguments: Sequence[str]) -> None:
    """Let a command's own parser find what is wrong now, and not after hours of training."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse(list(arguments))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except SystemExit:
        raise UserError(f"{where}: {said.getvalue().strip().rpartition(': error: ')[2]}") from None
