"""Small random models of each family that can have a WFE head."""

import re
from argparse import SUPPRESS, ArgumentParser, Namespace

import pytest
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

from helpers import ROOT
from helpers.toy import random_model, toy_model


def run_example_of_the_documentation() -> None:
    """Registers `wfe_lightconv`."""
    page = ROOT / "docs" / "new_model.md"
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    exec(compile(code, str(page), "exec"), {"__name__": "wfe_lightconv"})


if "wfe_lightconv" not in ARCH_MODEL_REGISTRY:  # unless it was added to the package
    run_example_of_the_documentation()


def both_sides(**sizes):
    return {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sizes.items()}


TRANSFORMER = both_sides(embed_dim=4, ffn_embed_dim=6, layers=2, attention_heads=2)
SIZES = {
    "transformer": TRANSFORMER,
    "bart": dict(TRANSFORMER, task="summarization_wfe", wfe_estimator="paper"),
    "fconv": dict(both_sides(embed_dim=4, layers="[(5, 3), (6, 2)]"), decoder_out_embed_dim=5),
    "lightconv": dict(
        both_sides(embed_dim=4, conv_dim=4, ffn_embed_dim=6, layers=2, attention_heads=2, conv_type="lightweight"),
        encoder_kernel_size_list=[3, 5],
        decoder_kernel_size_list=[3, 5],
    ),
}
ARCHITECTURES = {"bart": "bart_base"}  # of families that have none of their own name
FAMILIES = ["lstm", "lstm_copying", *SIZES]
each_family = pytest.mark.parametrize("family", FAMILIES)


def toy_of(family: str, task, seed: int = 0, **config):
    """A random model with WFE, in evaluation mode."""
    if family in ("lstm", "lstm_copying"):
        return toy_model(task, seed, copy_attention=family == "lstm_copying", **config)
    return toy_of_architecture(f"wfe_{ARCHITECTURES.get(family, family)}", family, task, seed, **config)


def stock_of(family: str, task, seed: int = 0):
    """fairseq's own model of a family, without WFE."""
    return toy_of_architecture(ARCHITECTURES.get(family, family), family, task, seed)


def toy_of_architecture(architecture: str, family: str, task, seed: int, weight_scale: float = 1.0, **config):
    model = ARCH_MODEL_REGISTRY[architecture]
    parser = ArgumentParser(argument_default=SUPPRESS)  # as in fairseq's commands
    model.add_args(parser)
    settings = parser.parse_args([], Namespace(**{"dropout": 0.1, **SIZES[family], **config}))
    ARCH_CONFIG_REGISTRY[architecture](settings)
    return random_model(model, settings, task, seed, 0.8 * weight_scale)
