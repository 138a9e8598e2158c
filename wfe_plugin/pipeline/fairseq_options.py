"""Which of fairseq-train's options say what the model is, and which how it is trained."""

import argparse
from collections.abc import Sequence

from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.options import add_optimization_args
from fairseq.registry import REGISTRIES

import wfe_plugin
from wfe_plugin.errors import UserError


def options_of_the_model(options: Sequence[str], extra: Sequence[str]) -> list[str]:
    """Those of `extra` that say what the model is, and not how it is trained.

    `options` name the architecture, if `extra` do not.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--arch", "-a")
    architecture = parser.parse_known_args([*options, *extra])[0].arch
    wfe_plugin.register()
    if architecture not in ARCH_MODEL_REGISTRY:
        raise UserError(f"--arch {architecture}: unknown architecture")
    ARCH_MODEL_REGISTRY[architecture].add_args(parser)
    _, others = parser.parse_known_args(list(extra))
    found = []
    for word in extra:
        if others and word == others[0]:
            others = others[1:]
        else:
            found.append(word)
    return found


def without_training_options(extra: Sequence[str]) -> list[str]:
    """Without optimizer, schedule of learning rates, another criterion, and what belongs to them.

    They are meant for a model; an estimate on top of it has its own.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, conflict_handler="resolve")
    defaults = {"optimizer": "torch_adam", "lr_scheduler": "fixed", "criterion": None}
    for name, default in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", default=default)
    wfe_plugin.register()
    chosen, _ = parser.parse_known_args(list(extra))
    add_optimization_args(parser)
    for name in defaults:
        kind = REGISTRIES[name]["registry"].get(getattr(chosen, name))
        if kind is not None and getattr(chosen, name) != "nll_wfe":  # whose options are of the estimate
            kind.add_args(parser)
    return parser.parse_known_args(list(extra))[1]
