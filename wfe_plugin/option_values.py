"""Refusing values of options, by name."""

import importlib.util
import math
from collections.abc import Sequence

from wfe_plugin.errors import UserError
from wfe_plugin.fairseq_fixes.literals import read_literal


def option_of(name: str) -> str:
    """As the user writes it."""
    return "--" + name.replace("_", "-")


def require(holds: bool, option: str, value: float, allowed: str) -> None:
    """Raise unless the value is finite and *holds*."""
    if math.isinf(value) and "finite" not in allowed:
        allowed = f"finite and {allowed}"
    if not holds or math.isinf(value):
        raise UserError(f"{option} is {value}; it must be {allowed}")


def refuse_values_of_commands(cfg) -> None:
    """Raise if a command of fairseq was given a value that no command can work with.

    These are options that fairseq keeps to itself: neither a task nor a model sees them.

    Args:
        cfg: all options of the command, by sections
    """
    require(0 <= cfg.common.seed < 2**32, "--seed", cfg.common.seed, f"from 0 to {2**32 - 1}")
    require(cfg.common.log_interval >= 1, "--log-interval", cfg.common.log_interval, "1 or more")
    for frequency in cfg.optimization.update_freq:
        require(frequency >= 1, "--update-freq", frequency, "1 or more")
    for rate in cfg.optimization.lr:
        require(rate >= 0, "--lr", rate, "0 or more")
    if cfg.common.tpu and importlib.util.find_spec("torch_xla") is None:
        raise ValueError("--tpu needs torch_xla, which is not installed")
    betas = getattr(cfg.optimizer, "adam_betas", (0.9, 0.999))
    betas = literal_or_none(betas) if isinstance(betas, str) else betas
    if not isinstance(betas, Sequence) or len(betas) != 2 or not all(map(is_beta, betas)):
        raise ValueError(
            f"--adam-betas is {cfg.optimizer.adam_betas!r}; it must be two numbers in [0, 1), for example '(0.9, 0.999)'"
        )
    overrides = cfg.common_eval.model_overrides
    if not isinstance(literal_or_none(overrides), dict):
        raise ValueError(
            f"--model-overrides is {overrides!r}; it must be a dictionary of options, for example \"{{'dropout': 0.1}}\""
        )


def literal_or_none(text: str):
    try:
        return read_literal(text)
    except ValueError:
        return None


def is_beta(number) -> bool:
    return isinstance(number, (int, float)) and 0 <= number < 1
