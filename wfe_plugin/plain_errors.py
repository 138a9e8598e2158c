"""One line instead of a traceback, from fairseq's commands, for what a user can repair."""

import fileinput
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Optional

from wfe_plugin.safe_loading import reason

PLUGIN = Path(__file__).resolve().parent


def message(error: BaseException) -> Optional[str]:
    """What to tell a user; None if only a traceback will do."""
    first, frames = error, traceback.extract_tb(error.__traceback__)
    if any(frame.filename.endswith("torch/serialization.py") and frame.name == "load" for frame in frames):
        return f"the checkpoint cannot be loaded: {reason(error)}"
    if isinstance(error, FloatingPointError):  # ours, or fairseq's for gradients
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        byte = f"byte 0x{error.object[error.start]:02x}"
        return f"{place(error)}: not {error.encoding.upper()} ({byte}): convert it, for example with iconv"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if frames and frames[-1].filename.endswith("fairseq/options.py") and isinstance(error, (KeyError, RuntimeError)):
        if str(error) in ("", "None"):  # it does not say more
            return "no task or no data is named: give at least DATA and --task summarization_wfe"
    # fairseq raises bare exceptions, and makes assertions on options, for users to read.
    fairseqs = type(error) is Exception or isinstance(error, AssertionError) and str(error).startswith("--")
    told = str(error) if fairseqs else None
    while error is not None:
        if isinstance(error, ValueError) and raised_here(error.__traceback__):
            return str(error)
        error = error.__cause__ or error.__context__  # fairseq hides some behind its own
    return told or of_another_program(frames, first)


def of_another_program(frames: traceback.StackSummary, error: BaseException) -> Optional[str]:
    """What to say where fairseq cannot make a model of what a checkpoint holds."""
    names = [Path(frame.filename) for frame in frames]
    loading = [i for i, name in enumerate(names) if name.parts[-2:] == ("fairseq", "checkpoint_utils.py")]
    if not loading or not isinstance(error, Exception):
        return None
    if any(PLUGIN in name.resolve().parents for name in names[loading[0] :]):
        return None  # a mistake of the plugin
    lines = str(error).splitlines() or [""]
    return (
        "the checkpoint holds no model that can be used here: is it of fairseq 0.12, and of this task? "
        f"({type(error).__name__}: {lines[0][:120]})"
    )


def place(error: UnicodeDecodeError) -> str:
    """File and line of a text that cannot be decoded, as far as Python knows them."""
    try:  # fairseq-interactive reads through this module
        name, lines = fileinput.filename(), fileinput.lineno()
    except RuntimeError:
        return "a text"
    # Files are decoded a block at a time, from where the lines read so far end.
    return f"{name}:{lines + error.object[: error.start].count(10) + 1}"


def raised_here(trace: Optional[TracebackType]) -> bool:
    """Whether an error comes from a `raise` in the plugin, and not from what it called."""
    frames = traceback.extract_tb(trace)
    if not frames or PLUGIN not in Path(frames[-1].filename).resolve().parents:
        return False
    return (frames[-1].line or "").startswith("raise ")


def install() -> None:
    """For the commands of fairseq alone: other programs show errors in their own way."""
    program = Path(sys.argv[0] if sys.argv else "")
    if program.parent.name != "fairseq_cli" and not program.name.startswith("fairseq-"):
        return
    name = program.name if program.name.startswith("fairseq-") else f"fairseq-{program.stem}"
    before = sys.excepthook

    def show(kind, error, trace) -> None:
        told = message(error)
        if told is None:
            before(kind, error, trace)
        else:
            print(f"{name}: error: {told}", file=sys.stderr)

    sys.excepthook = show
