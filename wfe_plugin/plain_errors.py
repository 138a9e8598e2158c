"""One line instead of a traceback, from fairseq's commands, for what a user can repair."""

import fileinput
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Optional

from omegaconf import MissingMandatoryValue
from omegaconf.errors import InterpolationKeyError

from wfe_plugin.fairseq_fixes.safe_loading import reason
from wfe_plugin.option_values import refuse_values_of_commands

PLUGIN = Path(__file__).resolve().parent
# Where fairseq reads checkpoints; what follows in `load_checkpoint` of checkpoint_utils is the start of a training.
LOADING = {
    ("checkpoint_utils.py", "load_model_ensemble_and_task"),
    ("checkpoint_utils.py", "load_checkpoint_to_cpu"),
    ("trainer.py", "load_checkpoint"),
}
# Errors by which fairseq and torch refuse what they were told, as well as values that they happen to fail with.
OF_VALUES = (ArithmeticError, AssertionError, LookupError, MemoryError, RuntimeError, ValueError)
OPTION = re.compile(r"(^|[\s(])--[a-z]|\b(max_tokens|min_len|post_process)\b")
OF_GPUS = re.compile("CUDA|NCCL|cuDNN|cuBLAS")
NO_GPU = re.compile("not compiled with CUDA|no NVIDIA driver|No CUDA GPUs")
NO_MEMORY = re.compile("can't allocate memory|out of memory", re.IGNORECASE)


def message(error: BaseException) -> Optional[str]:
    """What to tell a user; None if only a traceback will do."""
    if not isinstance(error, Exception):  # Ctrl-C, for example
        return None
    first, frames = error, traceback.extract_tb(error.__traceback__)
    if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
        return f"not enough memory: use a smaller --batch-size or --max-tokens, or a smaller model ({in_brief(error)})"
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
    told = str(error) if for_users(error, frames) else None
    while error is not None:
        if isinstance(error, ValueError) and raised_here(error.__traceback__):
            return str(error)
        error = error.__cause__ or error.__context__  # fairseq hides some behind its own
    return told or of_a_value(first) or of_another_program(frames, first) or of_what_is_not_there(frames, first)


def for_users(error: BaseException, frames: traceback.StackSummary) -> bool:
    """Whether fairseq says it to users: by a bare exception, or one that names an option."""
    if type(error) is Exception:
        return True
    kinds = (AssertionError, ValueError, NotImplementedError, ImportError)
    return isinstance(error, kinds) and bool(OPTION.search(str(error))) and of_fairseq(frames[-1:])


def of_fairseq(frames: Iterable[traceback.FrameSummary]) -> bool:
    """Whether one of them is in fairseq itself."""
    paths = [Path(frame.filename) for frame in frames]
    return any({"fairseq", "fairseq_cli"} & set(path.parts) and not of_the_plugin(path) for path in paths)


def of_the_plugin(path: Path) -> bool:
    return PLUGIN in path.resolve().parents


def of_a_value(error: BaseException) -> Optional[str]:
    """What to say where the value of an option is to blame, which the error does not name."""
    if isinstance(error, MissingMandatoryValue):
        return f"--{str(error.key).replace('_', '-')} is missing: give it"
    if isinstance(error, InterpolationKeyError) and str(error.full_key).startswith("model."):
        return f"--arch: such a model is for another task, which has the option --{error.key.replace('_', '-')}"
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in frames:
        if frame.f_code.co_name == "_get_value" and frame.f_code.co_filename.endswith("argparse.py"):
            option = "/".join(frame.f_locals["action"].option_strings)
            return f"argument {option}: invalid value: {frame.f_locals['arg_string']!r}"
    configs = [frame.f_locals.get("cfg") for frame in frames]
    cfg = next((cfg for cfg in configs if getattr(cfg, "common_eval", None) is not None), None)
    if cfg is None:
        return None
    try:
        refuse_values_of_commands(cfg)
    except ValueError as refusal:
        return str(refusal)
    metric = cfg.checkpoint.best_checkpoint_metric
    if isinstance(error, KeyError) and error.args == (metric,) and "stats" in frames[-1].f_locals:
        measured = ", ".join(frames[-1].f_locals["stats"])
        return f"--best-checkpoint-metric is {metric}; it must be one of what validation tells: {measured}"
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if of_fairseq([frame])]
    of_criterion = places and Path(places[-1].filename).parts[-2] == "criterions" and isinstance(error, OF_VALUES)
    if of_criterion and not OF_GPUS.search(str(error)):
        criterion = cfg.criterion._name
        return f"--criterion {criterion} cannot be used with this task: try nll_wfe ({in_brief(error)})"
    return None


def of_another_program(frames: traceback.StackSummary, error: BaseException) -> Optional[str]:
    """What to say where fairseq cannot make a model of what a checkpoint holds."""
    names = [Path(frame.filename) for frame in frames]
    places = [(name.name, frame.name) for name, frame in zip(names, frames)]
    loading = [i for i, place in enumerate(places) if place in LOADING and of_fairseq([frames[i]])]
    if not loading:
        return None
    # The task hands most on to fairseq's.
    if any(of_the_plugin(name) and name.parent.name != "tasks" for name in names[loading[0] :]):
        return None  # a mistake of the plugin
    return (
        "the checkpoint holds no model that can be used here: is it of fairseq 0.12, and of this task? "
        f"({in_brief(error)})"
    )


def of_what_is_not_there(frames: traceback.StackSummary, error: BaseException) -> Optional[str]:
    """What to say where a model cannot be built, or a GPU is missing."""
    evaluated = [frame.filename for frame in frames[-1:]] == ["<string>"]  # an option, as if it were Python
    if not (isinstance(error, OF_VALUES) or evaluated) or not frames or of_the_plugin(Path(frames[-1].filename)):
        return None
    if NO_GPU.search(str(error)):
        return f"no GPU can be used here: leave out --fp16 and what else needs one ({in_brief(error)})"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "build_model" and frame.f_code.co_filename.endswith("fairseq/models/__init__.py"):
            architecture = frame.f_locals["model_type"]
            return f"--arch {architecture} cannot be built with its options: look at the sizes ({in_brief(error)})"
    return None


def in_brief(error: BaseException) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


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
    if not frames or not of_the_plugin(Path(frames[-1].filename)):
        return False
    return (frames[-1].line or "").startswith("raise ")


def command() -> Optional[str]:
    """Which of fairseq's commands this is; None in other programs."""
    program = Path(sys.argv[0] if sys.argv else "")
    if program.name.startswith("fairseq-"):
        return program.name
    return f"fairseq-{program.stem}" if program.parent.name == "fairseq_cli" else None


def install() -> None:
    """For the commands of fairseq alone: other programs show errors in their own way."""
    name = command()
    if name is None:
        return
    before = sys.excepthook

    def show(kind, error, trace) -> None:
        told = message(error)
        if told is None:
            before(kind, error, trace)
        else:
            print(f"{name}: error: {told}", file=sys.stderr)

    sys.excepthook = show
