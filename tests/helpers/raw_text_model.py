"""A model that has learnt nothing, for raw text: on data with all that a treatment can do."""

import torch

import wfe_plugin
from helpers.bad_world import checkpoint
from helpers.text_sets import write_sets
from wfe_plugin.cli import preprocess

TEXTS = [
    "Japan's bank -- the \u201cBank of Japan\u201d -- will buy more bonds.",
    "",
    "Small firms & banks grow (by 5%) next year, it said...",
    "  The\tbank\u00a0said it\u2019ll help. ",
    "東京 bank",
    "it " * 40,
]


def make_model(directory):
    """directory/checkpoint_best.pt, trained on directory/data."""
    data, text = directory / "data", write_sets(directory / "text")
    sets = [item for name in ("train", "valid", "test") for item in (f"--{name}", str(text / name))]
    treatment = ["--tokenize", "--lowercase", "--bpe", "joint", "--merges", "30"]
    assert preprocess.main([*sets, "--out", str(data), *treatment]) == 0
    wfe_plugin.register()
    state = checkpoint(data)
    randomize(state)
    torch.save(state, directory / "checkpoint_best.pt")
    return directory


def randomize(state, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for weights in state["model"].values():
        if weights.is_floating_point():
            weights.normal_(0, 0.7, generator=generator)
