"""Text pairs to a directory of prepared data, which appears as a whole or not at all."""

from typing import Callable

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.data_directory import already_done, put_in_place, settle
from wfe_plugin.pipeline.preparation import Preparation
from wfe_plugin.pipeline.preprocess_options import PreprocessOptions
from wfe_plugin.pipeline.text import refuse_pipe
from wfe_plugin.pipeline.work_directory import resolved, work_directory


def preprocess(options: PreprocessOptions, say: Callable[[str], None] = print) -> None:
    """Prepare the data in a directory beside the final one, unless they are there already.

    Args:
        options: what to do
        say: shows a line of progress
    """
    for pairs in options.sets():
        refuse_pipe(pairs.source)
        refuse_pipe(pairs.target)
    out = resolved(options.out)
    if "," in str(out):
        raise UserError(f"{out}: fairseq-preprocess reads the comma as a separator; choose another --out")
    settle(out)
    description = options.description()
    if already_done(out, description, options.overwrite):
        say(f"{options.out}: already there, from the same text and settings (--overwrite replaces it)")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with work_directory(out.parent, f".{out.name}.unfinished-") as work:
        preparation = Preparation(options, description, work, say)
        preparation.run()
        # Another run may have been faster.
        if not already_done(out, description, options.overwrite):
            put_in_place(preparation.data, out, options.overwrite)
    say(f"done: {options.out}")
